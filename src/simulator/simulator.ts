/**
 * The service in a box, without sockets: `handle` takes a request and gives what a client would get. Over a network it is served by
 * http/listen.ts; tests call it directly, on a virtual clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { areas } from './areas.ts';
import { BadOption } from './bad-option.ts';
import { Clockwork, type ClockMode, collectionNames, collectionsOf, virtualStart } from './clockwork.ts';
import { accountRoutes, tokenRoutes } from './control/accounts.ts';
import { controlPrefix, ControlSurface, longestControlBody, ownRoutes, shownCommit } from './control/routes.ts';
import { shownRequest } from './control/routes.ts';
import { addressOf, type HttpRequest, longestBody, type Reply, type Stream } from './http/exchange.ts';
import { faultRoutes, faults } from './public/faults.ts';
import type { Journal } from './store/journal.ts';
import { servePage } from './page/serve.ts';
import { PublicInterface, publicPrefix } from './public/interface.ts';
import { changeReadings, defaultReadings, type Readings } from './readings.ts';
import { type KeptRequests, RequestLog } from './store/requests.ts';
import { type RequestLine, type SavedWorld, settings, type SavedStep } from './store/saved.ts';
import { Store } from './store/store.ts';
import { type Timer, timers } from './store/timers.ts';
import { namedWorld, type StartWorld } from './worlds.ts';

/** The options of a simulator; each has a default. */
export interface SimulatorOptions {
  /** The world it starts with and that a reset brings back. */
  readonly world?: StartWorld;
  /** A world to go on from, as it was left on disk. */
  readonly resume?: Resumed;
  readonly clock?: ClockMode;
  /** Readings by name, as on the command line. */
  readonly readings?: Readonly<Record<string, unknown>>;
  /** The same seed gives the same ids. */
  readonly seed?: string;
  /** The file that keeps every commit. */
  readonly journal?: Journal;
  /** Added to every public request, on wall time. */
  readonly latencyMs?: number;
  /** Lets wall time pass: delays. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Wall time: the real clock, rate windows, durations. */
  readonly wallNow?: () => number;
  /** Takes a line about every bug. */
  readonly log?: (line: string) => void;
}

/** A state from disk: the world, the request log, and what happened since both were written. */
interface Resumed {
  readonly world: SavedWorld;
  readonly requests?: KeptRequests;
  readonly lines: readonly (SavedStep | RequestLine)[];
}

/** A running simulator. */
export type Simulator = ReturnType<typeof createSimulator>;

/** Makes a simulator. */
export function createSimulator(options: SimulatorOptions = {}) {
  const { wallNow = Date.now, latencyMs = 0 } = options;
  const { wait = sleep, log = () => undefined } = options;
  const requests = new RequestLog();
  const { clock: mode = 'real', journal } = options;
  const clockwork = new Clockwork({ areas, mode, wallNow, journal, requests, log });
  const publicRoutes = areas.flatMap((area) => area.routes);
  const service = new PublicInterface({ clockwork, routes: publicRoutes, requests, latencyMs, wait, wallNow, log });

  const start = (again: boolean, world = options.world ?? 'demo') => {
    clockwork.load(startWorld(clockwork, options, world, again, wallNow));
    service.reset();
  };
  const { resume } = options;
  if (resume === undefined) start(false);
  else clockwork.resume(withReadings(resume.world, options), resume.requests, resume.lines);

  const common = [...accountRoutes, ...tokenRoutes, ...faultRoutes];
  const control = [...common, ...areas.flatMap((area) => area.control ?? [])];
  const reset = (world?: StartWorld) => start(true, world);
  const events = streamOf(clockwork.store, requests);
  const collections = collectionNames(areas);
  const own = ownRoutes({ clockwork, collections, requests, publicRoutes, controlRoutes: control, reset, events });
  const surface = new ControlSurface(clockwork, [...own, ...control], log);

  return {
    handle: (request: HttpRequest): Promise<Reply> => {
      const { path } = addressOf(request.url);
      if (path.startsWith(`${publicPrefix}/`)) return service.handle(request);
      if (path.startsWith(`${controlPrefix}/`)) return surface.handle(request);
      if (path === '/') return Promise.resolve(servePage(request));
      return Promise.resolve(service.broken(404, 'there is nothing at this path'));
    },
    /** Lets virtual time pass. */
    advance: (ms: number) => clockwork.advance(ms),
    /** The time of its clock. */
    now: () => clockwork.now,
    /** The start world again, or another one. */
    reset,
    /** The world and the ledger, for reading. */
    store: clockwork.store,
    longestBody: (url: string) => (url.startsWith(controlPrefix) ? longestControlBody : longestBody),
    stop: () => clockwork.stop(),
    broken: (status: number, message: string) => service.broken(status, message),
    close: () => clockwork.close(),
  };
}

function startWorld(
  clockwork: Clockwork,
  options: SimulatorOptions,
  world: StartWorld,
  again: boolean,
  wallNow: () => number,
): SavedWorld {
  const now = clockwork.mode === 'virtual' ? virtualStart : wallNow();
  if (typeof world === 'string') {
    const scratch = new Store(collectionsOf(areas));
    return withReadings(namedWorld(scratch, world, now, options.seed ?? 'demo'), options);
  }
  const moved = clockwork.mode === 'virtual' ? world : moveTimers(world, now);
  return withReadings(again ? forgetful(moved) : moved, options);
}

/** A saved world has its own time: on a real clock every timer keeps its remaining delay. */
function moveTimers(world: SavedWorld, now: number): SavedWorld {
  const rows = (world.collections[timers.name] ?? []) as readonly Timer[];
  const moved = rows.map((timer) => ({ ...timer, at: timer.at - world.now + now }));
  return { ...world, now, collections: { ...world.collections, [timers.name]: moved } };
}

/** The world without its ledger and faults: a reset does not bring those back. */
function forgetful(world: SavedWorld): SavedWorld {
  return { ...world, ledger: [], ledgerSeq: 0, collections: { ...world.collections, [faults.name]: [] } };
}

function withReadings(world: SavedWorld, options: SimulatorOptions): SavedWorld {
  const rows = (world.collections[settings.name] ?? []) as readonly { key: string; value: unknown }[];
  const kept = rows.find(({ key }) => key === 'readings')?.value as Readings | undefined;
  const readings = changeReadings({ ...defaultReadings(), ...kept }, options.readings ?? {});
  if (typeof readings === 'string') throw new BadOption(readings);
  const others = rows.filter(({ key }) => key !== 'readings');
  const changed = [{ key: 'readings', value: readings }, ...others];
  return { ...world, collections: { ...world.collections, [settings.name]: changed } };
}

function streamOf(store: Store, requests: RequestLog): Stream {
  const listeners = new Set<(event: string) => void>();
  const tell = (name: string, value: unknown) => {
    if (listeners.size === 0) return;
    const event = `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
    for (const send of listeners) send(event);
  };
  store.onLedger = (commit) => tell('ledger', shownCommit(commit));
  requests.onRequest = (request) => tell('request', shownRequest(request));
  return {
    kind: 'stream',
    subscribe: (send) => {
      listeners.add(send);
      return () => listeners.delete(send);
    },
  };
}
