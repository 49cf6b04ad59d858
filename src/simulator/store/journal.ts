/**
 * Keeps the state on disk. The first line of the file is the whole state; each further line is a commit or a request. All lines have
 * checksums. No answer goes out before the commits that it depends on are on disk; other request lines follow within a second. The first
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

/** Says that the state file is damaged; the file is not changed. */
class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/** Reads a state file; undefined when there is none yet. */
export function readState(path: string): Kept | undefined {
  const bytes = contentOf(path);
  if (bytes === undefined || bytes.length === 0) return undefined;
  const texts: string[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    texts.push(bytes.toString('utf8', start, end));
    start = end + 1;
  }
  const [head, ...rest] = texts;
  if (head === undefined) throw new Unreadable('it does not begin with a world');
  const lines = rest.map((line, i) => parse(line, i + 2) as SavedStep | RequestLine);
  return { state: parse(head, 1), lines };
}

function contentOf(path: string): Buffer | undefined {
  try {
    return fs.readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Unreadable((error as Error).message, { cause: error });
  }
}

/** Writes a value as one line of JSON whose last field is a checksum of the rest. */
export function lineOf(value: object): string {
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
  if (line.slice(-tailLength) !== `,"checksum":"${checksum(head)}"}`) throw new Unreadable(`line ${number} is damaged`);
  return JSON.parse(`${head}}`);
}

const smallestGrowth = 16 * 1024 * 1024;
const longestBuffer = 4 * 1024 * 1024;
const longestLazy = 64 * 1024;
const lazyMs = 1000;

/** Writes the state file. */
export class Journal {
  readonly #path: string;
  #fd = -1;
  #buffer: string[] = [];
  #buffered = 0;
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
    if (before >= 0) void this.#settled().then(() => fs.closeSync(before));
  }

  /** Adds a commit, which is on disk once `flushed()` resolves. */
  append(step: SavedStep): void {
    this.#add(step);
    this.#holdsCommit = true;
    if (this.#buffered > longestBuffer && this.#running === undefined) this.#flushNow();
  }

  /** Adds the line of a request, which is on disk with the next commit or a second later. */
  appendLazily(line: RequestLine): void {
    this.#add(line);
    if (this.#buffered > longestLazy) this.#flushBehind();
    else this.#lazyTimer ??= setTimeout(() => this.#flushBehind(), lazyMs).unref();
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

  #add(line: SavedStep | RequestLine): void {
    const text = lineOf(line);
    this.#buffer.push(text);
    this.#buffered += text.length;
    this.#grown += text.length;
  }

  #emptied(): void {
    this.#buffer = [];
    this.#buffered = 0;
    this.#holdsCommit = false;
    clearTimeout(this.#lazyTimer);
    this.#lazyTimer = undefined;
  }

  /** Writes in the background; if that fails, the next commit fails with the same error. */
  #flushBehind(): void {
    this.#flush().catch(() => undefined);
  }

  async #settled(): Promise<void> {
    const running = this.#running;
    if (running !== undefined) await running.catch(() => undefined);
  }

  async #flush(): Promise<void> {
    // Wait for a write that is running, and then for the one that writes the lines added meanwhile.
    if (this.#running !== undefined) await this.#running;
    if (this.#buffer.length > 0) this.#running ??= this.#write().finally(() => (this.#running = undefined));
    if (this.#running !== undefined) await this.#running;
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

  #flushNow(): void {
    fs.writeFileSync(this.#fd, this.#buffer.join(''));
    fs.fdatasyncSync(this.#fd);
    this.#emptied();
  }
}

/** Flushes a directory to disk, so that a rename in it survives a power cut. */
function syncDirectory(path: string): void {
  const fd = fs.openSync(path, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
