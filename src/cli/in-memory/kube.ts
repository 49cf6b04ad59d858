import { isRecord } from '../../base/json.ts';
import {
  type KubeApi,
  KubeError,
  type KubeObject,
  type Page,
  type PageOptions,
  type PatchOperation,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../../engine/ports.ts';
import type { MemoryCluster } from './cluster.ts';
import { applyPatch, PatchFailed } from './json-patch.ts';
import { meets } from './label-selector.ts';
import { MemoryWatch, onlyMetadata } from './watch.ts';

/** The verbs of `KubeApi`. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'replace' | 'replaceStatus' | 'patch' | 'delete';

/** One call: what is done to what. */
export interface KubeCall {
  readonly verb: Verb;
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** A connection to a cluster in memory; several connections may share one cluster. */
export class KubeInMemory implements KubeApi {
  readonly cluster: MemoryCluster;
  readonly #pages = new Map<string, { readonly items: readonly KubeObject[]; readonly version: number }>();

  constructor(cluster: MemoryCluster) {
    this.cluster = cluster;
  }

  /** Does what a call asks for. Never in the same turn: an answer takes time. */
  protected async perform<T>(_call: KubeCall, act: () => T): Promise<T> {
    await Promise.resolve();
    return act();
  }

  /** A watch that was opened. */
  protected opened(_watch: MemoryWatch): void {
    // Nothing is kept of it here.
  }

  /** A watch that nobody listens to any more. */
  protected closed(_watch: MemoryWatch): void {
    // Nothing is kept of it here.
  }

  /** True if watches are accepted but deliver nothing. */
  protected get deaf(): boolean {
    return false;
  }

  get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    return this.perform({ verb: 'get', resource, namespace, name }, () => this.cluster.get(resource, namespace, name));
  }

  list(resource: Resource, options: PageOptions): Promise<Page> {
    return this.perform({ verb: 'list', resource, namespace: options.namespace, name: undefined }, () =>
      this.#page(resource, options),
    );
  }

  async *watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent, void, void> {
    const watch = await this.perform({ verb: 'watch', resource, namespace: options.namespace, name: undefined }, () => {
      return new MemoryWatch(this.cluster, resource, options, this.deaf);
    });
    this.opened(watch);
    try {
      yield* watch.events();
    } finally {
      this.closed(watch);
      watch.close();
    }
  }

  create(resource: Resource, namespace: string | undefined, object: unknown): Promise<KubeObject> {
    const metadata = isRecord(object) ? object['metadata'] : undefined;
    const name = isRecord(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : undefined;
    return this.perform({ verb: 'create', resource, namespace, name }, () =>
      this.cluster.create(resource, namespace, object),
    );
  }

  replace(resource: Resource, namespace: string | undefined, name: string, object: unknown): Promise<KubeObject> {
    return this.perform({ verb: 'replace', resource, namespace, name }, () => {
      return this.cluster.update(resource, namespace, name, object, 'object');
    });
  }

  replaceStatus(resource: Resource, namespace: string | undefined, name: string, object: unknown): Promise<KubeObject> {
    return this.perform({ verb: 'replaceStatus', resource, namespace, name }, () => {
      return this.cluster.update(resource, namespace, name, object, 'status');
    });
  }

  patch(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    operations: readonly PatchOperation[],
  ): Promise<KubeObject> {
    return this.perform({ verb: 'patch', resource, namespace, name }, () => {
      const before = this.cluster.get(resource, namespace, name);
      if (before === undefined) throw new KubeError('notFound', `${name} not found`);
      try {
        const after = applyPatch(before, operations);
        return this.cluster.update(resource, namespace, name, after, 'object');
      } catch (cause) {
        if (cause instanceof PatchFailed) throw new KubeError('conflict', cause.message, { cause });
        throw cause;
      }
    });
  }

  delete(resource: Resource, namespace: string | undefined, name: string): Promise<void> {
    return this.perform({ verb: 'delete', resource, namespace, name }, () =>
      this.cluster.delete(resource, namespace, name),
    );
  }

  #page(resource: Resource, options: PageOptions): Page {
    const [id = '', from = '0'] = options.continue?.split(':') ?? [];
    const started = options.continue === undefined ? this.#select(resource, options) : this.#pages.get(id);
    if (started === undefined || started.version < this.cluster.compactedAt) {
      throw new KubeError('gone', 'the continue token is too old');
    }
    const start = Number(from);
    const items = started.items.slice(start, start + options.limit);
    const isLast = start + options.limit >= started.items.length;
    const token = id === '' ? String(this.#pages.size + 1) : id;
    if (!isLast) this.#pages.set(token, started);
    return {
      items: options.metadataOnly === true ? items.map(onlyMetadata) : items,
      resourceVersion: String(started.version),
      continue: isLast ? undefined : `${token}:${start + options.limit}`,
    };
  }

  #select(resource: Resource, { namespace, labelSelector }: PageOptions) {
    const items = this.cluster
      .all(resource)
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .filter(({ metadata }) => meets(metadata.labels, labelSelector));
    this.cluster.asked(resource);
    return { items, version: this.cluster.version };
  }
}
