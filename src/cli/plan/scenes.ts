/** Builds the objects that a rehearsal runs with, from the documents and the cluster. */
import { isRecord } from '../../base/json.ts';
import { type AnyKind, group, version } from '../../engine/kind/contract/define.ts';
import { accountOf, keyOf, partsOfKey, type ParsedObject } from '../../engine/objects/stored.ts';
import { kindOf } from '../cluster/objects.ts';
import { flawsOf, pathInWords } from '../definitions.ts';
import type { Documents, Loaded } from '../documents/load.ts';
import type { Finding } from './model.ts';

/** An object of our kinds that takes part in a rehearsal. */
export interface Actor {
  readonly kind: AnyKind;
  /** The key of the object: `Kind/namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
  /** The status of the object in the cluster; absent if unknown. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** True if the object may bind by name, because the id that it is bound to is unknown. */
  readonly presumed?: true;
}

/** The values of Secrets and ConfigMaps by their keys, `Secret/namespace/name`. */
export type Materials = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** All objects, Secrets and ConfigMaps of a rehearsal, before the change or after it. */
export interface Scene {
  readonly actors: readonly Actor[];
  readonly materials: Materials;
}

/** The documents that a plan can use, and what is wrong with the others. */
export interface Sorted {
  readonly scene: Scene;
  readonly places: ReadonlyMap<string, { readonly file: string; readonly line: number }>;
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
  /** How many documents are of other kinds. */
  readonly others: number;
}

/** Makes an actor from the parts of an object. */
export function actorOf(
  kind: string,
  namespace: string,
  name: string,
  spec: unknown,
  metadata: Actor['metadata'] = {},
): Actor {
  const found = kindOf(kind);
  if (found === undefined) throw new Error(`${kind} is not a kind of ours`);
  const key = keyOf(kind, namespace, name);
  return { kind: found, key, namespace, name, metadata, spec: isRecord(spec) ? spec : {} };
}

/** The key of the account that an object belongs to; for an account, its own key. */
export function accountOfActor({ kind, key, namespace, spec }: Actor): string {
  return accountOf(kind, key, namespace, spec);
}

/** Sorts documents into our kinds, Secrets, ConfigMaps and others; reports what the API server would refuse. */
export function sortDocuments({ loaded: all, unreadable, notes }: Documents, fallbackNamespace: string): Sorted {
  const actors: Actor[] = [];
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
        if (flaws.length === 0) actors.push(actorIn(loaded, namespace));
      } else {
        const message = `it is in ${first.file}:${first.line} too`;
        findings.push({ code: 'Duplicate', incomplete: false, message, kind, namespace, name, ...place });
      }
    }
  }
  return { scene: { actors, materials }, places, findings, notes, others };
}

function namespaceOf({ kind, namespace }: Loaded, fallback: string): string {
  return kindOf(kind)?.scope === 'Cluster' ? '' : (namespace ?? fallback);
}

function flawsOfDocument(loaded: Loaded): readonly Finding[] {
  const { kind, name, namespace = '', object, place } = loaded;
  const about = { code: 'Invalid', incomplete: false, kind, namespace, name, file: place.file } as const;
  if (loaded.apiVersion !== `${group}/${version}`) {
    const message = `apiVersion: ${loaded.apiVersion} is not served, ${group}/${version} is`;
    return [{ ...about, message, line: loaded.lineOf(['apiVersion']) }];
  }
  return flawsOf(kind, object).map(({ path, message }) => {
    return { ...about, message: `${pathInWords(path)}: ${message}`, line: loaded.lineOf(path) };
  });
}

function actorIn({ kind, name, object: { metadata, spec } }: Loaded, namespace: string): Actor {
  const { labels, annotations } = isRecord(metadata) ? metadata : {};
  const kept = {
    ...(isRecord(labels) && { labels: texts(labels) }),
    ...(isRecord(annotations) && { annotations: texts(annotations) }),
  };
  return actorOf(kind, namespace, name, spec, kept);
}

function secretValues({ data, stringData }: Loaded['object']): Readonly<Record<string, string>> {
  const decoded = Object.entries(texts(data)).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
  return { ...(Object.fromEntries(decoded) as Record<string, string>), ...texts(stringData) };
}

function texts(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((row): row is [string, string] => typeof row[1] === 'string'));
}

/** Makes an actor from an object of the cluster, with its status. */
export function liveActor({ kind, object: { metadata, spec, status } }: ParsedObject): Actor {
  const { name, namespace = '', generation = 1, labels, annotations, finalizers } = metadata;
  const kept = {
    generation,
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(finalizers && { finalizers }),
  };
  return { ...actorOf(kind.kind, namespace, name, spec, kept), ...(isRecord(status) && { status }) };
}

/** Marks objects as `presumed`, so that they may bind by name, if the id that they are bound to is unknown. */
export function presumed(actors: readonly Actor[]): readonly Actor[] {
  return actors.map((actor) => {
    const { kind, spec, status } = actor;
    if (status !== undefined || kind.life !== 'long' || typeof spec['externalId'] === 'string') return actor;
    const free = withAdoption(spec);
    return { ...actor, spec: kind.spec.safeParse(free).success ? free : spec, presumed: true as const };
  });
}

function withAdoption(spec: Actor['spec']): Actor['spec'] {
  return { ...spec, lifecycle: { ...(isRecord(spec['lifecycle']) ? spec['lifecycle'] : {}), adoption: 'ByName' } };
}

/** Sets every account to allow that its resources bind by name. */
export function permissive(actors: readonly Actor[]): readonly Actor[] {
  return actors.map((actor) => (actor.kind.life === 'account' ? { ...actor, spec: withAdoption(actor.spec) } : actor));
}

/** Makes the accounts that resources refer to and nobody provides; each stands for the account that is read. */
export function standInAccounts(actors: readonly Actor[], accountId: string): readonly Actor[] {
  const known = new Set(actors.map(({ key }) => key));
  const named = actors.map(accountOfActor).filter((key) => !known.has(key));
  return [...new Set(named)]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((key) => {
      const { kind, namespace, name } = partsOfKey(key);
      return actorOf(kind, namespace, name, {
        externalId: accountId,
        credentialsRef: { name: `credentials-of-${name}` },
      });
    });
}
