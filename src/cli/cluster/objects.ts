/** Reads the objects of the operator's kinds from a cluster. Also finds a kind by its name, and a condition of an object by its type. */
import { isRecord, recordsIn } from '../../base/json.ts';
import { type AnyKind, resourceOf } from '../../engine/kind/contract/define.ts';
import { parseStored, partsOfKey, type ParsedObject } from '../../engine/objects/stored.ts';
import type { KubeApi, KubeObject } from '../../engine/ports.ts';
import { kinds } from '../../kinds/index.ts';
import { failureOf, listAll, withGroup } from './open.ts';

/** The objects that were read from a cluster, and the reasons why other objects could not be read. */
export interface ObjectsRead {
  readonly objects: readonly ParsedObject[];
  /**
   * One sentence for each failed read. If a permission is missing, the sentence is like
   * `may not list metricalerts.apphosting.dev in team-a`.
   */
  readonly problems: readonly string[];
}

/** Reads every object of the operator's kinds in one namespace, or in all namespaces if `namespace` is undefined. */
export async function readObjects(
  api: Pick<KubeApi, 'list'>,
  namespace: string | undefined,
  wanted: readonly AnyKind[] = kinds,
): Promise<ObjectsRead> {
  const objects: ParsedObject[] = [];
  const problems: string[] = [];
  for (const kind of wanted) {
    const place = kind.scope === 'Cluster' ? undefined : namespace;
    const resource = resourceOf(kind);
    try {
      objects.push(...(await listAll(api, resource, place)).map((object) => parseStored(kind, object)));
    } catch (error) {
      const where = place === undefined ? '' : ` in namespace ${place}`;
      problems.push(`${failureOf(error, `list ${withGroup(resource)}`)}${where}`);
    }
  }
  return { objects, problems };
}

/** Finds a kind of the operator by its exact name. */
export function kindOf(name: string): AnyKind | undefined {
  return kinds.find(({ kind }) => kind === name);
}

/** Finds a kind of the operator by its name, plural or short name, in upper or lower case. */
export function kindNamed(word: string): AnyKind | undefined {
  const wanted = word.toLowerCase();
  return kinds.find(({ kind, plural, shortNames }) => [kind.toLowerCase(), plural, ...shortNames].includes(wanted));
}

/** Parses `KIND/NAME`, or a bare name if `only` gives the kind; returns undefined if the text names no resource of the operator. */
export function targetIn(word: string, only?: string): { readonly kind: AnyKind; readonly name: string } | undefined {
  const [first = '', name = ''] = word.includes('/') || only === undefined ? word.split('/') : [only, word];
  const kind = kindNamed(first);
  return kind === undefined || name === '' || (only ?? kind.kind) !== kind.kind ? undefined : { kind, name };
}

/** Shortens the key of an object to `Kind/name`, as people write it. */
export function keyInWords(key: string): string {
  const { kind, name } = partsOfKey(key);
  return `${kind}/${name}`;
}

/** Writes the key of an object as `Kind/namespace/name`, or as `Kind/name` if the object has no namespace. */
export function keyWithNamespace(key: string): string {
  return key.replace('//', '/');
}

/**
 * Replaces control characters in a text by spaces, so that a terminal can show the text safely; returns an empty text for any other value.
 */
export function printable(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(/\p{C}+/gu, ' ') : '';
}

/**
 * Finds a condition of an object by its type. Removes control characters from the texts of the condition, so that they
 * are safe to print.
 */
export function conditionOf({ status }: Pick<KubeObject, 'status'>, type: string) {
  const found = recordsIn(status, 'conditions').find((condition) => condition['type'] === type);
  return (
    found && {
      status: printable(found['status']),
      reason: printable(found['reason']),
      message: printable(found['message']),
      since: printable(found['lastTransitionTime']) || undefined,
    }
  );
}

/** The status, reason, message and time of the condition Ready of an object. */
export type Readiness = ReturnType<typeof readinessOf>;

/**
 * Reads from the status of an object whether the object is Ready. The result is also `Unknown` if status has no condition
 * Ready, or is not about the newest generation of the spec yet.
 */
export function readinessOf({ object, status }: ParsedObject) {
  const known = conditionOf({ status }, 'Ready');
  if (known !== undefined && isCurrent(object)) {
    const { status: ready, ...why } = known;
    return { ready, ...why };
  }
  const message = 'no operator has handled the last change: check that one runs and watches this namespace';
  return { ready: 'Unknown', reason: 'NotSeen', message, since: known?.since };
}

/** True if the status of an object was written for the newest generation of the object. */
export function isCurrent({ metadata, status }: KubeObject): boolean {
  return isRecord(status) && status['observedGeneration'] === metadata.generation;
}
