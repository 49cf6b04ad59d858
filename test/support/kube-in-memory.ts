import {
  type KubeApi,
  KubeError,
  type KubeObject,
  type Page,
  type PageOptions,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../../src/engine/ports.ts';
import type { ClusterInMemory } from './cluster-in-memory.ts';
import { applyPatch } from './json-patch.ts';
import { onlyMetadata, WatchInMemory } from './watch-in-memory.ts';

/** The Kubernetes API of a cluster in memory. A list is always one page, and label selectors are ignored. */
export class KubeInMemory<Cluster extends ClusterInMemory = ClusterInMemory> implements KubeApi {
  readonly cluster: Cluster;

  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  async get(...call: Parameters<KubeApi['get']>): Promise<KubeObject | undefined> {
    return this.cluster.get(...call);
  }

  async list(resource: Resource, { namespace, metadataOnly }: PageOptions): Promise<Page> {
    const all = this.cluster.all(resource);
    const items = all.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
    return {
      items: metadataOnly === true ? items.map(onlyMetadata) : items,
      resourceVersion: String(this.cluster.version),
      continue: undefined,
    };
  }

  async *watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent, void, void> {
    const watch = new WatchInMemory(this.cluster, resource, options);
    watch.open();
    try {
      yield* watch.events();
    } finally {
      watch.close();
    }
  }

  async create(...call: Parameters<KubeApi['create']>): Promise<KubeObject> {
    return this.cluster.create(...call);
  }

  async replace(...call: Parameters<KubeApi['replace']>): Promise<KubeObject> {
    return this.cluster.update(...call, 'object');
  }

  async replaceStatus(...call: Parameters<KubeApi['replaceStatus']>): Promise<KubeObject> {
    return this.cluster.update(...call, 'status');
  }

  async patch(...[resource, namespace, name, operations]: Parameters<KubeApi['patch']>): Promise<KubeObject> {
    const before = this.cluster.get(resource, namespace, name);
    if (before === undefined) throw new KubeError('notFound', `${name} not found`);
    return this.cluster.update(resource, namespace, name, applyPatch(before, operations), 'object');
  }

  async delete(...call: Parameters<KubeApi['delete']>): Promise<void> {
    this.cluster.delete(...call);
  }
}
