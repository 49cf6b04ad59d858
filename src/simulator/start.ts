import { readFileSync, statSync } from 'node:fs';

import { collectionNames } from './service/areas.ts';
import { BadOption } from './bad-option.ts';
import { listen, type ListenOptions } from './listen.ts';
import { Journal, readState } from './store/journal.ts';
import type { StartWorld } from './service/worlds.ts';
import { lock } from './store/lock.ts';
import { savedWorld, type SavedWorld } from './store/saved.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from './simulator.ts';

/** The options of a simulator that listens on a socket. */
export interface StartOptions extends Omit<SimulatorOptions, 'world' | 'journal' | 'resume'>, Partial<ListenOptions> {
  /** The data with which the simulator starts: `demo`, `empty`, or the path of a file with saved data. */
  readonly world?: string;
  /** The path of the state file, to which all changes are written. */
  readonly state?: string;
}

/** A running simulator, and the address on which it listens. */
export type Listening = Awaited<ReturnType<typeof listen>>;

/** Starts a simulator in this process, by default on a free port of `127.0.0.1`. */
export async function startSimulator(options: StartOptions = {}): Promise<Listening> {
  const { host = '127.0.0.1', port = 0, world = 'demo', state, ...rest } = options;
  const start: StartWorld = world === 'demo' || world === 'empty' ? world : worldFrom(world);
  const make = () => {
    const own: SimulatorOptions = { ...rest, world: start };
    return state === undefined ? createSimulator(own) : withState(state, own);
  };
  return listen(make, { host, port });
}

/** Creates a simulator that keeps its state in a file. The file is locked until the simulator is closed. */
function withState(path: string, options: SimulatorOptions): Simulator {
  const isOther = statSync(path, { throwIfNoEntry: false })?.isFile() === false;
  if (isOther) throw new BadOption(`--state ${path} cannot be used: the path is not a file`);
  const unusable = (why: string) => `--state ${path} cannot be used: ${why}; the file was not changed`;
  const release = orBadOption(() => lock(path), unusable);
  try {
    const resume = orBadOption(() => readState(path, collectionNames), unusable);
    const simulator = createSimulator({ ...options, journal: new Journal(path), ...(resume && { resume }) });
    return { ...simulator, close: () => simulator.close().finally(release) };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Runs `work`. If it throws an error, throws a `BadOption` instead; `said` turns the message of the error into the message of the
 * `BadOption`.
 */
function orBadOption<T>(work: () => T, said: (message: string) => string): T {
  try {
    return work();
  } catch (error) {
    throw new BadOption(said((error as Error).message), { cause: error });
  }
}

/**
 * Reads saved data from a file: the JSON that `GET /_sim/world` returned, or the state file of a simulator that ended
 * without being killed.
 */
function worldFrom(path: string): SavedWorld {
  const json = () => JSON.parse(readFileSync(path, 'utf8')) as unknown;
  const world = savedWorld(
    orBadOption(json, (message) => `--world ${path}: ${message}`),
    collectionNames,
  );
  if (typeof world === 'string') throw new BadOption(`--world ${path}: ${world}`);
  return world;
}
