import { isRecord, sameJson } from '../../../src/base/json.ts';
import { type Clock, type Entropy, isoSeconds } from '../../../src/base/time.ts';
import { SeededEntropy } from '../../../src/cli/in-memory/virtual-clock.ts';
import { KubeError, type KubeObject, type ObjectMeta, type Resource } from '../../../src/engine/ports.ts';
import { parseObject } from '../../../src/kube/client/parse.ts';

/** One change of one object, as a watch delivers it. */
export interface ClusterChange {
  readonly version: number;
  readonly resource: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /** The object to deliver; after a deletion its last state, with the resourceVersion of the deletion. */
  readonly object: KubeObject;
}

/** The state of a cluster at one time. */
export interface ClusterSnapshot {
  readonly version: number;
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

/**
 * A cluster in memory: its objects and their history, with the rules of the API server that the operator depends on:
 * resourceVersions, uids, generations, finalizers, the status subresource, conflicts, and what it refuses. Restores and
 * forgotten history befall it as they befall a real one.
 */
export class MemoryCluster {
  readonly clock: Clock;
  readonly #entropy: Entropy;
  #objects = new Map<string, Map<string, KubeObject>>();
  #history: ClusterChange[] = [];
  #newest = 1_000;
  readonly #listeners = new Set<(change: ClusterChange) => void>();
  #compactedAt = this.#newest;
  /** Bookmarks say only what is known from the last list or change of their resource. */
  isDrowsy = false;
  readonly #known = new Map<string, number>();
  readonly #restored = new Set<() => void>();

  constructor(clock: Clock, entropy: Entropy = new SeededEntropy(7)) {
    this.clock = clock;
    this.#entropy = entropy;
    this.listen(({ resource, version }) => this.#known.set(resource, version));
  }

  get version(): number {
    return this.#newest;
  }

  /**
   * The newest version that the API server knows for this resource. On a plain etcd it learns a newer one only from a list.
   */
  knownOf(resource: string): number {
    return this.isDrowsy ? (this.#known.get(resource) ?? 0) : this.version;
  }

  /** A list teaches the API server the newest version. */
  asked(resource: Resource): void {
    this.#known.set(keyOf(resource), this.version);
  }

  /** Watches from before this version are too old. */
  get compactedAt(): number {
    return this.#compactedAt;
  }

  /** History is forgotten: watches and pages from before are too old. */
  compact(): void {
    this.#history = [];
    this.#compactedAt = this.version;
  }

  /** Versions move on without a change of anything that is watched here. */
  skipVersions(count: number): void {
    this.#newest += count;
  }

  snapshot(): ClusterSnapshot {
    const objects = new Map([...this.#objects].map(([key, all]) => [key, new Map(all)] as const));
    return { version: this.version, objects };
  }

  /** The cluster's store is restored from a backup: it goes back in time, and all watches end. */
  restore(snapshot: ClusterSnapshot): void {
    this.#objects = new Map([...snapshot.objects].map(([key, all]) => [key, new Map(all)] as const));
    this.#newest = snapshot.version;
    this.compact();
    for (const listener of this.#restored) listener();
  }

  /** Told when the cluster was restored; the returned function ends it. */
  onRestored(listener: () => void): () => void {
    this.#restored.add(listener);
    return () => this.#restored.delete(listener);
  }

  get(resource: Resource, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#of(resource).get(placeOf(namespace, name));
  }

  /** All objects of a resource, in the order in which the API server lists them. */
  all(resource: Resource): readonly KubeObject[] {
    const entries = [...this.#of(resource)].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, object]) => object);
  }

  changesAfter(version: number): readonly ClusterChange[] {
    return this.#history.filter((change) => change.version > version);
  }

  /** Calls `listener` for every change, until the returned function is called. */
  listen(listener: (change: ClusterChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  create(resource: Resource, namespace: string | undefined, body: unknown): KubeObject {
    const { name, resourceVersion } = metadataOf(body);
    if (isText(resourceVersion)) {
      // As the API server does: it answers 500.
      throw new KubeError('unavailable', 'resourceVersion should not be set on objects to be created');
    }
    if (!isText(name)) throw new KubeError('invalid', 'name or generateName is required');
    const { status: _dropped, metadata: given, ...rest } = asJson(body);
    if (this.get(resource, namespace, name) !== undefined) throw new KubeError('exists', `${name} already exists`);
    const metadata = {
      ...given,
      ...(resource.namespaced && { namespace }),
      uid: this.#entropy.uuid(),
      creationTimestamp: isoSeconds(this.clock.wall()),
      generation: 1,
      resourceVersion: '1',
    };
    return this.#store(resource, undefined, { ...rest, metadata });
  }

  /** Replaces either the status of an object or everything else, as `part` says. */
  update(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    body: unknown,
    part: 'object' | 'status',
  ): KubeObject {
    const { uid: expected, resourceVersion: seen, finalizers: wanted = [] } = metadataOf(body);
    const before = this.get(resource, namespace, name);
    if (before === undefined) {
      // Kinds that a PUT may create compare what it expects with nothing.
      const isExpected = isText(expected) && resource.plural === 'leases';
      throw new KubeError(isExpected ? 'conflict' : 'notFound', `${name} not found`);
    }
    const isBuiltIn = resource.group === '' || resource.group.endsWith('.k8s.io');
    if (!isText(seen) && !isBuiltIn) {
      throw new KubeError('invalid', 'metadata.resourceVersion: must be specified for an update');
    }
    const { deletionTimestamp, finalizers: had = [] } = before.metadata;
    const adds = Array.isArray(wanted) && wanted.some((one: string) => !had.includes(one));
    if (part === 'object' && deletionTimestamp !== undefined && adds) {
      throw new KubeError('invalid', 'no new finalizers can be added if the object is being deleted');
    }
    const given = asJson(body);
    const { uid = before.metadata.uid, resourceVersion = before.metadata.resourceVersion } = given.metadata;
    if (uid !== before.metadata.uid) throw new KubeError('conflict', 'the uid is another');
    if (resourceVersion !== before.metadata.resourceVersion) {
      throw new KubeError('conflict', 'the object has been modified');
    }
    if (part === 'status') return this.#store(resource, before, { ...before, status: given['status'] });
    return this.#replace(resource, before, given);
  }

  delete(resource: Resource, namespace: string | undefined, name: string): void {
    const before = this.get(resource, namespace, name);
    if (before === undefined) throw new KubeError('notFound', `${name} not found`);
    if ((before.metadata.finalizers ?? []).length === 0) return this.#remove(resource, before);
    if (before.metadata.deletionTimestamp !== undefined) return;
    const { metadata } = before;
    const generation = (metadata.generation ?? 0) + 1;
    this.#store(resource, before, {
      ...before,
      metadata: { ...metadata, generation, deletionTimestamp: isoSeconds(this.clock.wall()) },
    });
  }

  #replace(resource: Resource, before: KubeObject, given: GivenObject): KubeObject {
    // Drop `tooLarge`: it is not a field of Kubernetes, but marks an object that was read with a spec that is too large.
    const { metadata: wanted, tooLarge: _read, ...body } = given;
    const { uid, creationTimestamp, deletionTimestamp, generation = 0, namespace, name } = before.metadata;
    const { finalizers = [], ...metadata } = wanted;
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
        generation: sameJson(body['spec'], before.spec) ? generation : generation + 1,
        resourceVersion: before.metadata.resourceVersion,
      },
    };
    if (deletionTimestamp === undefined || finalizers.length > 0) return this.#store(resource, before, next);
    const last = frozen(next);
    this.#remove(resource, last);
    return last;
  }

  #store(resource: Resource, before: KubeObject | undefined, next: Record<string, unknown>): KubeObject {
    const candidate = frozen(next);
    // Like the API server, ignore a write that changes nothing.
    if (before !== undefined && sameJson(before, candidate)) return before;
    const version = ++this.#newest;
    const metadata = Object.freeze({ ...candidate.metadata, resourceVersion: String(version) });
    const object = Object.freeze({ ...candidate, metadata });
    this.#of(resource).set(placeOf(metadata.namespace, metadata.name), object);
    this.#tell({ version, resource: keyOf(resource), before, after: object, object });
    return object;
  }

  #remove(resource: Resource, before: KubeObject): void {
    const version = ++this.#newest;
    this.#of(resource).delete(placeOf(before.metadata.namespace, before.metadata.name));
    const object = frozen({ ...before, metadata: { ...before.metadata, resourceVersion: String(version) } });
    this.#tell({ version, resource: keyOf(resource), before, after: undefined, object });
  }

  #tell(change: ClusterChange): void {
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }

  #of(resource: Resource): Map<string, KubeObject> {
    const key = keyOf(resource);
    const known = this.#objects.get(key) ?? new Map<string, KubeObject>();
    this.#objects.set(key, known);
    return known;
  }
}

/** The key of a resource: `group/plural`. */
export function keyOf(resource: Resource): string {
  return `${resource.group}/${resource.plural}`;
}

/** An object in the body of a request. */
interface GivenObject extends Readonly<Record<string, unknown>> {
  readonly metadata: Partial<ObjectMeta> & Pick<ObjectMeta, 'name'>;
}

/** Copies a body through JSON, so that values that JSON cannot express are lost, as on a real connection. */
function asJson(body: unknown): GivenObject {
  return JSON.parse(JSON.stringify(body)) as GivenObject;
}

function metadataOf(body: unknown): Readonly<Record<string, unknown>> {
  const metadata = isRecord(body) ? body['metadata'] : undefined;
  if (!isRecord(body) || !isRecord(metadata) || typeof body['apiVersion'] !== 'string' || !body['kind']) {
    throw new KubeError('invalid', 'the object does not say what it is');
  }
  return metadata;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function placeOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** Makes a read-only object, so that nobody can change what the cluster returned. */
function frozen({ status, ...rest }: Record<string, unknown>): KubeObject {
  const object = parseObject({ ...rest, ...(status !== undefined && { status }) }, 'the double');
  deepFreeze(object);
  return object;
}

/** Freezes an object and all its parts. A part that is frozen already was frozen with all its own parts. */
function deepFreeze(value: object): void {
  if (Object.isFrozen(value)) return;
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFreeze(part);
  Object.freeze(value);
}
