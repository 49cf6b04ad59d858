import { isRecord, sameJson } from '../../base/json.ts';
import type { Clock, Entropy } from '../../base/time.ts';
import { isDeepStrictEqual } from 'node:util';
import { KubeError, type KubeObject, type Resource } from '../../engine/ports.ts';
import { parseObject } from '../../kube/client/parse.ts';
import { SeededEntropy } from './virtual-clock.ts';

/** One change of one object, as a watch delivers it. */
export interface ClusterChange {
  readonly version: number;
  readonly resource: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /** The object to deliver: when it is gone, its last form with the version of the deletion. */
  readonly object: KubeObject;
}

/** The state of a cluster at one time. */
export interface ClusterSnapshot {
  readonly version: number;
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

/**
 * The objects of a cluster and their history, with the rules of the API server: versions, uids, generations, finalizers,
 * status as a part of its own, conflicts.
 */
export class MemoryCluster {
  readonly clock: Clock;
  readonly #entropy: Entropy;
  #objects = new Map<string, Map<string, KubeObject>>();
  #history: ClusterChange[] = [];
  #version = 1_000;
  #compactedAt = 1_000;
  readonly #known = new Map<string, number>();
  /** Bookmarks say only what is known from the last list or change of their resource. */
  isDrowsy = false;
  #listeners = new Set<(change: ClusterChange | 'restored') => void>();

  constructor(clock: Clock, entropy: Entropy = new SeededEntropy(7)) {
    this.clock = clock;
    this.#entropy = entropy;
  }

  get version(): number {
    return this.#version;
  }

  /**
   * The newest version that the API server knows for this resource. On a plain etcd it learns a newer one only from a list.
   */
  knownOf(resource: string): number {
    return this.isDrowsy ? (this.#known.get(resource) ?? 0) : this.#version;
  }

  /** A list teaches the API server the newest version. */
  asked(resource: Resource): void {
    this.#known.set(keyOf(resource), this.#version);
  }

  /** Watches from before this version are too old. */
  get compactedAt(): number {
    return this.#compactedAt;
  }

  get(resource: Resource, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#of(resource).get(placeOf(namespace, name));
  }

  /** In the order in which the API server lists. */
  all(resource: Resource): readonly KubeObject[] {
    const entries = [...this.#of(resource)].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, object]) => object);
  }

  changesAfter(version: number): readonly ClusterChange[] {
    return this.#history.filter((change) => change.version > version);
  }

  /** Told about every change from now on; the returned function ends it. */
  listen(listener: (change: ClusterChange | 'restored') => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  create(resource: Resource, namespace: string | undefined, body: unknown): KubeObject {
    const given = inputOf(body);
    if (textAt(given.metadata, 'resourceVersion') !== undefined) {
      // As the API server does: it answers 500.
      throw new KubeError('unavailable', 'resourceVersion should not be set on objects to be created');
    }
    const name = textAt(given.metadata, 'name');
    if (name === undefined) throw new KubeError('invalid', 'name or generateName is required');
    if (this.get(resource, namespace, name) !== undefined) throw new KubeError('exists', `${name} already exists`);
    const { status: _dropped, ...rest } = given.body;
    const metadata = {
      ...given.metadata,
      ...(resource.namespaced && { namespace }),
      uid: this.#entropy.uuid(),
      creationTimestamp: this.#now(),
      generation: 1,
      resourceVersion: '1',
    };
    return this.#store(resource, undefined, { ...rest, metadata });
  }

  /** Replaces an object: its status only, or everything else, by `part`. */
  update(resource: Resource, namespace: string | undefined, name: string, body: unknown, part: 'object' | 'status') {
    const given = inputOf(body);
    const before = this.get(resource, namespace, name);
    const uid = textAt(given.metadata, 'uid');
    // Kinds that a PUT may create compare what it expects with nothing.
    const expects = uid !== undefined && resource.plural === 'leases';
    if (before === undefined) throw new KubeError(expects ? 'conflict' : 'notFound', `${name} not found`);
    if (uid !== undefined && uid !== before.metadata.uid) throw new KubeError('conflict', 'the uid is another');
    const version = textAt(given.metadata, 'resourceVersion');
    if (version === undefined && !isBuiltIn(resource)) {
      throw new KubeError('invalid', 'metadata.resourceVersion: must be specified for an update');
    }
    if (version !== undefined && version !== before.metadata.resourceVersion) {
      throw new KubeError('conflict', 'the object has been modified');
    }
    if (part === 'status') return this.#store(resource, before, { ...before, status: given.body['status'] });
    return this.#replace(resource, before, given);
  }

  delete(resource: Resource, namespace: string | undefined, name: string): void {
    const before = this.get(resource, namespace, name);
    if (before === undefined) throw new KubeError('notFound', `${name} not found`);
    if ((before.metadata.finalizers ?? []).length === 0) return this.#remove(resource, before);
    if (before.metadata.deletionTimestamp !== undefined) return;
    const { metadata } = before;
    const generation = (metadata.generation ?? 0) + 1;
    this.#store(resource, before, { ...before, metadata: { ...metadata, generation, deletionTimestamp: this.#now() } });
  }

  /** History is forgotten: watches and pages from before are too old. */
  compact(): void {
    this.#history = [];
    this.#compactedAt = this.#version;
  }

  /** Versions move on without a change of anything that is watched here. */
  skipVersions(count: number): void {
    this.#version += count;
  }

  snapshot(): ClusterSnapshot {
    const objects = new Map([...this.#objects].map(([key, all]) => [key, new Map(all)] as const));
    return { version: this.#version, objects };
  }

  /** The cluster's store is restored from a backup: it goes back in time, and all watches end. */
  restore(snapshot: ClusterSnapshot): void {
    this.#objects = new Map([...snapshot.objects].map(([key, all]) => [key, new Map(all)] as const));
    this.#version = snapshot.version;
    this.compact();
    for (const listener of this.#listeners) listener('restored');
  }

  #replace(resource: Resource, before: KubeObject, given: Input): KubeObject {
    const { body, metadata: wanted } = given;
    const { uid, creationTimestamp, deletionTimestamp, generation = 0, namespace, name } = before.metadata;
    const changed = !isDeepStrictEqual(body['spec'], before.spec);
    const finalizers = listAt(wanted, 'finalizers') ?? [];
    const had = before.metadata.finalizers ?? [];
    if (deletionTimestamp !== undefined && finalizers.some((one) => !had.includes(one))) {
      throw new KubeError('invalid', 'no new finalizers can be added if the object is being deleted');
    }
    const { finalizers: _old, ...metadata } = wanted;
    const next = {
      ...body,
      status: before.status,
      metadata: {
        ...metadata,
        name,
        ...(namespace !== undefined && { namespace }),
        uid,
        creationTimestamp,
        ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        ...(finalizers.length > 0 && { finalizers }),
        generation: changed ? generation + 1 : generation,
        resourceVersion: before.metadata.resourceVersion,
      },
    };
    if (deletionTimestamp !== undefined && finalizers.length === 0) {
      const last = frozen(next);
      this.#remove(resource, last);
      return last;
    }
    return this.#store(resource, before, next);
  }

  #store(resource: Resource, before: KubeObject | undefined, next: Record<string, unknown>): KubeObject {
    const candidate = frozen(next);
    // A write that changes nothing is not a write.
    if (before !== undefined && sameJson(before, candidate)) return before;
    const version = ++this.#version;
    const metadata = Object.freeze({ ...candidate.metadata, resourceVersion: String(version) });
    const object = Object.freeze({ ...candidate, metadata });
    this.#of(resource).set(placeOf(metadata.namespace, metadata.name), object);
    this.#tell({ version, resource: keyOf(resource), before, after: object, object });
    return object;
  }

  #remove(resource: Resource, before: KubeObject): void {
    const version = ++this.#version;
    this.#of(resource).delete(placeOf(before.metadata.namespace, before.metadata.name));
    const object = frozen({ ...before, metadata: { ...before.metadata, resourceVersion: String(version) } });
    this.#tell({ version, resource: keyOf(resource), before, after: undefined, object });
  }

  #tell(change: ClusterChange): void {
    this.#history.push(change);
    this.#known.set(change.resource, change.version);
    for (const listener of this.#listeners) listener(change);
  }

  #of(resource: Resource): Map<string, KubeObject> {
    const key = keyOf(resource);
    const known = this.#objects.get(key) ?? new Map<string, KubeObject>();
    this.#objects.set(key, known);
    return known;
  }

  #now(): string {
    return new Date(this.clock.wall()).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

/** The name of a resource within the cluster. */
export function keyOf(resource: Resource): string {
  return `${resource.group}/${resource.plural}`;
}

interface Input {
  readonly body: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
}

function inputOf(body: unknown): Input {
  // As JSON, so that what JSON cannot say does not arrive.
  const parsed: unknown = JSON.parse(JSON.stringify(body));
  const metadata = isRecord(parsed) ? parsed['metadata'] : undefined;
  if (!isRecord(parsed) || !isRecord(metadata) || typeof parsed['apiVersion'] !== 'string' || !parsed['kind']) {
    throw new KubeError('invalid', 'the object does not say what it is');
  }
  return { body: parsed, metadata };
}

function isBuiltIn({ group }: Resource): boolean {
  return group === '' || group.endsWith('.k8s.io');
}

function textAt(record: Record<string, unknown>, key: string): string | undefined {
  const value = record[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function listAt(record: Record<string, unknown>, key: string): string[] | undefined {
  const value = record[key];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined;
}

function placeOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** Nobody may change what the cluster handed out. */
function frozen({ status, ...rest }: Record<string, unknown>): KubeObject {
  const object = parseObject({ ...rest, ...(status !== undefined && { status }) }, 'the double');
  deepFreeze(object);
  return object;
}

/** What is frozen was handed out before, and is frozen all the way down. */
function deepFreeze(value: object): void {
  if (Object.isFrozen(value)) return;
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFreeze(part);
  Object.freeze(value);
}
