/**
 * The engine under the interface: the store, its clock and what happens by itself. The clock is either the wall's or stands still until
 * it is told to advance; either way every timer fires in the order of time, in a transaction of its own at its own moment.
 */
import type { Fires } from './area.ts';
import { areas, collections } from './areas.ts';
import type { Journal } from './store/journal.ts';
import { type KeptRequests, type LoggedRequest, RequestLog } from './store/requests.ts';
import { type Commit, type RequestLine, type SavedStep, type SavedWorld, settings } from './store/saved.ts';
import { type Cause, Store, type World } from './store/store.ts';
import type { Timer } from './store/timers.ts';

/** Which of the two clocks runs. */
export type ClockMode = 'real' | 'virtual';

/** The moment at which a virtual clock starts. */
export const virtualStart = Date.UTC(2026, 0, 1);

const longestSleepMs = 2 ** 31 - 1;
/** About a quarter of a minute. */
const mostWork = 2_500_000;
const sliceMs = 20;
/** The last moment whose date has four digits for its year. */
const lastMoment = Date.UTC(9999, 11, 31);

interface Parts {
  readonly mode: ClockMode;
  readonly wallNow: () => number;
  readonly journal: Journal | undefined;
  readonly log: (line: string) => void;
}

/** Owns the store; everything that changes the world goes through `transact`. */
export class Clockwork {
  readonly store: Store;
  readonly requests = new RequestLog();
  readonly mode: ClockMode;
  readonly #parts: Parts;
  readonly #fires = new Map<string, Fires>();
  #sleep: NodeJS.Timeout | undefined;
  #closed = false;
  #stopped = false;
  /** Settles when the clock advances no more: one request after the other lets time pass. */
  #advancing: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.mode = parts.mode;
    this.store = new Store(collections);
    for (const area of areas) {
      for (const [kind, fires] of Object.entries(area.timers ?? {})) this.#fires.set(kind, fires);
    }
    this.store.onStep = (step) => parts.journal?.append(step);
    this.requests.onKept = (request) => this.#keep(request);
  }

  get now(): number {
    return this.mode === 'virtual' ? this.store.now : Math.max(this.store.now, this.#parts.wallNow());
  }

  /** Replaces the world, and what is on disk, by another one; the request log begins anew. */
  load(world: SavedWorld): void {
    this.store.load(world);
    this.requests.clear();
    this.requests.skipTo(lastRequestOf(world.ledger));
    this.#rewrite();
    this.catchUp();
  }

  /** Resumes from a state on disk. */
  resume(world: SavedWorld, kept: KeptRequests | undefined, lines: readonly (SavedStep | RequestLine)[]): void {
    const { requests } = this;
    this.store.load(world);
    requests.resume(kept ?? noRequests(lastRequestOf(world.ledger)));
    for (const line of lines) {
      if ('request' in line) {
        requests.replay(line.request);
      } else {
        this.store.replay(line);
        requests.skipTo(lastRequestOf(line.ledger));
      }
    }
    this.#rewrite();
    this.catchUp();
  }

  /** One transaction, now. */
  transact<R>(cause: Cause | undefined, work: (world: World) => R): { result: R; committed: boolean } {
    const done = this.store.transact(this.now, cause, work);
    this.#rewriteIfOvergrown();
    this.#arm();
    return done;
  }

  /** Fires the timers that are due, before anything else happens. */
  catchUp(): void {
    this.#fireUntil(this.now);
    this.#arm();
  }

  /** Lets virtual time pass, all of it before anything else happens. */
  advance(ms: number): void {
    const until = this.store.now + ms;
    this.#fireUntil(until);
    this.#standAt(until);
  }

  /** The most virtual time that can pass at once; undefined when so much can. */
  tooMuchFor(ms: number): number | undefined {
    const left = lastMoment - this.store.now;
    const work = areas.reduce((sum, area) => sum + (area.workIn?.(this.store, ms) ?? 0), 0);
    if (ms <= left && work <= mostWork) return undefined;
    return Math.max(0, Math.min(left, work === 0 ? left : Math.floor((ms * mostWork) / work)));
  }

  /**
   * Lets virtual time pass in slices: between two of them other requests are served, and it stops when the simulator ends, when the world
   * is replaced or when `isGivenUp` says so. However it stops, everything due by the time of the clock has happened, and nothing else.
   */
  async advanceInSlices(ms: number, isGivenUp: () => boolean): Promise<'arrived' | 'stopped'> {
    const turn = this.#advancing.then(() => this.#advanceSlices(ms, isGivenUp));
    this.#advancing = turn.catch(() => undefined);
    return turn;
  }

  /** Stops long work: the simulator is about to close. */
  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when everything that has happened is on disk; undefined when it is. */
  durable(): Promise<void> | undefined {
    return this.#parts.journal?.flushed();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopped = true;
    clearTimeout(this.#sleep);
    await this.#advancing;
    this.#rewrite();
    await this.#parts.journal?.close();
  }

  #keep(request: LoggedRequest): void {
    this.#parts.journal?.appendLazily({ request });
    this.#rewriteIfOvergrown();
  }

  #rewrite(): void {
    const state = { ...this.store.head(), ledger: this.store.ledger.packed(), requests: this.requests.kept() };
    this.#parts.journal?.rewrite(state);
  }

  #rewriteIfOvergrown(): void {
    if (this.#parts.journal?.overgrown === true) this.#rewrite();
  }

  async #advanceSlices(ms: number, isGivenUp: () => boolean): Promise<'arrived' | 'stopped'> {
    if (this.#stopped) return 'stopped';
    const { epoch } = this.store.recent;
    const until = this.store.now + ms;
    while (this.#fireUntil(until, performance.now() + sliceMs)) {
      this.#rewriteIfOvergrown();
      await this.durable();
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#stopped || isGivenUp() || this.store.recent.epoch !== epoch) return 'stopped';
    }
    this.#standAt(until);
    return 'arrived';
  }

  #standAt(moment: number): void {
    this.store.transact(moment, undefined, (world) => world.of(settings).put({ key: 'clock', value: moment }));
  }

  /** Fires due timers until a moment of wall time; tells if any are left. */
  #fireUntil(until: number, wallEnd = Infinity): boolean {
    for (let timer = this.store.nextTimer(); timer !== undefined && timer.at <= until; timer = this.store.nextTimer()) {
      if (performance.now() > wallEnd) return true;
      this.#fire(timer);
    }
    return false;
  }

  #fire(timer: Timer): void {
    try {
      this.store.transact(timer.at, undefined, (world) => {
        world.cancel(timer.timerId);
        const fires = this.#fires.get(timer.kind);
        if (fires === undefined) throw new Error(`no area knows the timer "${timer.kind}"`);
        fires(world, timer.data as never);
      });
    } catch (error) {
      this.#parts.log(`timer ${timer.kind}: ${String(error)}`);
      this.store.transact(timer.at, undefined, (world) => world.cancel(timer.timerId));
    }
  }

  #arm(): void {
    if (this.mode === 'virtual' || this.#closed) return;
    clearTimeout(this.#sleep);
    const next = this.store.nextTimer();
    if (next === undefined) return;
    const ms = Math.min(Math.max(0, next.at - this.now), longestSleepMs);
    this.#sleep = setTimeout(() => this.catchUp(), ms).unref();
  }
}

/** The number of the last request that committed something; 0 when none did. */
function lastRequestOf(ledger: readonly Commit[]): number {
  return ledger.reduce((last, { requestSeq }) => Math.max(last, requestSeq ?? 0), 0);
}

/** The request log of a state that was written without one: everything so far is gone. */
function noRequests(lastSeq: number): KeptRequests {
  return { lastSeq, counts: [], lines: { gone: lastSeq, sealed: [], open: [] } };
}
