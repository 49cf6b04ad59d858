/**
 * Builds objects from manifests, for a run of the engine in memory. A plan runs the engine in this way to find out
 * which calls the operator would send.
 */
import { isRecord } from '../../base/json.ts';
import { group, version } from '../../engine/kind/contract/define.ts';
import { keyOf, parseStored, partsOfKey, type ParsedObject } from '../../engine/objects/stored.ts';
import type { ObjectMeta } from '../../engine/ports.ts';
import { kindOf } from '../cluster/objects.ts';
import { flawsOf, pathInWords } from '../definitions.ts';
import type { Documents, Loaded } from '../documents/load.ts';
import type { Finding } from './model.ts';

/** The values of Secrets and ConfigMaps, by the key of the Secret or ConfigMap, such as `Secret/namespace/name`. */
export type Materials = ReadonlyMap<string, Readonly<Record<string, string>>>;

/**
 * All objects for one run of the engine in memory: custom resources, Secrets and ConfigMaps. A plan runs the engine
 * with the objects before the change, and then with the objects after it.
 */
export interface Scene {
  readonly objects: readonly ParsedObject[];
  readonly materials: Materials;
}

/** The manifests that the plan can use, and findings that say why it cannot use the others. */
export interface Sorted {
  readonly scene: Scene;
  readonly places: ReadonlyMap<string, { readonly file: string; readonly line: number }>;
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
  /**
   * The number of manifests that the plan does not use, because they are neither of the operator's API group nor
   * Secrets or ConfigMaps.
   */
  readonly others: number;
}

/** Makes an object of one of the operator's kinds from its parts. */
export function objectOf(
  kind: string,
  namespace: string,
  name: string,
  spec: unknown,
  texts: Pick<ObjectMeta, 'labels' | 'annotations'> = {},
): ParsedObject {
  const found = kindOf(kind);
  if (found === undefined) throw new Error(`the operator has no kind ${kind}`);
  const place = namespace === '' ? {} : { namespace };
  const metadata = { ...texts, name, ...place, uid: '', resourceVersion: '', creationTimestamp: '' };
  return parseStored(found, { apiVersion: `${group}/${version}`, kind, metadata, spec });
}

/** Returns the spec of an object before any parsing. Returns an empty object if the spec is not a JSON object. */
export function specOf({ object: { spec } }: Pick<ParsedObject, 'object'>): Readonly<Record<string, unknown>> {
  return isRecord(spec) ? spec : {};
}

/** Sorts manifests into the operator's kinds, Secrets, ConfigMaps and others; reports what the API server would refuse. */
export function sortDocuments({ loaded: all, unreadable, notes }: Documents, fallbackNamespace: string): Sorted {
  const objects: ParsedObject[] = [];
  const materials = new Map<string, Readonly<Record<string, string>>>();
  const places = new Map<string, { file: string; line: number }>();
  const findings: Finding[] = unreadable.map(({ place, message }) => {
    return { code: 'Unreadable', incomplete: true, message, ...place };
  });
  let others = 0;
  for (const loaded of all) {
    const { apiVersion, kind, name, object, place } = loaded;
    const namespace = namespaceOf(loaded, fallbackNamespace);
    const key = keyOf(kind, namespace, name);
    if (apiVersion === 'v1' && kind === 'Secret') materials.set(key, secretValues(object));
    else if (apiVersion === 'v1' && kind === 'ConfigMap') materials.set(key, texts(object['data']));
    else if (!apiVersion.startsWith(`${group}/`)) others += 1;
    else {
      const flaws = flawsOfDocument(loaded);
      findings.push(...flaws);
      const first = places.get(key);
      if (first === undefined) {
        places.set(key, place);
        if (flaws.length === 0) objects.push(objectIn(loaded, namespace));
      } else {
        const message = `the resource is also in ${first.file}:${first.line}`;
        findings.push({ code: 'Duplicate', incomplete: false, message, kind, namespace, name, ...place });
      }
    }
  }
  return { scene: { objects, materials }, places, findings, notes, others };
}

function namespaceOf({ kind, namespace }: Loaded, fallback: string): string {
  return kindOf(kind)?.scope === 'Cluster' ? '' : (namespace ?? fallback);
}

function flawsOfDocument(loaded: Loaded): readonly Finding[] {
  const { kind, name, namespace = '', object, place } = loaded;
  const about = { code: 'Invalid', incomplete: false, kind, namespace, name, file: place.file } as const;
  if (loaded.apiVersion !== `${group}/${version}`) {
    const message = `apiVersion ${loaded.apiVersion} is not supported; use ${group}/${version}`;
    return [{ ...about, message, line: loaded.lineOf(['apiVersion']) }];
  }
  return flawsOf(kind, object).map(({ path, message }) => {
    return { ...about, message: `${pathInWords(path)}: ${message}`, line: loaded.lineOf(path) };
  });
}

function objectIn({ kind, name, object: { metadata, spec } }: Loaded, namespace: string): ParsedObject {
  const { labels, annotations } = isRecord(metadata) ? metadata : {};
  return objectOf(kind, namespace, name, spec, { labels: texts(labels), annotations: texts(annotations) });
}

function secretValues({ data, stringData }: Loaded['object']): Readonly<Record<string, string>> {
  const decoded = Object.entries(texts(data)).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
  return { ...(Object.fromEntries(decoded) as Record<string, string>), ...texts(stringData) };
}

function texts(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((row): row is [string, string] => typeof row[1] === 'string'));
}

/**
 * True if it is unknown which object of the service a resource manages, because the resource has no status and its spec
 * gives no id.
 */
export function isIdUnknown(one: ParsedObject): boolean {
  return one.object.status === undefined && one.kind.life === 'long' && typeof specOf(one)['externalId'] !== 'string';
}

/**
 * Lets each resource adopt an object of the service by name, if it is unknown which object the resource manages; see
 * `isIdUnknown`.
 */
export function presumed(objects: readonly ParsedObject[]): readonly ParsedObject[] {
  return objects.map((one) => {
    const free = withAdoption(one);
    return isIdUnknown(one) && free.spec.is === 'valid' ? free : one;
  });
}

function withAdoption(one: ParsedObject): ParsedObject {
  const spec = specOf(one);
  const lifecycle = { ...(isRecord(spec['lifecycle']) ? spec['lifecycle'] : {}), adoption: 'ByName' };
  return parseStored(one.kind, { ...one.object, spec: { ...spec, lifecycle } });
}

/** Changes the specs of all accounts so that their resources may adopt objects of the service by name. */
export function permissive(objects: readonly ParsedObject[]): readonly ParsedObject[] {
  return objects.map((one) => (one.kind.life === 'account' ? withAdoption(one) : one));
}

/**
 * Makes the account resources that other resources refer to but that do not exist. They get the id of the account that
 * the plan reads.
 */
export function standInAccounts(objects: readonly ParsedObject[], accountId: string): readonly ParsedObject[] {
  const known = new Set(objects.map(({ key }) => key));
  const missing = new Set(objects.map(({ account }) => account).filter((key) => !known.has(key)));
  return [...missing].toSorted().map((key) => {
    const { kind, namespace, name } = partsOfKey(key);
    return objectOf(kind, namespace, name, {
      externalId: accountId,
      credentialsRef: { name: `credentials-of-${name}` },
    });
  });
}
