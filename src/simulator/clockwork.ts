/**
 * The engine under the interface: the store, its clock and what happens by itself. The clock is either the wall's or stands still until
 * it is told to advance; either way every timer fires in the order of time, in a transaction of its own at its own moment.
 */
import type { Area, Fires } from './area.ts';
import type { AnyCollection } from './store/collection.ts';
import { faults } from './public/faults.ts';
import type { Journal } from './store/journal.ts';
import { accounts, credentials, memberships, regions, tokens } from './accounts/records.ts';
import { type SavedWorld, settings, type Step } from './store/saved.ts';
import { type Cause, Store, type World } from './store/store.ts';
import { type Timer, timers } from './store/timers.ts';

/** The collections that belong to no single area. */
const common: readonly AnyCollection[] = [
  settings,
  timers,
  faults,
  accounts,
  tokens,
  memberships,
  regions,
  credentials,
];

/** Every collection of a simulator with these areas. */
export function collectionsOf(areas: readonly Area[]): readonly AnyCollection[] {
  return [...common, ...areas.flatMap((area) => area.collections)];
}

/** The names that a saved world may use. */
export function collectionNames(areas: readonly Area[]): ReadonlySet<string> {
  return new Set(collectionsOf(areas).map(({ name }) => name));
}

/** Which of the two clocks runs. */
export type ClockMode = 'real' | 'virtual';

/** Where a virtual clock starts. */
export const virtualStart = Date.UTC(2026, 0, 1);

const longestSleepMs = 2 ** 31 - 1;
const mostFirings = 20_000_000;

interface Parts {
  readonly areas: readonly Area[];
  readonly mode: ClockMode;
  readonly wallNow: () => number;
  readonly journal: Journal | undefined;
  readonly log: (line: string) => void;
}

/** Owns the store; everything that changes the world goes through `transact`. */
export class Clockwork {
  readonly store: Store;
  readonly mode: ClockMode;
  readonly #parts: Parts;
  readonly #fires = new Map<string, Fires>();
  #sleep: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.mode = parts.mode;
    this.store = new Store(collectionsOf(parts.areas));
    for (const area of parts.areas) {
      for (const [kind, fires] of Object.entries(area.timers ?? {})) this.#fires.set(kind, fires);
    }
    this.store.onForget = (appEnvId) => {
      for (const area of parts.areas) area.forgetEnvironment?.(this.store, appEnvId);
    };
    this.store.onStep = (step) => parts.journal?.append(step);
  }

  get now(): number {
    return this.mode === 'virtual' ? this.store.now : Math.max(this.store.now, this.#parts.wallNow());
  }

  /** Replaces the world, and what is on disk, by another one. */
  load(world: SavedWorld, steps: readonly Step[] = []): void {
    this.store.load(world);
    for (const step of steps) this.store.replay(step);
    this.#parts.journal?.rewrite(this.store.save());
    this.catchUp();
  }

  /** One transaction, now. */
  transact<R>(cause: Cause | undefined, work: (world: World) => R): { result: R; committed: boolean } {
    const done = this.store.transact(this.now, cause, work);
    if (this.#parts.journal?.overgrown === true) this.#parts.journal.rewrite(this.store.save());
    this.#arm();
    return done;
  }

  /** Fires what is due; what happens next must not overtake it. */
  catchUp(): void {
    this.#fireUntil(this.now);
    this.#arm();
  }

  /** Lets virtual time pass. */
  advance(ms: number): void {
    const until = this.store.now + ms;
    this.#fireUntil(until);
    this.store.transact(until, undefined, (world) => world.of(settings).put({ key: 'clock', value: until }));
  }

  /** Resolves when everything that has happened is on disk; undefined when it is. */
  durable(): Promise<void> | undefined {
    return this.#parts.journal?.flushed();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#sleep);
    this.#parts.journal?.rewrite(this.store.save());
    await this.#parts.journal?.close();
  }

  #fireUntil(until: number): void {
    for (let fired = 0; ; fired += 1) {
      const timer = this.store.nextTimer();
      if (timer === undefined || timer.at > until) return;
      if (fired > mostFirings) throw new Error('timers without end');
      this.#fire(timer);
    }
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
