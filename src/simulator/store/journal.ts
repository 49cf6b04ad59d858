/**
 * Keeps the state on disk. The first line of the file is the whole state; each further line is a commit or a request. All lines have
 * checksums. No answer goes out before the commits that it depends on are on disk; all other lines follow within a second. The first
 * line changes only when a rename replaces the whole file. If the process dies while it writes the last line, nothing was answered from
 * that line, so it is dropped. Any other damage is refused.
 */
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';

import type { RequestLine, SavedState, SavedStep } from './saved.ts';

const writeTo = promisify(fs.writeFile);
const syncTo = promisify(fs.fdatasync);

/** The parsed content of a state file. */
export interface Kept {
  readonly state: unknown;
  readonly lines: readonly (SavedStep | RequestLine)[];
}

/** Reads a state file; undefined when there is none yet. Throws when the file is damaged, and does not change it. */
export function readState(path: string): Kept | undefined {
  const text = contentOf(path);
  if (text === undefined || text === '') return undefined;
  const [head, ...rest] = text.split('\n').slice(0, -1);
  if (head === undefined) throw new Error('it does not begin with a world');
  const lines = rest.map((line, i) => parse(line, i + 2) as SavedStep | RequestLine);
  return { state: parse(head, 1), lines };
}

function contentOf(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes a value as one line of JSON whose last field is a checksum of the rest. */
function lineOf(value: object): string {
  const json = JSON.stringify(value);
  const head = json.slice(0, -1);
  return `${head},"checksum":"${checksum(head)}"}\n`;
}

const tailLength = ',"checksum":"00000000"}'.length;

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

function parse(line: string, number: number): unknown {
  const head = line.slice(0, -tailLength);
  if (line.slice(-tailLength) !== `,"checksum":"${checksum(head)}"}`) throw new Error(`line ${number} is damaged`);
  return JSON.parse(`${head}}`);
}

const smallestGrowth = 16 * 1024 * 1024;
const lazyMs = 1000;

/** Writes the state file. */
export class Journal {
  readonly #path: string;
  #fd = -1;
  #buffer: string[] = [];
  /** True while the buffer holds a commit: answers wait for commits, but not for the lines of requests. */
  #holdsCommit = false;
  #lazyTimer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #grown = 0;
  #base = 0;
  #failure: Error | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Tells if the lines after the state have become so long that the file should be written anew. */
  get overgrown(): boolean {
    return this.#grown > Math.max(smallestGrowth, 2 * this.#base);
  }

  /** Replaces the whole file by one that holds only a state. */
  rewrite(state: SavedState): void {
    const line = lineOf(state);
    const temporary = `${this.#path}.new`;
    const fd = fs.openSync(temporary, 'w', 0o600);
    fs.writeFileSync(fd, line);
    fs.fsyncSync(fd);
    fs.renameSync(temporary, this.#path);
    syncDirectory(dirname(this.#path));
    const before = this.#fd;
    this.#fd = fd;
    this.#emptied();
    this.#grown = 0;
    this.#base = line.length;
    if (before >= 0) void Promise.allSettled([this.#running]).then(() => fs.closeSync(before));
  }

  /** Adds a line, which is on disk a second later; a commit also once `flushed()` resolves. */
  append(line: SavedStep | RequestLine): void {
    const text = lineOf(line);
    this.#buffer.push(text);
    this.#grown += text.length;
    if ('rows' in line) this.#holdsCommit = true;
    this.#lazyTimer ??= setTimeout(() => this.#flushBehind(), lazyMs).unref();
  }

  /** Resolves when every commit is on disk; undefined when that is so already. */
  flushed(): Promise<void> | undefined {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#holdsCommit ? this.#flush() : this.#running;
  }

  /** Writes all lines that still wait, and closes the file. */
  async close(): Promise<void> {
    clearTimeout(this.#lazyTimer);
    await this.#flush();
    fs.closeSync(this.#fd);
  }

  #emptied(): void {
    this.#buffer = [];
    this.#holdsCommit = false;
    clearTimeout(this.#lazyTimer);
    this.#lazyTimer = undefined;
  }

  /** Writes in the background; if that fails, the next commit fails with the same error. */
  #flushBehind(): void {
    this.#flush().catch(() => undefined);
  }

  async #flush(): Promise<void> {
    // Wait for a write that is running, and then for the one that writes the lines added meanwhile.
    await this.#running;
    if (this.#buffer.length > 0) this.#running ??= this.#write().finally(() => (this.#running = undefined));
    await this.#running;
  }

  async #write(): Promise<void> {
    const text = this.#buffer.join('');
    const fd = this.#fd;
    this.#emptied();
    try {
      await writeTo(fd, text);
      await syncTo(fd);
    } catch (error) {
      this.#failure = new Error('the state could not be written', { cause: error });
      throw this.#failure;
    }
  }
}

/** Flushes a directory to disk, so that a rename in it survives a power cut. */
function syncDirectory(path: string): void {
  const fd = fs.openSync(path, 'r');
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}
