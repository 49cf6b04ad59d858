import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { collectionNames } from './areas.ts';
import { BadOption } from './bad-option.ts';
import { listen, type ListeningTo, type ListenOptions } from './http/listen.ts';
import { Journal, readState } from './store/journal.ts';
import type { StartWorld } from './worlds.ts';
import { InUse, lock } from './store/lock.ts';
import { type SavedState, savedWorld, type SavedWorld } from './store/saved.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from './simulator.ts';

/** The options of a simulator on a socket. */
export interface StartOptions extends Omit<SimulatorOptions, 'world' | 'journal' | 'resume'>, Partial<ListenOptions> {
  /** `demo`, `empty`, or a file that holds a saved world. */
  readonly world?: string;
  /** A file that keeps every commit. */
  readonly state?: string;
}

/** A simulator that listens. */
export type Listening = ListeningTo<Simulator>;

/** Starts a simulator in this process; `127.0.0.1` and a free port unless said otherwise. */
export async function startSimulator(options: StartOptions = {}): Promise<Listening> {
  const { host = '127.0.0.1', port = 0, world = 'demo', state, ...rest } = options;
  const start: StartWorld = world === 'demo' || world === 'empty' ? world : worldFrom(world);
  const make = () => {
    const own: SimulatorOptions = { ...rest, world: start };
    return state === undefined ? createSimulator(own) : withState(fileFor(state), own);
  };
  return listen(make, { host, port });
}

/** A simulator that has its state file for itself from here on until it is closed. */
function withState(path: string, options: SimulatorOptions): Simulator {
  const release = locked(path);
  try {
    const simulator = createSimulator({ ...options, ...stateFrom(path) });
    return { ...simulator, close: () => simulator.close().finally(release) };
  } catch (error) {
    release();
    throw error;
  }
}

/** The real path of the state file, so that two names of one file share a lock. It must be a file, or not exist yet. */
function fileFor(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isFile()) throw new BadOption(`--state ${path} cannot be used: it is no file`);
  const real = () => (stats === undefined ? join(realpathSync(dirname(path)), basename(path)) : realpathSync(path));
  return orBadOption(real, (message) => `--state ${path} cannot be used: ${message}`);
}

function locked(path: string): () => void {
  return orBadOption(
    () => lock(path),
    (message, error) => {
      // The system names the lock file, which nobody has asked for: its words end at the first comma.
      const why = error instanceof InUse ? `is in use: ${message}` : `cannot be written: ${message.split(',', 1)[0]}`;
      return `--state ${path} ${why}`;
    },
  );
}

/** What `work` returns; what it throws becomes a bad option, in the words of `said`. */
function orBadOption<T>(work: () => T, said: (message: string, error: unknown) => string): T {
  try {
    return work();
  } catch (error) {
    throw new BadOption(said((error as Error).message, error), { cause: error });
  }
}

/** A world as the control surface shows it, or a state file that no simulator writes to. */
function worldFrom(path: string): SavedWorld {
  const json = () => JSON.parse(readFileSync(path, 'utf8')) as unknown;
  const world = savedWorld(
    orBadOption(json, (message) => `--world ${path}: ${message}`),
    collectionNames,
  );
  if (typeof world === 'string') throw new BadOption(`--world ${path}: ${world}`);
  return world;
}

function stateFrom(path: string): Pick<SimulatorOptions, 'journal' | 'resume'> {
  const journal = new Journal(path);
  const kept = orBadOption(
    () => readState(path),
    (message) => `--state ${path} cannot be used: ${message}; the file is left as it is`,
  );
  if (kept === undefined) return { journal };
  const { state, lines } = kept;
  const world = savedWorld(state, collectionNames);
  if (typeof world === 'string') throw new BadOption(`--state ${path}: ${world}; the file is left as it is`);
  const { requests } = state as Partial<SavedState>;
  return { journal, resume: { world, lines, ...(requests === undefined ? {} : { requests }) } };
}
