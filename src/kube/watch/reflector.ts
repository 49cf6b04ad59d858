/**
 * The reflector: a local copy of all objects of one resource, kept true by one list and one watch.
 *
 * Guarantees
 * - It never stops by itself. Whatever a list or a watch does (refused, reset, garbage, silence), it tries again, with an
 *   endless backoff that has jitter and keeps to `Retry-After`. Only `stop()` ends it, at whatever it is waiting for.
 * - Events are told in order, once, and never go back in time: within a session resourceVersions only grow, and an object that
 *   was deleted and recreated, even unseen, is told as gone and then as applied. A listener that throws is a bug that is
 *   logged; it neither loses nor repeats an event.
 * - It is never deaf. A stream that says nothing, neither an event nor a bookmark, for the idle deadline is followed by a list:
 *   with an API server that accepts watches and is mute a change is unseen for the idle deadline and one list. So are streams
 *   that end before their time again and again while nothing is heard for twice as long. One that ends before its time is
 *   followed by a look at the newest resourceVersion, and anything odd (410, a line that cannot be read, a version that runs
 *   backwards) by a list.
 * - A rewind (etcd restored from an older snapshot) shows as a list, or an object in it, that is older than what was seen. It
 *   is told through `onRewind`, unless it was told from elsewhere, and the new world is accepted, with every object told again.
 *
 * Assumes that lists are consistent reads, and that an API server says about once a minute how far it is (words-in-time.ts).
 *
 * A restored etcd that has already overtaken the version seen here, and lost nothing but whole objects, looks like the old one;
 * the lease, which is written every two seconds, still tells.
 */
import {
  type Cache,
  type CacheEvent,
  type KubeApi,
  KubeError,
  type KubeObject,
  type WatchEvent,
} from '../../engine/ports.ts';
import { Backoff } from '../../base/backoff.ts';
import { ListAgain, listReasonOf } from './relist.ts';
import {
  type ListReason,
  type ReflectorOptions,
  type ReflectorPace,
  selectionOf,
  usualPace,
} from './reflector-options.ts';
import { compareVersions } from '../../base/resource-version.ts';
import { linked, pause, within } from '../wait.ts';
import { SilenceError, wordsInTime } from './watch-deadline.ts';
import { World } from './object-cache.ts';

export class Reflector implements Cache {
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions;
  readonly #pace: ReflectorPace;
  readonly #backoff: Backoff;
  readonly #world = new World();
  readonly #stop = new AbortController();
  readonly #markSynced: () => void;
  #isSynced = false;
  #running: Promise<void> | undefined;
  /** The newest resourceVersion of this session. */
  #seen: string | undefined;
  #listBecause: ListReason | undefined = 'start';
  /** Why the list that is under way was begun. */
  #listing: ListReason | undefined;
  /** How often we were told of a rewind, and how often we listed after that. */
  #rewinds = 0;
  #rewindsHandled = 0;
  #watching: AbortController | undefined;
  #lastHeardAt: number | undefined;
  #problem: string | undefined;
  /** The last stream did not end in its own time. */
  #doubtful = false;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#pace = { ...usualPace, ...options.pace };
    this.#backoff = new Backoff(this.#pace.backoff, options.clock, options.entropy);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#markSynced = resolve;
  }

  /** What is watched, for health and metrics. */
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
    return this.#world.size;
  }

  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#world.get(namespace, name);
  }

  values(): Iterable<KubeObject> {
    return this.#world.values();
  }

  /** Monotonic time of the last list page, event or bookmark; a look tells nothing of the objects. */
  lastHeardAt(): number | undefined {
    return this.#lastHeardAt;
  }

  /** What went wrong last, until something is heard again. */
  problem(): string | undefined {
    return this.#problem;
  }

  /** Told from elsewhere that the cluster went back in time: everything is listed, and told again whatever its version. */
  rewound(): void {
    this.#rewinds += 1;
    this.#listBecause = 'rewind';
    this.#watching?.abort(new ListAgain('rewind'));
  }

  /** Begins; called once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends for good: nothing is told afterwards, and no request is begun. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let waitMs = 0;
      try {
        if (this.#isDeaf()) this.#listBecause ??= 'silent';
        if (this.#listBecause === undefined && this.#doubtful) await this.#look();
        if (this.#listBecause !== undefined) await this.#list(this.#listBecause);
        if (this.#listBecause !== undefined) continue;
        this.#doubtful = false;
        if (!(await this.#watch())) {
          this.#doubtful = true;
          waitMs = this.#backoff.next();
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        waitMs = this.#failed(error);
      }
      await pause(this.#options.clock, waitMs, this.#stop.signal);
    }
  }

  /** Decides what a failure means; returns how long to wait. */
  #failed(error: unknown): number {
    this.#doubtful = true;
    // Silence has lasted long enough; what many wait for at one time they need not ask at one time.
    const waitMs =
      error instanceof SilenceError
        ? this.#pace.backoff.firstMs * this.#options.entropy.fraction()
        : this.#backoff.next(error instanceof KubeError ? error.retryInMs : undefined);
    this.#listBecause = listReasonOf(error) ?? this.#listBecause ?? this.#listing;
    const message = error instanceof Error ? error.message : 'unknown failure';
    const again = { reflector: this.name, waitMs: Math.round(waitMs), list: this.#listBecause };
    const isShared = error instanceof KubeError && this.#options.troubles?.failed(this.#who, error) === true;
    if (error instanceof KubeError || error instanceof ListAgain) {
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
    const objects: KubeObject[] = [];
    let version: string | undefined;
    let next: string | undefined;
    do {
      const page = await this.#page(this.#pace.pageSize, next);
      this.#heard();
      for (const object of page.items) objects.push(this.#options.keep?.(object) ?? object);
      version ??= page.resourceVersion;
      next = page.continue;
    } while (next !== undefined);
    const older = this.#seen !== undefined && compareVersions(version, this.#seen) < 0;
    const noticed = older || this.#world.isAhead(objects);
    if (noticed && this.#rewinds === this.#rewindsHandled) this.#tellRewind(version);
    const rewound = noticed || rewinds > this.#rewindsHandled;
    this.#rewindsHandled = rewinds;
    this.#seen = version;
    this.#listing = undefined;
    const initial = !this.#isSynced;
    for (const event of this.#world.replace(objects, { initial, rewound })) this.#tell(event);
    this.#isSynced = true;
    this.#markSynced();
  }

  /** Whether streams have broken one after the other for so long that something must have been heard if they were any good. */
  #isDeaf(): boolean {
    const heardAt = this.#lastHeardAt ?? Number.POSITIVE_INFINITY;
    return this.#doubtful && this.#options.clock.monotonic() - heardAt >= 2 * this.#pace.idleMs;
  }

  /** Looks at the newest version: after the cluster went back in time a watch would wait for ever. */
  async #look(): Promise<void> {
    const { resourceVersion } = await this.#page(1, undefined);
    this.#answered();
    if (this.#seen !== undefined && compareVersions(resourceVersion, this.#seen) < 0) throw new ListAgain('rewind');
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

  /** True when the stream lasted for as long as it was asked to. */
  async #watch(): Promise<boolean> {
    const { api, resource, clock, entropy } = this.#options;
    const { least, most } = this.#pace.watchSeconds;
    const timeoutSeconds = Math.round(least + entropy.fraction() * (most - least));
    const resourceVersion = this.#seen;
    if (resourceVersion === undefined) throw new ListAgain('start');
    const startedAt = clock.monotonic();
    const { controller, release } = linked(this.#stop.signal);
    this.#watching = controller;
    const { signal } = controller;
    const stream = api.watch(resource, { ...selectionOf(this.#options), resourceVersion, timeoutSeconds, signal });
    const what = `watching ${resource.plural}`;
    const look = () => this.#look();
    try {
      for await (const event of wordsInTime(stream, { clock, what, idleMs: this.#pace.idleMs, look, signal })) {
        this.#heard();
        this.#take(event);
      }
      return clock.monotonic() - startedAt >= (timeoutSeconds - 1) * 1000;
    } finally {
      this.#watching = undefined;
      controller.abort();
      release();
    }
  }

  #take(event: WatchEvent): void {
    switch (event.type) {
      case 'ERROR':
        if (event.code === 410) throw new ListAgain('gone');
        throw new KubeError('unavailable', `watching ${this.#options.resource.plural}: ${event.code} in the stream`);
      case 'BOOKMARK':
        this.#advance(event.resourceVersion);
        return;
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED': {
        this.#advance(event.object.metadata.resourceVersion);
        const object = this.#options.keep?.(event.object) ?? event.object;
        const events = event.type === 'DELETED' ? this.#world.remove(object) : this.#world.apply(object);
        for (const one of events) this.#tell(one);
      }
    }
  }

  /** Versions only grow; one that runs backwards is a confused server, or a cluster that went back in time. */
  #advance(version: string): void {
    if (this.#seen !== undefined && compareVersions(version, this.#seen) < 0) throw new ListAgain('backwards');
    this.#seen = version;
  }

  #heard(): void {
    this.#answered();
    this.#lastHeardAt = this.#options.clock.monotonic();
  }

  #answered(): void {
    if (this.#problem !== undefined) this.#options.troubles?.went(this.#who);
    this.#problem = undefined;
  }

  #tell(event: CacheEvent): void {
    this.#isolate(() => this.#options.onEvent(event));
  }

  #tellRewind(version: string): void {
    const fields = { reflector: this.name, seen: this.#seen, now: version };
    this.#options.log.warn(fields, 'the cluster went back in time: everything is looked at anew');
    this.#isolate(() => this.#options.onRewind?.(this.name));
  }

  #isolate(tell: () => void): void {
    if (this.#stop.signal.aborted) return;
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ reflector: this.name, err: error }, 'bug: a listener of the reflector threw');
    }
  }
}
