/** All objects of our kinds, read once and used for every question. */
import { isRecord, recordsIn } from '../../base/json.ts';
import type { AnyKind } from '../../engine/kind/contract/define.ts';
import { parseStored, partsOfKey, type ParsedObject } from '../../engine/objects/stored.ts';
import type { KubeApi, KubeObject } from '../../engine/ports.ts';
import { kinds } from '../../kinds/index.ts';
import { resourceOf } from '../operator/operator.ts';
import { listAll } from './open.ts';

/** What was read, and what could not be. */
export interface ObjectsRead {
  readonly objects: readonly ParsedObject[];
  /** One sentence each: `may not list metricalerts.apphosting.dev in team-a`. */
  readonly problems: readonly string[];
}

/** Reads every object of our kinds in a namespace, or in all. */
export async function readObjects(
  api: Pick<KubeApi, 'list'>,
  namespace: string | undefined,
  wanted: readonly AnyKind[] = kinds,
): Promise<ObjectsRead> {
  const objects: ParsedObject[] = [];
  const problems: string[] = [];
  for (const kind of wanted) {
    const place = kind.scope === 'Cluster' ? undefined : namespace;
    const list = await listAll(api, resourceOf(kind), place);
    if ('problem' in list) problems.push(`${list.problem}${place === undefined ? '' : ` in namespace ${place}`}`);
    else objects.push(...list.map((object) => parseStored(kind, object)));
  }
  return { objects, problems };
}

/** The kind of this name. */
export function kindOf(name: string): AnyKind | undefined {
  return kinds.find(({ kind }) => kind === name);
}

/** The kind that people mean by a word: its name, its plural or a short name, in any case. */
export function kindNamed(word: string): AnyKind | undefined {
  const wanted = word.toLowerCase();
  return kinds.find(({ kind, plural, shortNames }) => [kind.toLowerCase(), plural, ...shortNames].includes(wanted));
}

/** The resource that `KIND/NAME` means, or a bare name where only one kind can be meant; undefined where it means none. */
export function targetIn(word: string, only?: string): { readonly kind: AnyKind; readonly name: string } | undefined {
  const [first = '', name = ''] = word.includes('/') || only === undefined ? word.split('/') : [only, word];
  const kind = kindNamed(first);
  return kind === undefined || name === '' || (only ?? kind.kind) !== kind.kind ? undefined : { kind, name };
}

/** `Kind/name` of a key, as people write it. */
export function keyInWords(key: string): string {
  const { kind, name } = partsOfKey(key);
  return `${kind}/${name}`;
}

/** A text as a terminal may show it: without control characters. */
export function printable(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(/\p{C}+/gu, ' ') : '';
}

/** A condition by its type, as commands print it; of an object, or of its parsed status. */
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

/** True if status is about the newest generation of the spec. */
export function isCurrent({ metadata, status }: KubeObject): boolean {
  return isRecord(status) && status['observedGeneration'] === metadata.generation;
}
