import { isRecord } from '../../src/base/json.ts';
import {
  type KubeApi,
  KubeError,
  type KubeObject,
  type KubeReason,
  type Page,
  type PageOptions,
  type PatchOperation,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../../src/engine/ports.ts';
import { applyPatch, PatchFailed } from './json-patch.ts';
import { meets } from './label-selector.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import { MemoryWatch, onlyMetadata } from './memory-watch.ts';

const deadlineMs = 30_000;

/** The verbs of `KubeApi`. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'replace' | 'replaceStatus' | 'patch' | 'delete';

/** One call that was made. */
export interface RecordedCall {
  readonly verb: Verb;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Something that goes wrong with a call. */
export interface Fault {
  /** Only calls of this verb; any unless said. */
  readonly verb?: Verb;
  readonly plural?: string;
  /** Skips so many matching calls first. */
  readonly after?: number;
  /** How many matching calls it hits; one unless said. */
  readonly times?: number;
  /** Whether the call took effect before it failed. */
  readonly effect: 'before' | 'after';
  /** `hang` never answers; `timeout` fails after the deadline that the client over HTTP has. */
  readonly outcome: KubeReason | 'hang' | 'timeout';
  readonly retryInMs?: number;
}

/** A connection to a cluster in memory, with faults of its own; several connections may share one cluster. */
export class MemoryKube implements KubeApi {
  readonly cluster: MemoryCluster;
  readonly calls: RecordedCall[] = [];
  readonly #faults: { fault: Fault; skip: number; left: number }[] = [];
  readonly #watches = new Set<MemoryWatch>();
  readonly #pages = new Map<string, { readonly items: readonly KubeObject[]; readonly version: number }>();
  readonly #latency: () => number;
  #isCut = false;
  #watchLagMs = 0;
  /** Watches that are opened from now on are accepted, and nothing is heard on them. */
  isDeaf = false;

  /** `latency` says how long each way of each call takes; nothing unless given. */
  constructor(cluster: MemoryCluster, latency: () => number = () => 0) {
    this.cluster = cluster;
    this.#latency = latency;
  }

  /** Arranges a fault; faults are looked at in the order in which they were arranged. */
  inject(fault: Fault): void {
    this.#faults.push({ fault, skip: fault.after ?? 0, left: fault.times ?? 1 });
  }

  /** No fault that was arranged happens any more. */
  forgive(): void {
    this.#faults.length = 0;
  }

  /** Cuts or restores the network: calls fail without effect, watches hear nothing. */
  set cut(isCut: boolean) {
    this.#isCut = isCut;
    for (const watch of this.#watches) watch.isMuted = isCut;
  }

  /** How long every watch takes to tell what happened. */
  set watchLagMs(ms: number) {
    this.#watchLagMs = ms;
    for (const watch of this.#watches) watch.lagMs = ms;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Ends all watches: as the server does, or with a failure. */
  endWatches(failure?: KubeError): void {
    for (const watch of this.#watches) watch.end(failure);
  }

  /** The connections of all watches break, also of those on which nothing is heard. */
  breakWatches(): void {
    for (const watch of this.#watches) {
      watch.isMuted = false;
      watch.end(new KubeError('unavailable', 'the connection was reset'));
    }
  }

  /** Says something in all watches that no object said. */
  say(event: WatchEvent): void {
    for (const watch of this.#watches) watch.push(event);
  }

  /** Nothing more is heard on the watches that are open now. */
  mute(): void {
    for (const watch of this.#watches) watch.isMuted = true;
  }

  get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    return this.#call('get', resource, namespace, name, () => this.cluster.get(resource, namespace, name));
  }

  list(resource: Resource, options: PageOptions): Promise<Page> {
    return this.#call('list', resource, options.namespace, undefined, () => this.#page(resource, options));
  }

  async *watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent, void, void> {
    const watch = await this.#call('watch', resource, options.namespace, undefined, () => {
      return new MemoryWatch(this.cluster, resource, options, this.isDeaf);
    });
    watch.lagMs = this.#watchLagMs;
    this.#watches.add(watch);
    try {
      yield* watch.events();
    } finally {
      this.#watches.delete(watch);
      watch.close();
    }
  }

  create(resource: Resource, namespace: string | undefined, object: unknown): Promise<KubeObject> {
    const metadata = isRecord(object) ? object['metadata'] : undefined;
    const name = isRecord(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : undefined;
    return this.#call('create', resource, namespace, name, () => this.cluster.create(resource, namespace, object));
  }

  replace(resource: Resource, namespace: string | undefined, name: string, object: unknown): Promise<KubeObject> {
    return this.#call('replace', resource, namespace, name, () => {
      return this.cluster.update(resource, namespace, name, object, 'object');
    });
  }

  replaceStatus(resource: Resource, namespace: string | undefined, name: string, object: unknown): Promise<KubeObject> {
    return this.#call('replaceStatus', resource, namespace, name, () => {
      return this.cluster.update(resource, namespace, name, object, 'status');
    });
  }

  patch(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    operations: readonly PatchOperation[],
  ): Promise<KubeObject> {
    return this.#call('patch', resource, namespace, name, () => {
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
    return this.#call('delete', resource, namespace, name, () => this.cluster.delete(resource, namespace, name));
  }

  async #call<T>(
    verb: Verb,
    resource: Resource,
    namespace: string | undefined,
    name: string | undefined,
    act: () => T,
  ): Promise<T> {
    this.calls.push({ verb, plural: resource.plural, namespace, name });
    await this.#travel();
    if (this.#isCut) throw new KubeError('unavailable', 'the network is cut');
    const fault = this.#faultFor(verb, resource);
    if (fault === undefined) {
      try {
        return act();
      } finally {
        await this.#travel();
      }
    }
    if (fault.effect === 'after') act();
    if (fault.outcome === 'hang') return new Promise<T>(() => undefined);
    if (fault.outcome === 'timeout') {
      await new Promise<void>((resolve) => void this.cluster.clock.after(deadlineMs, resolve));
      throw new KubeError('unavailable', `${verb} ${resource.plural}: no answer within ${deadlineMs} ms`);
    }
    const retry = fault.retryInMs === undefined ? {} : { retryInMs: fault.retryInMs };
    throw new KubeError(fault.outcome, `${verb} ${resource.plural}: ${fault.outcome}, as arranged`, retry);
  }

  /** Never in the same turn: an answer takes time. */
  #travel(): Promise<void> {
    const ms = this.#latency();
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => void this.cluster.clock.after(ms, resolve));
  }

  #faultFor(verb: Verb, resource: Resource): Fault | undefined {
    for (const arranged of this.#faults) {
      const { fault } = arranged;
      if (
        arranged.left === 0 ||
        (fault.verb ?? verb) !== verb ||
        (fault.plural ?? resource.plural) !== resource.plural
      ) {
        continue;
      }
      if (arranged.skip > 0) {
        arranged.skip -= 1;
        continue;
      }
      arranged.left -= 1;
      return fault;
    }
    return undefined;
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
