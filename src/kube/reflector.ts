/**
 * Keeps a local copy of all objects of one resource: lists the objects, then watches them for changes. Also tells health checks
 * and metrics how long ago each reflector last received data, and why the process is not ready.
 *
 * Guarantees
 * - A reflector never stops by itself. If a list or a watch fails or stays silent, the reflector tries again, for ever. Its
 *   backoff has jitter and respects `Retry-After`. Only `stop()` ends the reflector, whatever it is waiting for.
 * - Events are emitted once and in order. The resourceVersion of an object only grows, unless the cluster was restored from a
 *   backup. If an object was deleted and created again, the reflector emits `gone` and then `applied`, even if the watch saw
 *   neither the deletion nor the creation. When a listener throws, that is logged as a bug, and no event is lost or repeated.
 * - A silent watch is noticed: if neither an event nor a bookmark arrives within the idle deadline, the reflector lists all
 *   objects. It also lists them after a 410, after a line that cannot be parsed, and when a resourceVersion is older than the
 *   one before. It lists them as well when watches keep ending early and nothing has arrived for twice the deadline. After a
 *   single watch that ended early it only reads the newest resourceVersion.
 * - A rewind means that etcd was restored from an older snapshot. The reflector notices it when a list, or an object in the
 *   list, is older than before. It then calls `onRewind`, unless another reflector noticed the rewind first, and emits every
 *   object of the new list again.
 *
 * Assumes that lists are consistent reads, and that an API server sends a bookmark about once a minute (`#untilSilent`).
 *
 * A reflector cannot notice a restore that only removed whole objects, if the restored etcd has already passed the
 * resourceVersion that the reflector saw last. The lease shows such a restore, since it is written every two seconds.
 */
import {
  type CacheEvent,
  type KubeApi,
  KubeError,
  type KubeObject,
  type WatchEvent,
  type Resource,
  type Troubles,
} from '../engine/ports.ts';
import type { KubeMeans } from './means.ts';
import { Backoff, type Clock, inTime, pause } from '../base/time.ts';
import { answerInTime, GarbledError, TooLargeError } from './client/failure.ts';
import { identityOf } from './client/parse.ts';
import { isOlderVersion } from '../base/json.ts';
import { messageOf } from '../base/text.ts';

/** The page size, deadlines and pauses of a reflector in production. */
const usualPace = {
  pageSize: 500,
  pageMs: 45_000,
  /** The shortest and the longest timeout of a watch. Each watch asks the API server for a random timeout in between. */
  watchSeconds: { least: 300, most: 600 },
  /**
   * If neither an event nor a bookmark arrives for this long, all objects are listed again. The API server sends a bookmark
   * about once a minute.
   */
  idleMs: 80_000,
  backoff: { firstMs: 800, longestMs: 30_000, forgetMs: 120_000 },
};

/** The resource that a reflector watches, how the reflector keeps it, and the functions that the reflector calls. */
export interface ReflectorOptions extends KubeMeans {
  readonly resource: Resource;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  /** If true, the reflector fetches and keeps only the metadata of objects. */
  readonly metadataOnly?: boolean;
  /** Reduces an object to the part that the reflector passes on and keeps. If undefined, this is the whole object. */
  readonly keep?: (object: KubeObject) => KubeObject;
  /** If true, the reflector keeps only the identity and the version of an object, because its listener keeps the object. */
  readonly isKeptElsewhere?: boolean;
  /** Gets failures that concern Kubernetes as a whole. If undefined, the reflector logs them itself. */
  readonly troubles?: Troubles | undefined;
  readonly onEvent: (event: CacheEvent) => void;
  /** Called with the reflector's name when the cluster was restored from a backup, before the restored objects are emitted. */
  readonly onRewind?: ((by: string) => void) | undefined;
  readonly onList?: (reason: ListReason) => void;
  readonly pace?: Partial<typeof usualPace>;
}

/** Lists and watches one resource until `stop()`, and reports each change to a listener. */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #pace: typeof usualPace;
  readonly #backoff: Backoff;
  #pageSize: number;
  readonly #cache: ObjectCache;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  #running: Promise<void> | undefined;
  /** The newest resourceVersion that a list or a watch has received. */
  #seen: string | undefined;
  #listBecause: ListReason | undefined = 'start';
  /** The reason why all objects are being listed now; undefined at other times. */
  #listing: ListReason | undefined;
  /**
   * How often another watch has reported a restore of the cluster (`rewound()`), and for how many of these reports all
   * objects have been listed again.
   */
  #rewinds = 0;
  #rewindsHandled = 0;
  #watching: AbortController | undefined;
  #lastHeardAt: number | undefined;
  #problem: string | undefined;
  /** True if the last watch ended before its timeout, or if the last list or watch failed. */
  #endedEarly = false;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#cache = new ObjectCache(options.isKeptElsewhere === true ? identityOf : (object) => object);
    this.#pace = { ...usualPace, ...options.pace };
    this.#pageSize = this.#pace.pageSize;
    this.#backoff = new Backoff(this.#pace.backoff, options.clock, options.entropy);
  }

  /** Returns the name of the watched resource. In health checks and metrics it is the name of the reflector. */
  get name(): string {
    const { plural, group } = this.#options.resource;
    return group === '' ? plural : `${plural}.${group}`;
  }

  get #who(): string {
    return `the watch of ${this.name}`;
  }

  /** Resolves when the first list of all objects is complete. */
  get synced(): Promise<void> {
    return this.#synced.promise;
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

  /**
   * Returns the monotonic time at which a page of a list, an event or a bookmark last arrived. Reading only the newest
   * resourceVersion does not count.
   */
  lastHeardAt(): number | undefined {
    return this.#lastHeardAt;
  }

  /** Returns the message of the last failure; undefined if the API server has answered since then. */
  problem(): string | undefined {
    return this.#problem;
  }

  /** Lists and emits all objects again, because another watch noticed that the cluster was restored from a backup. */
  rewound(): void {
    this.#rewinds += 1;
    this.#listBecause = 'rewind';
    this.#watching?.abort(new Relist('rewind'));
  }

  /** Starts the reflector; called once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Stops the reflector for good. Afterwards it emits nothing and sends no request. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#watching?.abort();
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

  /** Decides after a failure whether to list all objects or to watch again; returns how many milliseconds to wait before that. */
  #failed(error: unknown): number {
    this.#endedEarly = true;
    // Do not back off after a silent watch, because the wait for its events was already long. Wait only for a short random
    // time, so that the reflectors do not all list at the same moment.
    const waitMs =
      error instanceof SilenceError
        ? this.#pace.backoff.firstMs * this.#options.entropy.fraction()
        : this.#backoff.next(error instanceof KubeError ? error.retryInMs : undefined);
    this.#listBecause = listReasonOf(error) ?? this.#listBecause ?? this.#listing;
    const message = messageOf(error);
    const again = { reflector: this.name, waitMs: Math.round(waitMs), list: this.#listBecause };
    const isShared = error instanceof KubeError && this.#options.troubles?.failed(this.#who, error) === true;
    if (error instanceof KubeError || error instanceof Relist) {
      const isNews = !isShared && message !== this.#problem;
      this.#options.log[isNews ? 'info' : 'debug'](again, message);
    } else {
      this.#options.log.error({ ...again, err: error }, 'bug: the reflector failed with an unexpected error');
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
    const older = this.#seen !== undefined && isOlderVersion(version, this.#seen);
    const noticed = older || this.#cache.isAhead(objects);
    if (noticed && this.#rewinds === this.#rewindsHandled) this.#reportRewind(version);
    const rewound = noticed || rewinds > this.#rewindsHandled;
    this.#rewindsHandled = rewinds;
    this.#seen = version;
    this.#listing = undefined;
    const initial = !this.#isSynced;
    for (const event of this.#cache.replace(objects, { initial, rewound })) this.#emit(event);
    this.#isSynced = true;
    this.#synced.resolve();
  }

  /**
   * Lists all objects, page by page. If a page is too large, begins the list again with smaller pages. Later lists use the
   * smaller pages too.
   */
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
          `a page of ${plural} is too large: the list is read again in smaller pages`,
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

  /** True if the last list or watch failed or ended early, and nothing has arrived for twice the idle deadline. */
  #isSilent(): boolean {
    const heardAt = this.#lastHeardAt ?? Number.POSITIVE_INFINITY;
    return this.#endedEarly && this.#options.clock.monotonic() - heardAt >= 2 * this.#pace.idleMs;
  }

  /**
   * Checks that the resourceVersion of the cluster has not gone back. After the cluster was restored from a backup, a watch from
   * the earlier, higher version would wait for ever.
   */
  async #probe(): Promise<void> {
    const { resourceVersion } = await this.#page(1, undefined);
    this.#answered();
    if (this.#seen !== undefined && isOlderVersion(resourceVersion, this.#seen)) throw new Relist('rewind');
  }

  #page(limit: number, next: string | undefined): ReturnType<KubeApi['list']> {
    const { api, resource, clock } = this.#options;
    const request = api.list(resource, { ...selectionOf(this.#options), limit, continue: next });
    const what = `listing ${resource.plural}`;
    return answerInTime(clock, this.#pace.pageMs, { what, request, signal: this.#stop.signal });
  }

  /** Watches until the stream ends; returns true if the stream lasted until its timeout. */
  async #watch(): Promise<boolean> {
    const { api, resource, clock, entropy } = this.#options;
    const { least, most } = this.#pace.watchSeconds;
    const timeoutSeconds = Math.round(least + entropy.fraction() * (most - least));
    const resourceVersion = this.#seen;
    if (resourceVersion === undefined) throw new Relist('start');
    const startedAt = clock.monotonic();
    const controller = new AbortController();
    this.#watching = controller;
    // The watch has a signal of its own, which is also aborted when the reflector stops. Do not combine the two signals with
    // AbortSignal.any: Node would keep the combined signal in memory, and with it the reflector, until the watch ends.
    if (this.#stop.signal.aborted) controller.abort();
    const { signal } = controller;
    const stream = api.watch(resource, { ...selectionOf(this.#options), resourceVersion, timeoutSeconds, signal });
    try {
      for await (const event of this.#untilSilent(stream, signal)) {
        this.#received();
        this.#apply(event);
      }
      return clock.monotonic() - startedAt >= (timeoutSeconds - 1) * 1000;
    } finally {
      this.#watching = undefined;
      controller.abort();
    }
  }

  /**
   * Passes on the events of a watch, and throws when nothing arrives within the idle deadline.
   *
   * An API server sends a bookmark about once a minute, but only if it knows a resourceVersion that is newer than the one with
   * which the watch began. While no object of the resource changes, the API server learns a newer version only when somebody
   * lists objects, since a plain etcd reports its version only every ten minutes. So when a new watch has been silent for half
   * of the deadline, `#probe` lists one object. This makes the API server send a bookmark. If a watch is silent for the whole
   * deadline all the same, the watch is broken, or a proxy on the way holds its data back.
   *
   * Why: docs/design/polling-and-budget.md#list-all-objects-when-a-watch-has-been-silent-for-80-seconds
   */
  async *#untilSilent(events: AsyncIterable<WatchEvent>, signal: AbortSignal): AsyncGenerator<WatchEvent, void, void> {
    const { clock, resource } = this.#options;
    const { idleMs } = this.#pace;
    const stream = events[Symbol.asyncIterator]();
    let receivedAt = clock.monotonic();
    /** Waits for the next event; returns undefined when the event does not arrive in time. */
    const arriving = async (coming: ReturnType<typeof stream.next>, ms: number) =>
      (await inTime(clock, Math.max(0, receivedAt + ms - clock.monotonic()), coming, signal))?.value;
    try {
      for (let hasReceived = false; ; hasReceived = true) {
        const coming = stream.next();
        const early = hasReceived ? undefined : await arriving(coming, idleMs / 2);
        if (!hasReceived && early === undefined) await this.#probe();
        const next = early ?? (await arriving(coming, idleMs));
        if (next === undefined)
          throw new SilenceError(`watching ${resource.plural}: the watch was silent for ${idleMs} ms`);
        if (next.done === true) return;
        yield next.value;
        receivedAt = clock.monotonic();
      }
    } finally {
      // Do not wait until the stream is closed: if closing it hangs, the reflector would hang too.
      stream.return?.().catch(() => undefined);
    }
  }

  #apply(event: WatchEvent): void {
    switch (event.type) {
      case 'ERROR':
        if (event.code === 410) throw new Relist('gone');
        throw new KubeError('unavailable', `watching ${this.#options.resource.plural}: stream error ${event.code}`);
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

  /**
   * Records the newest resourceVersion. Throws if it is older than the one that was recorded before. This happens after a
   * restore of the cluster from a backup.
   */
  #advance(version: string): void {
    if (this.#seen !== undefined && isOlderVersion(version, this.#seen)) throw new Relist('backwards');
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
    this.#options.log.warn(fields, 'the cluster was restored from a backup: all objects are listed and checked again');
    this.#callListener(() => this.#options.onRewind?.(this.name));
  }

  #callListener(tell: () => void): void {
    if (this.#stop.signal.aborted) return;
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ reflector: this.name, err: error }, 'bug: a listener of the reflector failed');
    }
  }
}

/** The reasons for which a reflector lists all objects. */
export type ListReason = 'start' | 'gone' | 'garbled' | 'backwards' | 'silent' | 'rewind';

/** Thrown to end a watch, so that every object is listed again. */
class Relist extends Error {
  override readonly name = 'Relist';
  readonly reason: ListReason;

  constructor(reason: ListReason) {
    super(`listing again: ${reason}`);
    this.reason = reason;
  }
}

/** Returns the reason why all objects must be listed again after a failure; undefined when it is enough to open the watch again. */
function listReasonOf(error: unknown): ListReason | undefined {
  if (error instanceof Relist) return error.reason;
  if (error instanceof SilenceError) return 'silent';
  if (error instanceof GarbledError) return 'garbled';
  return error instanceof KubeError && error.reason === 'gone' ? 'gone' : undefined;
}

/**
 * Thrown when a watch has sent nothing within its deadline. The reason of this error is `unavailable`, so the error counts as a
 * sign that Kubernetes does not answer.
 */
class SilenceError extends KubeError {
  constructor(message: string) {
    super('unavailable', message);
    this.name = 'SilenceError';
  }
}

/**
 * Returns the options that are the same for every list and watch of a reflector: the namespace, the label selector, and whether
 * only metadata is requested.
 */
function selectionOf({ namespace, labelSelector, metadataOnly }: ReflectorOptions) {
  return { namespace, labelSelector, metadataOnly };
}

/**
 * Keeps the newest known version of every object of one resource, and returns the events that a change leads to.
 *
 * Guarantees: a watch never replaces a version of an object with an older version. If an object was deleted and created again,
 * the events are `gone` for the old object and then `applied` for the new one. A late event about the deleted object does not
 * change the new one.
 */
class ObjectCache {
  #objects = new Map<string, KubeObject>();
  readonly #part: (object: KubeObject) => KubeObject;

  /** `part` returns the part of an object that the cache keeps, with at least its identity and its version. */
  constructor(part: (object: KubeObject) => KubeObject) {
    this.#part = part;
  }

  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  values(): Iterable<KubeObject> {
    return this.#objects.values();
  }

  /** Adds an object, or a new version of an object, to the cache. Returns the events to emit. */
  apply(object: KubeObject): readonly CacheEvent[] {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = this.#objects.get(key);
    if (known !== undefined && !isOlderVersion(known.metadata.resourceVersion, object.metadata.resourceVersion)) {
      return [];
    }
    this.#objects.set(key, this.#part(object));
    const applied = { is: 'applied', object, initial: false } satisfies CacheEvent;
    if (known === undefined || known.metadata.uid === object.metadata.uid) return [applied];
    return [{ is: 'gone', object: known }, applied];
  }

  /** Removes a deleted object from the cache; `object` is its last version. */
  remove(object: KubeObject): readonly CacheEvent[] {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = this.#objects.get(key);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return [];
    this.#objects.delete(key);
    return [{ is: 'gone', object }];
  }

  /**
   * True if one of the given objects is older than the cached version of the same object, as after a restore of the cluster
   * from a backup.
   */
  isAhead(objects: readonly KubeObject[]): boolean {
    return objects.some(({ metadata }) => {
      const known = this.get(metadata.namespace, metadata.name)?.metadata;
      return known?.uid === metadata.uid && isOlderVersion(metadata.resourceVersion, known.resourceVersion);
    });
  }

  /**
   * Replaces all objects with a complete list. After the cluster was restored from a backup, every object counts as changed: it
   * may differ although its resourceVersion is the same as before.
   */
  replace(objects: readonly KubeObject[], how: { readonly initial: boolean; readonly rewound: boolean }): CacheEvent[] {
    const before = this.#objects;
    const now = new Map(
      objects.map((object) => [keyOf(object.metadata.namespace, object.metadata.name), object] as const),
    );
    this.#objects = new Map([...now].map(([key, object]) => [key, this.#part(object)]));
    const events: CacheEvent[] = [];
    for (const [key, known] of before) {
      if (now.get(key)?.metadata.uid !== known.metadata.uid) events.push({ is: 'gone', object: known });
    }
    for (const [key, object] of now) {
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

// ---- health of reflectors --------------------------------------------------------------------------------------

/** The part of a reflector that health checks and metrics use. */
export type Watched = Pick<Reflector, 'name' | 'isSynced' | 'lastHeardAt' | 'problem'>;

/**
 * If neither an event nor a bookmark has arrived for this long, the watch counts as silent, and the process counts as not
 * ready.
 */
const silentAfterMs = 180_000;

/** Returns the milliseconds since a reflector last received data; undefined before its first list. */
function ageOf(reflector: Watched, clock: Clock): number | undefined {
  const heardAt = reflector.lastHeardAt();
  return heardAt === undefined ? undefined : clock.monotonic() - heardAt;
}

/** Returns how long ago each reflector last received data. The keys of the map are the names of the reflectors. */
export function agesOf(reflectors: readonly Watched[], clock: Clock): ReadonlyMap<string, number | undefined> {
  return new Map(reflectors.map((reflector) => [reflector.name, ageOf(reflector, clock)]));
}

/** Returns the reasons why the process is not ready, one sentence for each reflector; an empty list when the process is ready. */
export function complaintsOf(reflectors: readonly Watched[], clock: Clock): readonly string[] {
  return reflectors.flatMap((reflector) => {
    const problem = reflector.problem();
    const because = problem === undefined ? '' : ` (${problem})`;
    if (!reflector.isSynced) return [`${reflector.name}: the objects are not listed yet${because}`];
    const ageMs = ageOf(reflector, clock) ?? Number.POSITIVE_INFINITY;
    return ageMs > silentAfterMs ? [`${reflector.name}: the watch is silent${because}`] : [];
  });
}
