/**
 * Keeps the simulator's state in a file. The first line of the file is the whole state; each further line is one transaction or one logged
 * request. A response is sent only after the lines on which it depends have reached the disk. If the process dies while it writes the last
 * line, no response has been sent that depends on this line, so the line is dropped. The first line changes only when a new file is renamed
 * to the name of the old one.
 */
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

import type { KeptRequests } from './requests.ts';
import { isObject, type RequestLine, type SavedState, type SavedStep, savedWorld, type SavedWorld } from './saved.ts';

const syncTo = promisify(fs.fdatasync);

/**
 * The content of a state file. Its first line contains the data (`world`) and the request log (`requests`); `lines` are all lines after the
 * first.
 */
export interface KeptState {
  readonly world: SavedWorld;
  readonly requests: KeptRequests;
  readonly lines: readonly (SavedStep | RequestLine)[];
}

/**
 * Reads a state file; returns undefined if the file does not exist or is empty. Fails if the file is damaged, without changing the file.
 */
export function readState(path: string, collections: ReadonlySet<string>): KeptState | undefined {
  const text = fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : '';
  if (text === '') return undefined;
  const [head, ...rest] = text.split('\n').slice(0, -1);
  if (head === undefined) throw new Error('the first line of the file is not complete');
  const state = parse(head, 1) as unknown as SavedState;
  const world = savedWorld(state, collections);
  if (typeof world === 'string') throw new Error(world);
  if (!isObject(state.requests)) throw new Error('the request log is missing in the file');
  return { world, requests: state.requests, lines: rest.map((line, i) => stepIn(line, i + 2)) };
}

function parse(line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (isObject(value)) return value;
  } catch (error) {
    throw new Error(`line ${number} of the file is damaged`, { cause: error });
  }
  throw new Error(`line ${number} of the file is damaged`);
}

function stepIn(line: string, number: number): SavedStep | RequestLine {
  const step = parse(line, number);
  if (!Array.isArray(step['rows']) && !isObject(step['request']))
    throw new Error(`line ${number} of the file is damaged`);
  return step as unknown as SavedStep | RequestLine;
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

const smallestGrowth = 16 * 1024 * 1024;

/** Writes the state file. */
export class Journal {
  readonly #path: string;
  #fd = -1;
  /**
   * A promise that resolves when all changes have reached the disk. Undefined if a change was written after the last
   * fsync began, because this change needs another fsync.
   */
  #flushed: Promise<void> | undefined;
  #grown = 0;
  #base = 0;
  #failure: Error | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** True if the appended lines have made the file so long that it should be rewritten as a single line. */
  get overgrown(): boolean {
    return this.#grown > Math.max(smallestGrowth, 2 * this.#base);
  }

  /** Writes a new state file, whose only line contains the whole state, and replaces the old file with it. */
  rewrite(state: SavedState): void {
    const line = lineOf(state);
    const temporary = `${this.#path}.new`;
    const fd = fs.openSync(temporary, 'w', 0o600);
    fs.writeFileSync(fd, line);
    fs.fsyncSync(fd);
    fs.renameSync(temporary, this.#path);
    syncDirectory(dirname(this.#path));
    const [before, flush] = [this.#fd, this.#flushed];
    this.#fd = fd;
    this.#flushed = Promise.resolve();
    this.#grown = 0;
    this.#base = line.length;
    if (before >= 0) void Promise.allSettled([flush]).then(() => fs.closeSync(before));
  }

  /**
   * Appends a line to the state file. The changes of a transaction have reached the disk once `flushed()` resolves; the
   * line of a request may reach it later. If one line could not be written, all later calls fail too.
   */
  append(line: SavedStep | RequestLine): void {
    if (this.#failure !== undefined) throw this.#failure;
    const text = lineOf(line);
    try {
      fs.writeFileSync(this.#fd, text);
    } catch (error) {
      this.#failure = new Error('the state file could not be written', { cause: error });
      throw this.#failure;
    }
    this.#grown += text.length;
    if ('rows' in line) this.#flushed = undefined;
  }

  /** Resolves when all written changes have reached the disk. */
  flushed(): Promise<void> {
    this.#flushed ??= syncTo(this.#fd);
    return this.#flushed;
  }

  /** Waits until all written changes have reached the disk, and closes the file. */
  async close(): Promise<void> {
    await this.flushed();
    fs.closeSync(this.#fd);
  }
}

/** Writes a directory to disk, so that a renamed file in it survives a power failure. */
function syncDirectory(path: string): void {
  const fd = fs.openSync(path, 'r');
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}
