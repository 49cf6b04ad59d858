import { accessSync, constants, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { areas } from './areas.ts';
import { BadOption } from './bad-option.ts';
import { collectionNames } from './clockwork.ts';
import { listen, type ListeningTo, type ListenOptions } from './http/listen.ts';
import { Journal, readState } from './store/journal.ts';
import { type SavedState, savedWorld, type SavedWorld } from './store/saved.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from './simulator.ts';

/** How a simulator is started on a socket. */
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
  const start = world === 'demo' || world === 'empty' ? world : worldFrom(world);
  return listen(() => createSimulator({ ...rest, ...(state === undefined ? {} : stateFrom(state)), world: start }), {
    host,
    port,
  });
}

function worldFrom(path: string): SavedWorld {
  const world = savedWorld(jsonFrom(path), collectionNames(areas));
  if (typeof world === 'string') throw new BadOption(`--world ${path}: ${world}`);
  return world;
}

/** A world as the control surface shows it, or a state file that no simulator writes to. */
function jsonFrom(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new BadOption(`--world ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function stateFrom(path: string): Pick<SimulatorOptions, 'journal' | 'resume'> {
  const journal = new Journal(path);
  const kept = keptIn(path);
  requireWritable(path);
  if (kept === undefined) return { journal };
  const { state, lines } = kept;
  const world = savedWorld(state, collectionNames(areas));
  if (typeof world === 'string') throw new BadOption(`--state ${path}: ${world}; the file is left as it is`);
  const { requests } = state as Partial<SavedState>;
  return { journal, resume: { world, lines, ...(requests === undefined ? {} : { requests }) } };
}

function keptIn(path: string): ReturnType<typeof readState> {
  try {
    return readState(path);
  } catch (error) {
    const { message } = error as Error;
    throw new BadOption(`--state ${path} cannot be used: ${message}; the file is left as it is`, { cause: error });
  }
}

/** The folder must take a file beside the state: that is how the state is replaced as a whole. */
function requireWritable(path: string): void {
  try {
    accessSync(dirname(resolve(path)), constants.W_OK);
  } catch (error) {
    throw new BadOption(`--state ${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
