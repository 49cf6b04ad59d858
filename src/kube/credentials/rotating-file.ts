import type { Clock } from '../../base/clock.ts';
import { readFile } from 'node:fs/promises';
import { CredentialsError } from './access.ts';
import { within } from '../wait.ts';

const rereadMs = 60_000;
const readDeadlineMs = 5_000;

/** A file that somebody else replaces (a token, a certificate): read again at most every minute, or when asked for it fresh. */
export class RotatingFile {
  readonly #path: string;
  readonly #clock: Clock;
  #text: string | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<string> | undefined;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** The text without surrounding white space; a file that cannot be read just now counts as unchanged. */
  async read(fresh: boolean): Promise<string> {
    const recent = this.#clock.monotonic() - this.#readAt < rereadMs;
    if (this.#text !== undefined && recent && !fresh) return this.#text;
    this.#reading ??= this.#readNow().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readNow(): Promise<string> {
    try {
      const text = await within(this.#clock, readDeadlineMs, readFile(this.#path, 'utf8'), `reading ${this.#path}`);
      this.#text = text.trim();
    } catch (cause) {
      if (this.#text === undefined) throw new CredentialsError(`${this.#path} cannot be read`, { cause });
    }
    this.#readAt = this.#clock.monotonic();
    return this.#text;
  }
}
