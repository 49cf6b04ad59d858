import {
  type KubeApi,
  KubeError,
  type KubeObject,
  type KubeReason,
  type Page,
  type PageOptions,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../../../src/engine/ports.ts';
import { applyPatch } from './json-patch.ts';
import { meets } from './label-selector.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import { MemoryWatch, onlyMetadata } from './memory-watch.ts';

const deadlineMs = 30_000;

/** The verbs of `KubeApi`. */
type Verb = 'get' | 'list' | 'watch' | 'create' | 'replace' | 'replaceStatus' | 'patch' | 'delete';

/** One call: what is done to what. */
export interface KubeCall {
  readonly verb: Verb;
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name?: string | undefined;
}

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
  readonly #latency: () => number;
  readonly #pages = new Map<string, { readonly items: readonly KubeObject[]; readonly version: number }>();
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

  get(...call: Parameters<KubeApi['get']>): Promise<KubeObject | undefined> {
    return this.#called('get', call, async () => this.cluster.get(...call));
  }

  list(resource: Resource, options: PageOptions): Promise<Page> {
    const call = { verb: 'list', resource, namespace: options.namespace } as const;
    return this.perform(call, async () => this.#page(resource, options));
  }

  async *watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent, void, void> {
    const call = { verb: 'watch', resource, namespace: options.namespace } as const;
    const watch = await this.perform(call, async () => {
      const opened = new MemoryWatch(this.cluster, resource, options, this.isDeaf);
      opened.open();
      return opened;
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

  /** Refuses what the API server refuses by rules of its own, which no definition says. */
  async create(...call: Parameters<KubeApi['create']>): Promise<KubeObject> {
    const [resource, namespace, object] = call;
    const flaw = flawOf(resource, object);
    if (flaw !== undefined) {
      await this.#travel();
      throw new KubeError('invalid', flaw);
    }
    return this.#called('create', [resource, namespace, nameOf(object)], async () => this.cluster.create(...call));
  }

  replace(...call: Parameters<KubeApi['replace']>): Promise<KubeObject> {
    return this.#called('replace', call, async () => this.cluster.update(...call, 'object'));
  }

  replaceStatus(...call: Parameters<KubeApi['replaceStatus']>): Promise<KubeObject> {
    return this.#called('replaceStatus', call, async () => this.cluster.update(...call, 'status'));
  }

  patch(...call: Parameters<KubeApi['patch']>): Promise<KubeObject> {
    return this.#called('patch', call, async () => {
      const [resource, namespace, name, operations] = call;
      const before = this.cluster.get(resource, namespace, name);
      if (before === undefined) throw new KubeError('notFound', `${name} not found`);
      return this.cluster.update(resource, namespace, name, applyPatch(before, operations), 'object');
    });
  }

  delete(...call: Parameters<KubeApi['delete']>): Promise<void> {
    return this.#called('delete', call, async () => this.cluster.delete(...call));
  }

  #called<T>(
    verb: Verb,
    [resource, namespace, name]: readonly [Resource, string | undefined, string | undefined, ...unknown[]],
    act: () => Promise<T>,
  ): Promise<T> {
    return this.perform({ verb, resource, namespace, name }, act);
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

  /** Does what a call asks for, unless something that was arranged befalls it. */
  protected async perform<T>({ verb, resource, namespace, name }: KubeCall, act: () => Promise<T>): Promise<T> {
    this.calls.push({ verb, plural: resource.plural, namespace, name });
    await this.#travel();
    if (this.#isCut) throw new KubeError('unavailable', 'the network is cut');
    const fault = this.#faultFor(verb, resource);
    if (fault === undefined) {
      try {
        return await act();
      } finally {
        await this.#travel();
      }
    }
    if (fault.effect === 'after') await act();
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
}

function nameOf(object: unknown): string | undefined {
  const { metadata } = object as { readonly metadata?: { readonly name?: string } };
  return metadata?.name;
}

const objectName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;
const qualifiedName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/u;

/** Why the API server would refuse to create an object; undefined where it takes it. */
function flawOf(resource: Resource, object: unknown): string | undefined {
  const { metadata, ...fields } = object as Readonly<Record<string, unknown>> & { metadata?: { name?: string } };
  const name = metadata?.name ?? '';
  if (name.length > 253 || (name !== '' && !objectName.test(name))) return `metadata.name: ${name} is no name`;
  return resource.plural === 'events' ? eventFlaw(fields) : undefined;
}

/** The rules for events of `events.k8s.io/v1`, whose texts are counted in bytes. */
function eventFlaw(fields: Readonly<Record<string, unknown>>): string | undefined {
  const text = (field: string) => (typeof fields[field] === 'string' ? fields[field] : '');
  const isWithin = (field: string, least: number, most: number) => {
    const bytes = Buffer.byteLength(text(field));
    return bytes >= least && bytes <= most;
  };
  const bounds = [
    ['note', 0, 1_024],
    ['reason', 1, 128],
    ['action', 1, 128],
    ['reportingInstance', 1, 128],
    ['eventTime', 1, 64],
  ] as const;
  const outside = bounds.find(([field, least, most]) => !isWithin(field, least, most));
  if (outside !== undefined) return `${outside[0]}: can have ${outside[1]} to ${outside[2]} bytes`;
  if (!qualifiedName.test(text('reportingController'))) return 'reportingController: is no qualified name';
  return ['Normal', 'Warning'].includes(text('type')) ? undefined : 'type: is neither Normal nor Warning';
}
