/**
 * The reflector: a local copy of all objects of one resource, kept true by one list and one watch. And what health and metrics
 * say of reflectors: how long each has heard nothing, and why the process is not ready.
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
 * Assumes that lists are consistent reads, and that an API server sends a bookmark about once a minute (unavailable.ts).
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
} from '../engine/ports.ts';
import { Backoff, type Clock, type Entropy } from '../base/time.ts';
import { GarbledError, TooLargeError } from './client/failure.ts';
import { compareVersions } from '../base/json.ts';
import { pause, SilenceError, within, withWatchDeadline } from './unavailable.ts';

/** Sizes and durations of a reflector in production. */
const usualPace = {
  pageSize: 500,
  pageMs: 45_000,
  /** The API server is asked to end each watch after a random time between these. */
  watchSeconds: { least: 300, most: 600 },
  /** After this long without an event or bookmark everything is listed; bookmarks come every minute. */
  idleMs: 80_000,
  backoff: { firstMs: 800, longestMs: 30_000, forgetMs: 120_000 },
};

/** The resource that a reflector watches, and the callbacks that it calls. */
export interface ReflectorOptions {
  readonly api: KubeApi;
  readonly resource: Resource;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  /** Only metadata is fetched and kept. */
  readonly metadataOnly?: boolean;
  /** Reduces an object to what is kept in memory; without it the whole object is kept. */
  readonly keep?: (object: KubeObject) => KubeObject;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Collects failures of Kubernetes as a whole; without it they are logged here like all others. */
  readonly troubles?: Troubles | undefined;
  readonly onEvent: (event: CacheEvent) => void;
  /** Called with the reflector's name when the cluster was restored from a backup, before the events of the restored objects. */
  readonly onRewind?: ((by: string) => void) | undefined;
  readonly onList?: (reason: ListReason) => void;
  readonly pace?: Partial<typeof usualPace>;
}

/** Lists and watches one resource until it is stopped, and tells its listener each change. */
export class Reflector {
  /** Resolves after the first complete list. */
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions;
  /** The namespace, labels and form that every list and watch asks for. */
  readonly #selection: Pick<PageOptions, 'namespace' | 'labelSelector' | 'metadataOnly'>;
  readonly #pace: typeof usualPace;
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
    const { namespace, labelSelector, metadataOnly } = options;
    this.#selection = { namespace, labelSelector, metadataOnly };
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
    const asked = api.list(resource, { ...this.#selection, limit, continue: next });
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
    const controller = new AbortController();
    this.#watching = controller;
    const signal = AbortSignal.any([controller.signal, this.#stop.signal]);
    const stream = api.watch(resource, { ...this.#selection, resourceVersion, timeoutSeconds, signal });
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

/** The reason for a list of all objects. */
export type ListReason = 'start' | 'gone' | 'garbled' | 'backwards' | 'silent' | 'rewind';

/** Thrown to end a watch, so that every object is listed again. */
class Relist extends Error {
  readonly reason: ListReason;

  constructor(reason: ListReason) {
    super(`listing again: ${reason}`);
    this.name = 'Relist';
    this.reason = reason;
  }
}

/** The reason to list again after a failure; undefined when it is enough to open the watch again. */
function listReasonOf(error: unknown): ListReason | undefined {
  if (error instanceof Relist) return error.reason;
  if (error instanceof SilenceError) return 'silent';
  if (error instanceof GarbledError) return 'garbled';
  return error instanceof KubeError && error.reason === 'gone' ? 'gone' : undefined;
}

/**
 * The newest known version of every object of one resource, and the pure rules by which it changes.
 *
 * Guarantees: an object never goes back to an older version; one that was deleted and recreated gives `gone` and then `applied`; a
 * late event of an object that was replaced changes nothing.
 */
class ObjectCache {
  #objects = new Map<string, KubeObject>();

  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  values(): Iterable<KubeObject> {
    return this.#objects.values();
  }

  /** Takes a new version of an object. */
  apply(object: KubeObject): readonly CacheEvent[] {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = this.#objects.get(key);
    if (known !== undefined && compareVersions(object.metadata.resourceVersion, known.metadata.resourceVersion) <= 0) {
      return [];
    }
    this.#objects.set(key, object);
    const applied = { is: 'applied', object, initial: false } satisfies CacheEvent;
    if (known === undefined || known.metadata.uid === object.metadata.uid) return [applied];
    return [{ is: 'gone', object: known }, applied];
  }

  /** Removes a deleted object; `object` is its last version. */
  remove(object: KubeObject): readonly CacheEvent[] {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = this.#objects.get(key);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return [];
    this.#objects.delete(key);
    return [{ is: 'gone', object }];
  }

  /** True when one of these is older than the version known here, as after a restore of the cluster. */
  isAhead(objects: readonly KubeObject[]): boolean {
    return objects.some(({ metadata }) => {
      const known = this.get(metadata.namespace, metadata.name)?.metadata;
      return known?.uid === metadata.uid && compareVersions(metadata.resourceVersion, known.resourceVersion) < 0;
    });
  }

  /** Replaces everything with a complete list. After a restore, versions prove nothing and every object counts as changed. */
  replace(objects: readonly KubeObject[], how: { readonly initial: boolean; readonly rewound: boolean }): CacheEvent[] {
    const before = this.#objects;
    this.#objects = new Map(
      objects.map((object) => [keyOf(object.metadata.namespace, object.metadata.name), object] as const),
    );
    const events: CacheEvent[] = [];
    for (const [key, known] of before) {
      if (this.#objects.get(key)?.metadata.uid !== known.metadata.uid) events.push({ is: 'gone', object: known });
    }
    for (const [key, object] of this.#objects) {
      const known = before.get(key)?.metadata;
      const { uid, resourceVersion } = object.metadata;
      const same = known?.uid === uid && known.resourceVersion === resourceVersion;
      if (!same || how.rewound) events.push({ is: 'applied', object, initial: how.initial });
    }
    return events;
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

// ---- health ----------------------------------------------------------------------------------------------------

/** A reflector, as health and metrics see it. */
export type Watched = Pick<Reflector, 'name' | 'isSynced' | 'lastHeardAt' | 'problem'>;

/** A watch without events or bookmarks for this long is reported as silent. */
const silentAfterMs = 180_000;

/** Milliseconds since each reflector last received something; undefined before its first list. */
export function agesOf(reflectors: Iterable<Watched>, clock: Clock): ReadonlyMap<string, number | undefined> {
  const now = clock.monotonic();
  const ages = new Map<string, number | undefined>();
  for (const reflector of reflectors) {
    const heardAt = reflector.lastHeardAt();
    ages.set(reflector.name, heardAt === undefined ? undefined : now - heardAt);
  }
  return ages;
}

/** Why the process is not ready, one sentence for each reflector; empty when it is ready. */
export function complaintsOf(reflectors: Iterable<Watched>, clock: Clock, limitMs = silentAfterMs): readonly string[] {
  const now = clock.monotonic();
  const complaints: string[] = [];
  for (const reflector of reflectors) {
    const heardAt = reflector.lastHeardAt();
    const problem = reflector.problem();
    const because = problem === undefined ? '' : ` (${problem})`;
    if (!reflector.isSynced) complaints.push(`${reflector.name}: not listed yet${because}`);
    else if (heardAt === undefined || now - heardAt > limitMs) complaints.push(`${reflector.name}: silent${because}`);
  }
  return complaints;
}
