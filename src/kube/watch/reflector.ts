/**
 * The reflector: a local copy of all objects of one resource, kept true by one list and one watch.
 *
 * Guarantees
 * - It never stops by itself. Whatever a list or a watch does (refused, reset, garbage, silence), it tries again, with an
 *   endless backoff that has jitter and keeps to `Retry-After`. Only `stop()` ends it, at whatever it is waiting for.
 * - Events are emitted in order, once, and never go back in time: resourceVersions only grow, and an object that was deleted and
 *   recreated, even unseen, gives `gone` and then `applied`. A listener that throws is logged as a bug; no event is lost or repeated.
 * - A silent watch is noticed. After the idle deadline without an event or bookmark it lists: an API server that accepts watches and
 *   sends nothing hides a change for that long and one list. It also lists when streams keep ending early and nothing arrived for
 *   twice the deadline. After one stream that ended early it only reads the newest resourceVersion; after anything odd (410, a line
 *   that cannot be read, a version that runs backwards) it lists.
 * - A rewind (etcd restored from an older snapshot) shows as a list, or an object in it, that is older than before. `onRewind` is
 *   called, unless another reflector noticed first, and every object of the new list is emitted again.
 *
 * Assumes that lists are consistent reads, and that an API server sends a bookmark about once a minute (watch-deadline.ts).
 *
 * A restored etcd that has already passed the version seen here, and lacks only whole objects, cannot be told from the old one here;
 * the lease, which is written every two seconds, shows it.
 */
import {
  type CacheEvent,
  type KubeApi,
  KubeError,
  type KubeObject,
  type WatchEvent,
  type Log,
  type PageOptions,
  type Resource,
  type Troubles,
} from '../../engine/ports.ts';
import { Backoff, type BackoffShape } from '../../base/backoff.ts';
import { TooLargeError } from '../client/failure.ts';
import { compareVersions } from '../../base/resource-version.ts';
import { linked, pause, within } from '../deadline.ts';
import { type ListReason, SilenceError, withWatchDeadline, Relist, listReasonOf } from './watch-deadline.ts';
import { ObjectCache } from './object-cache.ts';
import type { Clock, Entropy } from '../../base/clock.ts';

/** Sizes and durations of a reflector; the defaults are for production. */
export interface ReflectorPace {
  readonly pageSize: number;
  readonly pageMs: number;
  /** The API server is asked to end each watch after a random time between these. */
  readonly watchSeconds: { readonly least: number; readonly most: number };
  /** After this long without an event or bookmark everything is listed; bookmarks come every minute. */
  readonly idleMs: number;
  readonly backoff: BackoffShape;
}

const usualPace: ReflectorPace = {
  pageSize: 500,
  pageMs: 45_000,
  watchSeconds: { least: 300, most: 600 },
  idleMs: 80_000,
  backoff: { firstMs: 800, longestMs: 30_000, forgetMs: 120_000 },
};

/** The resource that a reflector watches, and the callbacks that it calls. */
export interface ReflectorOptions {
  readonly api: KubeApi;
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Only metadata is fetched and kept. */
  readonly metadataOnly?: boolean;
  /** Reduces an object to what is kept in memory; without it the whole object is kept. */
  readonly keep?: (object: KubeObject) => KubeObject;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Collects failures of Kubernetes as a whole; without it they are logged here like all others. */
  readonly troubles?: Troubles;
  readonly onEvent: (event: CacheEvent) => void;
  /** Called with the reflector's name when the cluster was restored from a backup, before the events of the restored objects. */
  readonly onRewind?: (by: string) => void;
  readonly onList?: (reason: ListReason) => void;
  readonly pace?: Partial<ReflectorPace>;
}

/** The namespace, labels and form that every list and watch asks for. */
function selectionOf({
  namespace,
  labelSelector,
  metadataOnly,
}: ReflectorOptions): Pick<PageOptions, 'namespace' | 'labelSelector' | 'metadataOnly'> {
  return {
    ...(namespace !== undefined && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(metadataOnly !== undefined && { metadataOnly }),
  };
}

export class Reflector {
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions;
  readonly #pace: ReflectorPace;
  readonly #backoff: Backoff;
  #pageSize: number;
  readonly #cache = new ObjectCache();
  readonly #stop = new AbortController();
  readonly #markSynced: () => void;
  #isSynced = false;
  #running: Promise<void> | undefined;
  /** The newest resourceVersion of this session. */
  #seen: string | undefined;
  #listBecause: ListReason | undefined = 'start';
  /** The reason for the list under way. */
  #listing: ListReason | undefined;
  /** How many rewinds were reported from outside, and how many of them a list has followed. */
  #rewinds = 0;
  #rewindsHandled = 0;
  #watching: AbortController | undefined;
  #lastHeardAt: number | undefined;
  #problem: string | undefined;
  /** The last stream ended before the time that it was asked for. */
  #endedEarly = false;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#pace = { ...usualPace, ...options.pace };
    this.#pageSize = this.#pace.pageSize;
    this.#backoff = new Backoff(this.#pace.backoff, options.clock, options.entropy);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#markSynced = resolve;
  }

  /** The name of the resource, for health and metrics. */
  get name(): string {
    const { plural, group } = this.#options.resource;
    return group === '' ? plural : `${plural}.${group}`;
  }

  get #who(): string {
    return `the watch of ${this.name}`;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get size(): number {
    return this.#cache.size;
  }

  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#cache.get(namespace, name);
  }

  values(): Iterable<KubeObject> {
    return this.#cache.values();
  }

  /** Monotonic time of the last list page, event or bookmark; a probe does not count. */
  lastHeardAt(): number | undefined {
    return this.#lastHeardAt;
  }

  /** The last failure, until something arrives again. */
  problem(): string | undefined {
    return this.#problem;
  }

  /** The cluster was restored, as another watch noticed: lists again and emits every object. */
  rewound(): void {
    this.#rewinds += 1;
    this.#listBecause = 'rewind';
    this.#watching?.abort(new Relist('rewind'));
  }

  /** Starts; called once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Stops for good: nothing is emitted afterwards, and no request begins. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let waitMs = 0;
      try {
        if (this.#isSilent()) this.#listBecause ??= 'silent';
        if (this.#listBecause === undefined && this.#endedEarly) await this.#probe();
        if (this.#listBecause !== undefined) await this.#list(this.#listBecause);
        if (this.#listBecause !== undefined) continue;
        this.#endedEarly = false;
        if (!(await this.#watch())) {
          this.#endedEarly = true;
          waitMs = this.#backoff.next();
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        waitMs = this.#failed(error);
      }
      await pause(this.#options.clock, waitMs, this.#stop.signal);
    }
  }

  /** Decides what follows a failure; returns how many milliseconds to wait. */
  #failed(error: unknown): number {
    this.#endedEarly = true;
    // The silence was long enough, so no backoff; a random pause keeps all reflectors from listing at once.
    const waitMs =
      error instanceof SilenceError
        ? this.#pace.backoff.firstMs * this.#options.entropy.fraction()
        : this.#backoff.next(error instanceof KubeError ? error.retryInMs : undefined);
    this.#listBecause = listReasonOf(error) ?? this.#listBecause ?? this.#listing;
    const message = error instanceof Error ? error.message : 'unknown failure';
    const again = { reflector: this.name, waitMs: Math.round(waitMs), list: this.#listBecause };
    const isShared = error instanceof KubeError && this.#options.troubles?.failed(this.#who, error) === true;
    if (error instanceof KubeError || error instanceof Relist) {
      const isNews = !isShared && message !== this.#problem;
      this.#options.log[isNews ? 'info' : 'debug'](again, message);
    } else {
      this.#options.log.error({ ...again, err: error }, 'bug: the reflector met a failure it does not know');
    }
    this.#problem = message;
    return waitMs;
  }

  async #list(reason: ListReason): Promise<void> {
    this.#options.onList?.(reason);
    this.#listing = reason;
    this.#listBecause = undefined;
    const rewinds = this.#rewinds;
    const { objects, version } = await this.#all();
    const older = this.#seen !== undefined && compareVersions(version, this.#seen) < 0;
    const noticed = older || this.#cache.isAhead(objects);
    if (noticed && this.#rewinds === this.#rewindsHandled) this.#reportRewind(version);
    const rewound = noticed || rewinds > this.#rewindsHandled;
    this.#rewindsHandled = rewinds;
    this.#seen = version;
    this.#listing = undefined;
    const initial = !this.#isSynced;
    for (const event of this.#cache.replace(objects, { initial, rewound })) this.#emit(event);
    this.#isSynced = true;
    this.#markSynced();
  }

  /** Lists every object, page by page. When a page is too large the list begins again with smaller pages, also next time. */
  async #all(): Promise<{ readonly objects: readonly KubeObject[]; readonly version: string }> {
    for (;;) {
      try {
        return await this.#pages();
      } catch (error) {
        if (!(error instanceof TooLargeError) || this.#pageSize === 1) throw error;
        this.#pageSize = Math.max(1, Math.floor(this.#pageSize / 4));
        const { plural } = this.#options.resource;
        this.#options.log.info(
          { reflector: this.name, pageSize: this.#pageSize },
          `${plural} are large: listed in smaller pages`,
        );
      }
    }
  }

  async #pages(): Promise<{ readonly objects: readonly KubeObject[]; readonly version: string }> {
    const objects: KubeObject[] = [];
    const size = this.#pageSize;
    let page = await this.#page(size, undefined);
    const version = page.resourceVersion;
    for (;;) {
      this.#received();
      for (const object of page.items) objects.push(this.#options.keep?.(object) ?? object);
      if (page.continue === undefined) return { objects, version };
      page = await this.#page(size, page.continue);
    }
  }

  /** True when streams keep ending early and nothing has arrived for twice the idle deadline. */
  #isSilent(): boolean {
    const heardAt = this.#lastHeardAt ?? Number.POSITIVE_INFINITY;
    return this.#endedEarly && this.#options.clock.monotonic() - heardAt >= 2 * this.#pace.idleMs;
  }

  /** Reads the newest resourceVersion: after a restore of the cluster a watch would wait for ever. */
  async #probe(): Promise<void> {
    const { resourceVersion } = await this.#page(1, undefined);
    this.#answered();
    if (this.#seen !== undefined && compareVersions(resourceVersion, this.#seen) < 0) throw new Relist('rewind');
  }

  #page(limit: number, next: string | undefined): ReturnType<KubeApi['list']> {
    const { api, resource, clock } = this.#options;
    const asked = api.list(resource, {
      ...selectionOf(this.#options),
      limit,
      ...(next !== undefined && { continue: next }),
    });
    return within(clock, this.#pace.pageMs, asked, `listing ${resource.plural}`, this.#stop.signal);
  }

  /** Watches once; true when the stream lasted for as long as it was asked to. */
  async #watch(): Promise<boolean> {
    const { api, resource, clock, entropy } = this.#options;
    const { least, most } = this.#pace.watchSeconds;
    const timeoutSeconds = Math.round(least + entropy.fraction() * (most - least));
    const resourceVersion = this.#seen;
    if (resourceVersion === undefined) throw new Relist('start');
    const startedAt = clock.monotonic();
    const { controller, release } = linked(this.#stop.signal);
    this.#watching = controller;
    const { signal } = controller;
    const stream = api.watch(resource, { ...selectionOf(this.#options), resourceVersion, timeoutSeconds, signal });
    const what = `watching ${resource.plural}`;
    const probe = () => this.#probe();
    try {
      for await (const event of withWatchDeadline(stream, { clock, what, idleMs: this.#pace.idleMs, probe, signal })) {
        this.#received();
        this.#apply(event);
      }
      return clock.monotonic() - startedAt >= (timeoutSeconds - 1) * 1000;
    } finally {
      this.#watching = undefined;
      controller.abort();
      release();
    }
  }

  #apply(event: WatchEvent): void {
    switch (event.type) {
      case 'ERROR':
        if (event.code === 410) throw new Relist('gone');
        throw new KubeError('unavailable', `watching ${this.#options.resource.plural}: ${event.code} in the stream`);
      case 'BOOKMARK':
        this.#advance(event.resourceVersion);
        return;
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED': {
        this.#advance(event.object.metadata.resourceVersion);
        const object = this.#options.keep?.(event.object) ?? event.object;
        const events = event.type === 'DELETED' ? this.#cache.remove(object) : this.#cache.apply(object);
        for (const one of events) this.#emit(one);
      }
    }
  }

  /** Throws when a version runs backwards: the server is confused, or the cluster was restored. */
  #advance(version: string): void {
    if (this.#seen !== undefined && compareVersions(version, this.#seen) < 0) throw new Relist('backwards');
    this.#seen = version;
  }

  #received(): void {
    this.#answered();
    this.#lastHeardAt = this.#options.clock.monotonic();
  }

  #answered(): void {
    if (this.#problem !== undefined) this.#options.troubles?.went(this.#who);
    this.#problem = undefined;
  }

  #emit(event: CacheEvent): void {
    this.#callListener(() => this.#options.onEvent(event));
  }

  #reportRewind(version: string): void {
    const fields = { reflector: this.name, seen: this.#seen, now: version };
    this.#options.log.warn(fields, 'the cluster was restored from an older state: everything is looked at again');
    this.#callListener(() => this.#options.onRewind?.(this.name));
  }

  #callListener(tell: () => void): void {
    if (this.#stop.signal.aborted) return;
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ reflector: this.name, err: error }, 'bug: a listener of the reflector threw');
    }
  }
}
