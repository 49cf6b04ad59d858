/**
 * Simulates the hosting service in memory, without sockets. `handle` takes a request and returns what a client would
 * receive. listen.ts serves a simulator over a network; tests call `handle` directly, with a virtual clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { collections } from './service/areas.ts';
import { BadOption } from './bad-option.ts';
import { type ClockMode, Clockwork, virtualStart } from './service/clockwork.ts';
import { controlPrefix, controlSurface, longestControlBody } from './control/routes.ts';
import { shownCommit, shownRequest } from './control/routes.ts';
import { addressOf, type HttpRequest, longestBody, type Reply, type Stream } from './http/exchange.ts';
import { faults } from './service/faults.ts';
import type { Journal, KeptState } from './store/journal.ts';
import { servePage } from './page/serve.ts';
import { publicInterface, publicPrefix } from './public/interface.ts';
import { changeReadings, defaultReadings, type Readings } from './store/readings.ts';
import type { Collection } from './store/collection.ts';
import { type SavedWorld, settings } from './store/saved.ts';
import { Store, timers } from './store/store.ts';
import { namedWorld, type StartWorld } from './service/worlds.ts';

/** The options of a simulator. All of them are optional. */
export interface SimulatorOptions {
  /** The data with which the simulator starts, unless it continues with a saved state. A reset loads this data. */
  readonly world?: StartWorld;
  /**
   * The state that an earlier run saved in its state file. The simulator continues with this state instead of `world`.
   */
  readonly resume?: KeptState;
  readonly clock?: ClockMode;
  /** Simulator options to set, with their values. Every other option has its value from the saved data, or its default value. */
  readonly readings?: Readonly<Record<string, unknown>>;
  /** The seed of generated ids: the same seed gives the same ids. */
  readonly seed?: string;
  /** Writes all changes to the state file. Without a journal, the state is only in memory. */
  readonly journal?: Journal;
  /** A delay for every public request, in milliseconds of wall time. */
  readonly latencyMs?: number;
  /** Waits for a number of milliseconds of wall time; used for delays. */
  readonly wait?: (ms: number) => Promise<void>;
  /**
   * Returns the wall time in milliseconds, for the real clock, for the rate limit and for the durations in the request
   * log.
   */
  readonly wallNow?: () => number;
  /** This function receives one line of text for each internal error of the simulator. */
  readonly log?: (line: string) => void;
}

/** A simulator that runs in this process; `handle` answers its requests. */
export type Simulator = ReturnType<typeof createSimulator>;

/** Creates a simulator that runs in this process. */
export function createSimulator(options: SimulatorOptions = {}) {
  const { wallNow = Date.now, latencyMs = 0 } = options;
  const { wait = sleep, log = () => undefined } = options;
  const { clock: mode = 'real', journal } = options;
  const clockwork = new Clockwork({ mode, wallNow, journal, log });
  const service = publicInterface({ clockwork, latencyMs, wait, wallNow, log });

  const start = (again: boolean, world = options.world ?? 'demo') => {
    clockwork.load(startWorld(options, world, mode === 'virtual' ? virtualStart : wallNow(), again));
    service.reset();
  };
  const { resume } = options;
  if (resume === undefined) start(false);
  else clockwork.resume({ ...resume, world: withReadings(resume.world, options) });

  const reset = (world?: StartWorld) => start(true, world);
  const control = controlSurface({ clockwork, reset, events: streamOf(clockwork), log });

  return {
    handle: (request: HttpRequest): Promise<Reply> => {
      const { path } = addressOf(request.url);
      if (path.startsWith(`${publicPrefix}/`)) return service.handle(request);
      if (path.startsWith(`${controlPrefix}/`)) return control(request);
      if (path === '/') return Promise.resolve(servePage(request));
      return Promise.resolve(service.nothingHere());
    },
    /** Advances the virtual clock by `ms` milliseconds. */
    advance: (ms: number) => clockwork.advance(ms),
    /** Returns the time of the simulator's clock. */
    now: () => clockwork.now,
    /** Replaces the simulator's data with the given data, or with the data of the option `world`. */
    reset,
    /** The simulator's data and its change log, for tests. */
    store: clockwork.store,
    /** Returns the maximum length of a request body in bytes, which depends on the URL of the request. */
    longestBody: (url: string) => (url.startsWith(controlPrefix) ? longestControlBody : longestBody),
    /** Interrupts a long advance of the clock, because the simulator is about to close. */
    stop: () => clockwork.stop(),
    close: () => clockwork.close(),
  };
}

function startWorld(options: SimulatorOptions, world: StartWorld, now: number, again: boolean): SavedWorld {
  if (typeof world === 'string') {
    const scratch = new Store(collections);
    return withReadings(namedWorld(scratch, world, now, options.seed ?? 'demo'), options);
  }
  const moved = options.clock === 'virtual' ? world : moveTimers(world, now);
  return withReadings(again ? forgetful(moved) : moved, options);
}

/** Sets the time of saved data to the present, and moves its timers so that each of them keeps its remaining delay. */
function moveTimers(world: SavedWorld, now: number): SavedWorld {
  const rows = rowsOf(world, timers).map((timer) => ({ ...timer, at: timer.at - world.now + now }));
  return { ...withRows(world, timers, rows), now };
}

/** Removes the change log and the faults from saved data that a reset loads. */
function forgetful(world: SavedWorld): SavedWorld {
  return { ...withRows(world, faults, []), ledger: [], ledgerSeq: 0 };
}

function withReadings(world: SavedWorld, options: SimulatorOptions): SavedWorld {
  const rows = rowsOf(world, settings);
  const kept = rows.find(({ key }) => key === 'readings')?.value as Readings | undefined;
  const readings = changeReadings({ ...defaultReadings(), ...kept }, options.readings ?? {});
  if (typeof readings === 'string') throw new BadOption(readings);
  const others = rows.filter(({ key }) => key !== 'readings');
  return withRows(world, settings, [{ key: 'readings', value: readings }, ...others]);
}

function rowsOf<T extends object>(world: SavedWorld, { name }: Collection<T>): readonly T[] {
  return (world.collections[name] ?? []) as readonly T[];
}

function withRows<T extends object>(world: SavedWorld, { name }: Collection<T>, rows: readonly T[]): SavedWorld {
  return { ...world, collections: { ...world.collections, [name]: rows } };
}

function streamOf(clockwork: Clockwork): Stream {
  const listeners = new Set<(event: string) => void>();
  const tell = (name: string, value: unknown) => {
    const event = `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
    for (const send of listeners) send(event);
  };
  clockwork.onLine = (line) => {
    if (listeners.size === 0) return;
    if ('request' in line) tell('request', shownRequest(line.request));
    else for (const commit of line.ledger) tell('ledger', shownCommit(commit));
  };
  return {
    kind: 'stream',
    subscribe: (send) => {
      listeners.add(send);
      return () => listeners.delete(send);
    },
  };
}
