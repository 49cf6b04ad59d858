/**
 * Holds the store, the clock and the timers of the simulator. A real clock follows wall time; a virtual clock moves only when a request
 * advances it. With both, timers fire in the order of their times, each in a transaction of its own.
 */
import type { Fires } from './area.ts';
import { areas, collections } from './areas.ts';
import type { Journal, KeptState } from './store/journal.ts';
import { type LoggedRequest, RequestLog } from './store/requests.ts';
import { type RequestLine, type SavedStep, type SavedWorld, settings } from './store/saved.ts';
import { type Cause, Store, type Timer, timers, type World } from './store/store.ts';

/** The clock of the simulator: `real` follows wall time, `virtual` moves only when a request advances it. */
export type ClockMode = 'real' | 'virtual';

/** The time at which a virtual clock starts. */
export const virtualStart = Date.UTC(2026, 0, 1);

const longestSleepMs = 2 ** 31 - 1;
/** The most work of timers that one advance of the clock may cause: about 15 seconds of computing. */
const mostWork = 2_500_000;
const sliceMs = 20;

interface ClockworkParts {
  readonly mode: ClockMode;
  readonly wallNow: () => number;
  readonly journal: Journal | undefined;
  readonly log: (line: string) => void;
}

/** Owns the store and the clock. Requests change the world of the simulator through `transact`. */
export class Clockwork {
  readonly store: Store;
  readonly requests = new RequestLog();
  readonly mode: ClockMode;
  readonly #parts: ClockworkParts;
  readonly #fires = new Map<string, Fires>(areas.flatMap(({ timers = {} }) => Object.entries(timers)));
  /** Called with every commit and with every public request, to write them to disk. */
  onLine: (line: SavedStep | RequestLine) => void = () => undefined;
  #sleep: NodeJS.Timeout | undefined;
  #stopped = false;
  /** Settles when no request is advancing the clock. A second request waits until the first one has advanced it. */
  #advancing: Promise<unknown> = Promise.resolve();

  constructor(parts: ClockworkParts) {
    this.#parts = parts;
    this.mode = parts.mode;
    this.store = new Store(collections);
    this.store.onStep = (step) => this.#keep(step);
  }

  get now(): number {
    return this.mode === 'virtual' ? this.store.now : Math.max(this.store.now, this.#parts.wallNow());
  }

  /** Replaces the world in memory and on disk, and empties the request log. */
  load(world: SavedWorld): void {
    this.store.load(world);
    this.requests.clear();
    this.#rewrite();
    this.catchUp();
  }

  /** Restores the state that an earlier run left on disk. */
  resume({ world, requests: kept, lines }: KeptState): void {
    const { requests } = this;
    this.store.load(world);
    requests.resume(kept);
    for (const line of lines) {
      if ('request' in line) requests.add(line.request);
      else this.store.replay(line);
    }
    this.#rewrite();
    this.catchUp();
  }

  /** Runs one transaction at the current time. */
  transact<R>(cause: Cause | undefined, work: (world: World) => R): { result: R; committed: boolean } {
    const done = this.store.transact(this.now, cause, work);
    this.#arm();
    return done;
  }

  /** Adds a public request to the request log, in memory and on disk. */
  logRequest(request: LoggedRequest): void {
    this.requests.add(request);
    this.#keep({ request });
  }

  /** Fires all timers that are due now. */
  catchUp(): void {
    this.#fireUntil(this.now);
    this.#arm();
  }

  /** Advances the virtual clock at once, without serving requests meanwhile. */
  advance(ms: number): void {
    const until = this.store.now + ms;
    this.#fireUntil(until);
    this.#standAt(until);
  }

  /** Returns undefined if the clock may advance by `ms` at once, else the longest time by which it may advance. */
  tooMuchFor(ms: number): number | undefined {
    const work = areas.reduce((sum, area) => sum + (area.workIn?.(this.store, ms) ?? 0), 0);
    return work <= mostWork ? undefined : Math.floor((ms * mostWork) / work);
  }

  /**
   * Advances the virtual clock in slices, and lets other requests be served between two slices. The advance ends early when the simulator
   * closes or the world is replaced. Even then, every timer that is due by the time of the clock has fired.
   */
  async advanceInSlices(ms: number): Promise<'arrived' | 'stopped'> {
    const turn = this.#advancing.then(() => this.#advanceSlices(ms));
    this.#advancing = turn.catch(() => undefined);
    return turn;
  }

  /** Stops the clock before the simulator closes. */
  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when every commit is on disk. */
  durable(): Promise<void> | undefined {
    const { journal } = this.#parts;
    if (journal?.overgrown === true) this.#rewrite();
    return journal?.flushed();
  }

  async close(): Promise<void> {
    this.stop();
    clearTimeout(this.#sleep);
    await this.#advancing;
    this.#rewrite();
    await this.#parts.journal?.close();
  }

  #keep(line: SavedStep | RequestLine): void {
    this.#parts.journal?.append(line);
    this.onLine(line);
  }

  #rewrite(): void {
    const state = { ...this.store.head(), ledger: this.store.ledger.packed(), requests: this.requests.kept() };
    this.#parts.journal?.rewrite(state);
  }

  async #advanceSlices(ms: number): Promise<'arrived' | 'stopped'> {
    if (this.#stopped) return 'stopped';
    const { epoch } = this.store.recent;
    const until = this.store.now + ms;
    while (this.#fireUntil(until, performance.now() + sliceMs)) {
      await this.durable();
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#stopped || this.store.recent.epoch !== epoch) return 'stopped';
    }
    this.#standAt(until);
    return 'arrived';
  }

  #standAt(moment: number): void {
    this.store.transact(moment, undefined, (world) => world.of(settings).put({ key: 'clock', value: moment }));
  }

  /** Fires the timers that are due by `until`, but stops at the wall time `wallEnd`; tells if any of them are left. */
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
        world.of(timers).remove(timer.timerId);
        const fires = this.#fires.get(timer.kind);
        if (fires === undefined) throw new Error(`no area knows the timer "${timer.kind}"`);
        fires(world, timer.data as never);
      });
    } catch (error) {
      this.#parts.log(`timer ${timer.kind}: ${String(error)}`);
      this.store.transact(timer.at, undefined, (world) => world.of(timers).remove(timer.timerId));
    }
  }

  /** Fires the timers that are due. A state file that cannot be written makes every later request fail, but does not end the process. */
  #wake(): void {
    try {
      this.catchUp();
    } catch (error) {
      this.#parts.log(`a timer failed: ${String(error)}`);
    }
  }

  #arm(): void {
    if (this.mode === 'virtual' || this.#stopped) return;
    clearTimeout(this.#sleep);
    const next = this.store.nextTimer();
    if (next === undefined) return;
    const ms = Math.min(Math.max(0, next.at - this.now), longestSleepMs);
    this.#sleep = setTimeout(() => this.#wake(), ms).unref();
  }
}
