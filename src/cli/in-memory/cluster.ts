import { sameJson } from '../../base/json.ts';
import { type Clock, type Entropy, isoSeconds } from '../../base/time.ts';
import { KubeError, type KubeObject, type ObjectMeta, type Resource } from '../../engine/ports.ts';
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

/**
 * The objects of a cluster and their history, with the rules of the API server that the operator depends on: versions, uids,
 * generations, finalizers, status as a part of its own, conflicts.
 */
export class ClusterInMemory {
  readonly clock: Clock;
  readonly #entropy: Entropy;
  protected objects = new Map<string, Map<string, KubeObject>>();
  protected history: ClusterChange[] = [];
  protected newest = 1_000;
  readonly #listeners = new Set<(change: ClusterChange) => void>();

  constructor(clock: Clock, entropy: Entropy = new SeededEntropy(7)) {
    this.clock = clock;
    this.#entropy = entropy;
  }

  get version(): number {
    return this.newest;
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
    return this.history.filter((change) => change.version > version);
  }

  /** Told about every change from now on; the returned function ends it. */
  listen(listener: (change: ClusterChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  create(resource: Resource, namespace: string | undefined, body: unknown): KubeObject {
    const { status: _dropped, metadata: given, ...rest } = asJson(body);
    const { name } = given;
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

  /** Replaces an object: its status only, or everything else, by `part`. */
  update(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    body: unknown,
    part: 'object' | 'status',
  ): KubeObject {
    const given = asJson(body);
    const before = this.get(resource, namespace, name);
    if (before === undefined) throw new KubeError('notFound', `${name} not found`);
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
    // No field of Kubernetes: it was read with a spec that was too large.
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
    // A write that changes nothing is not a write.
    if (before !== undefined && sameJson(before, candidate)) return before;
    const version = ++this.newest;
    const metadata = Object.freeze({ ...candidate.metadata, resourceVersion: String(version) });
    const object = Object.freeze({ ...candidate, metadata });
    this.#of(resource).set(placeOf(metadata.namespace, metadata.name), object);
    this.#tell({ version, resource: keyOf(resource), before, after: object, object });
    return object;
  }

  #remove(resource: Resource, before: KubeObject): void {
    const version = ++this.newest;
    this.#of(resource).delete(placeOf(before.metadata.namespace, before.metadata.name));
    const object = frozen({ ...before, metadata: { ...before.metadata, resourceVersion: String(version) } });
    this.#tell({ version, resource: keyOf(resource), before, after: undefined, object });
  }

  #tell(change: ClusterChange): void {
    this.history.push(change);
    for (const listener of this.#listeners) listener(change);
  }

  #of(resource: Resource): Map<string, KubeObject> {
    const key = keyOf(resource);
    const known = this.objects.get(key) ?? new Map<string, KubeObject>();
    this.objects.set(key, known);
    return known;
  }
}

/** The name of a resource within the cluster. */
export function keyOf(resource: Resource): string {
  return `${resource.group}/${resource.plural}`;
}

/** An object as a request gives it. */
interface GivenObject extends Readonly<Record<string, unknown>> {
  readonly metadata: Partial<ObjectMeta> & Pick<ObjectMeta, 'name'>;
}

/** A body as JSON, so that what JSON cannot say does not arrive. */
function asJson(body: unknown): GivenObject {
  return JSON.parse(JSON.stringify(body)) as GivenObject;
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
