import { isRecord } from '../../../src/base/json.ts';
import type { Clock, Entropy } from '../../../src/base/time.ts';
import { ClusterInMemory, keyOf } from '../cluster-in-memory.ts';
import { KubeError, type KubeObject, type Resource } from '../../../src/engine/ports.ts';

/** The state of a cluster at one time. */
export interface ClusterSnapshot {
  readonly version: number;
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

/** A cluster in memory with everything that befalls one: restores, forgotten history; and it refuses what the API server refuses. */
export class MemoryCluster extends ClusterInMemory {
  #compactedAt = this.newest;
  /** Bookmarks say only what is known from the last list or change of their resource. */
  isDrowsy = false;
  readonly #known = new Map<string, number>();
  readonly #restored = new Set<() => void>();

  constructor(clock: Clock, entropy?: Entropy) {
    super(clock, entropy);
    this.listen(({ resource, version }) => this.#known.set(resource, version));
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
    this.history = [];
    this.#compactedAt = this.version;
  }

  /** Versions move on without a change of anything that is watched here. */
  skipVersions(count: number): void {
    this.newest += count;
  }

  snapshot(): ClusterSnapshot {
    const objects = new Map([...this.objects].map(([key, all]) => [key, new Map(all)] as const));
    return { version: this.version, objects };
  }

  /** The cluster's store is restored from a backup: it goes back in time, and all watches end. */
  restore(snapshot: ClusterSnapshot): void {
    this.objects = new Map([...snapshot.objects].map(([key, all]) => [key, new Map(all)] as const));
    this.newest = snapshot.version;
    this.compact();
    for (const listener of this.#restored) listener();
  }

  /** Told when the cluster was restored; the returned function ends it. */
  onRestored(listener: () => void): () => void {
    this.#restored.add(listener);
    return () => this.#restored.delete(listener);
  }

  override create(resource: Resource, namespace: string | undefined, body: unknown): KubeObject {
    const { name, resourceVersion } = metadataOf(body);
    if (isText(resourceVersion)) {
      // As the API server does: it answers 500.
      throw new KubeError('unavailable', 'resourceVersion should not be set on objects to be created');
    }
    if (!isText(name)) throw new KubeError('invalid', 'name or generateName is required');
    return super.create(resource, namespace, body);
  }

  override update(...call: Parameters<ClusterInMemory['update']>): KubeObject {
    const [resource, namespace, name, body, part] = call;
    const { uid, resourceVersion, finalizers = [] } = metadataOf(body);
    const before = this.get(resource, namespace, name);
    // Kinds that a PUT may create compare what it expects with nothing.
    const expects = isText(uid) && resource.plural === 'leases';
    if (before === undefined && expects) throw new KubeError('conflict', `${name} not found`);
    const isBuiltIn = resource.group === '' || resource.group.endsWith('.k8s.io');
    if (before !== undefined && !isText(resourceVersion) && !isBuiltIn) {
      throw new KubeError('invalid', 'metadata.resourceVersion: must be specified for an update');
    }
    const had: readonly unknown[] = before?.metadata.finalizers ?? [];
    const adds = Array.isArray(finalizers) && finalizers.some((one) => !had.includes(one));
    if (part === 'object' && before?.metadata.deletionTimestamp !== undefined && adds) {
      throw new KubeError('invalid', 'no new finalizers can be added if the object is being deleted');
    }
    return super.update(...call);
  }
}

function metadataOf(body: unknown): Readonly<Record<string, unknown>> {
  const metadata = isRecord(body) ? body['metadata'] : undefined;
  if (!isRecord(body) || !isRecord(metadata) || typeof body['apiVersion'] !== 'string' || !body['kind']) {
    throw new KubeError('invalid', 'the object does not say what it is');
  }
  return metadata;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
