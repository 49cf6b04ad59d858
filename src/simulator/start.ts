import { readFileSync } from 'node:fs';

import { areas } from './areas.ts';
import { collectionNames } from './clockwork.ts';
import { listen, type Listening, type ListenOptions } from './http.ts';
import { Journal, readState } from './journal.ts';
import { savedWorld, type SavedWorld } from './saved.ts';
import { BadOption, createSimulator, type Simulator, type SimulatorOptions } from './simulator.ts';

/** How a simulator is started on a socket. */
export interface StartOptions extends Omit<SimulatorOptions, 'world' | 'journal' | 'resume'>, Partial<ListenOptions> {
  /** `demo`, `empty`, or a file that holds a saved world. */
  readonly world?: string;
  /** A file that keeps every commit. */
  readonly state?: string;
}

/** A simulator on a socket. */
export interface Started extends Listening {
  readonly simulator: Simulator;
}

/** Starts a simulator in this process; `127.0.0.1` and a free port unless said otherwise. */
export async function startSimulator(options: StartOptions = {}): Promise<Started> {
  const { host = '127.0.0.1', port = 0, world = 'demo', state, ...rest } = options;
  const start = world === 'demo' || world === 'empty' ? world : worldFrom(world);
  const simulator = createSimulator({ ...rest, ...(state === undefined ? {} : stateFrom(state)), world: start });
  try {
    const listening = await listen(simulator, { host, port });
    return { ...listening, simulator };
  } catch (error) {
    await simulator.close();
    throw new BadOption(`cannot listen on ${host}:${port}: ${(error as Error).message}`, { cause: error });
  }
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
  if (kept === undefined) return { journal };
  const world = savedWorld(kept.world, collectionNames(areas));
  if (typeof world === 'string') throw new BadOption(`--state ${path}: ${world}; the file is left as it is`);
  return { journal, resume: { world, steps: kept.steps } };
}

function keptIn(path: string): ReturnType<typeof readState> {
  try {
    return readState(path);
  } catch (error) {
    const { message } = error as Error;
    throw new BadOption(`--state ${path} cannot be used: ${message}; the file is left as it is`, { cause: error });
  }
}
