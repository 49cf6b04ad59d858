/**
 * Manages the data, the clock and the timers of the simulator. A real clock follows wall time; a virtual clock stands still until it is
 * advanced. With both clocks, timers fire in the order of their times, each in its own transaction.
 */
import type { Fires } from './area.ts';
import { areas, collections } from './areas.ts';
import type { Journal, KeptState } from '../store/journal.ts';
import { type LoggedRequest, RequestLog } from '../store/requests.ts';
import { type RequestLine, type SavedStep, type SavedWorld, settings } from '../store/saved.ts';
import { type Cause, Store, type Timer, timers, type World } from '../store/store.ts';

/** The clock of the simulator: `real` follows wall time, `virtual` stands still until it is advanced. */
export type ClockMode = 'real' | 'virtual';

/** The time at which a virtual clock starts. */
export const virtualStart = Date.UTC(2026, 0, 1);

const longestSleepMs = 2 ** 31 - 1;
/**
 * The most work that timers may cause during one advance of the clock, measured in firings of a simple timer. The
 * simulator needs about 15 seconds for this much work.
 */
const mostWork = 2_500_000;
const sliceMs = 20;

interface ClockworkParts {
  readonly mode: ClockMode;
  readonly wallNow: () => number;
  readonly journal: Journal | undefined;
  readonly log: (line: string) => void;
}

/** Owns the simulator's data and its clock. Requests change the data through `transact`. */
export class Clockwork {
  readonly store: Store;
  readonly requests = new RequestLog();
  readonly mode: ClockMode;
  readonly #parts: ClockworkParts;
  readonly #fires = new Map<string, Fires>(areas.flatMap(({ timers = {} }) => Object.entries(timers)));
  /** This function receives all stored changes and all logged requests, and sends them to the pages that listen to `GET /_sim/events`. */
  onLine: (line: SavedStep | RequestLine) => void = () => undefined;
  #sleep: NodeJS.Timeout | undefined;
  #stopped = false;
  /**
   * A promise that settles once no request is advancing the clock. A new request to advance the clock first waits for this promise, so that
   * two requests never advance the clock at the same time.
   */
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

  /** Replaces the simulator's data in memory and on disk, and empties the request log. */
  load(world: SavedWorld): void {
    this.store.load(world);
    this.requests.clear();
    this.#rewrite();
    this.catchUp();
  }

  /** Restores the state that an earlier run of the simulator wrote to disk. */
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

  /** Runs `work` in one transaction, at the current time of the simulator's clock. */
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

  /** Advances the virtual clock in one go, without serving requests meanwhile. */
  advance(ms: number): void {
    const until = this.store.now + ms;
    this.#fireUntil(until);
    this.#standAt(until);
  }

  /**
   * Checks if the clock may advance by `ms` milliseconds in one request, and returns undefined if it may. If the advance would cause too
   * much work, returns the longest time in milliseconds by which the clock may advance.
   */
  tooMuchFor(ms: number): number | undefined {
    const work = areas.reduce((sum, area) => sum + (area.workIn?.(this.store, ms) ?? 0), 0);
    return work <= mostWork ? undefined : Math.floor((ms * mostWork) / work);
  }

  /**
   * Advances the virtual clock in short slices, so that the simulator can serve other requests in between. The advance
   * stops early when the simulator closes or its data is replaced. Every timer up to the time that the clock has
   * reached by then has fired.
   */
  async advanceInSlices(ms: number): Promise<'arrived' | 'stopped'> {
    const turn = this.#advancing.then(() => this.#advanceSlices(ms));
    this.#advancing = turn.catch(() => undefined);
    return turn;
  }

  /** Stops the timers and interrupts a running advance of the clock, because the simulator is about to close. */
  stop(): void {
    this.#stopped = true;
  }

  /** Returns a promise that resolves when all changes are on disk; returns undefined if the simulator has no state file. */
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

  /**
   * Fires the timers that are due by the clock time `until`, but stops at the wall time `wallEnd`. Returns true if some of these timers
   * have not fired yet.
   */
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
        if (fires === undefined) throw new Error(`the simulator has no timer of the kind "${timer.kind}"`);
        fires(world, timer.data as never);
      });
    } catch (error) {
      this.#parts.log(`timer ${timer.kind}: ${String(error)}`);
      this.store.transact(timer.at, undefined, (world) => world.of(timers).remove(timer.timerId));
    }
  }

  /** Fires the timers that are due. An error, such as a state file that cannot be written, is logged and does not end the process. */
  #wake(): void {
    try {
      this.catchUp();
    } catch (error) {
      this.#parts.log(`the timers that are due did not run, or their changes could not be saved: ${String(error)}`);
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
