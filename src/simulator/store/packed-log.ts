import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** A numbered log in the form in which it is saved on disk. */
export interface PackedLines {
  /** The number of the newest line that was dropped; 0 if no line was dropped. */
  readonly gone: number;
  readonly sealed: readonly string[];
  readonly open: readonly unknown[];
}

const linesSealed = 1000;
const mostLines = 500_000;

/**
 * A numbered log that needs little memory, because all lines except the newest are compressed. After half a million lines, the oldest lines
 * are dropped.
 */
export class PackedLog<T extends { readonly seq: number }> {
  readonly #mostSealed: number;
  /** Compressed blocks of a thousand lines, each with the number of its last line. */
  #sealed: { readonly last: number; readonly data: Buffer }[] = [];
  #open: T[] = [];
  /** The number of the newest line; 0 before the first line. */
  lastSeq = 0;
  /** The number of the newest line that was dropped; 0 if no line was dropped. */
  gone = 0;

  constructor(most = mostLines) {
    this.#mostSealed = Math.max(1, Math.floor(most / linesSealed));
  }

  push(line: T): void {
    this.#open.push(line);
    this.lastSeq = line.seq;
    if (this.#open.length >= 2 * linesSealed) this.#seal();
  }

  /** Lists the lines whose number is greater than `seq`, oldest first, as far as they are still kept. */
  after(seq: number): readonly T[] {
    return [...this.partsAfter(seq)].flat();
  }

  /**
   * Yields the lines whose number is greater than `seq`, in several parts, and decompresses one part at a time. Lines that are added while
   * the parts are read are not included.
   */
  *partsAfter(seq: number): Iterable<readonly T[]> {
    const [sealed, open] = [this.#sealed.filter(({ last }) => last > seq), [...this.#open]];
    for (const { data } of sealed) yield (unpacked(data) as T[]).filter((line) => line.seq > seq);
    yield open.filter((line) => line.seq > seq);
  }

  /** Empties the log, as if all lines up to the number `gone` had been dropped. The next line then has the number `gone` + 1. */
  clear(gone = 0): void {
    this.#sealed = [];
    this.#open = [];
    this.lastSeq = gone;
    this.gone = gone;
  }

  packed(): PackedLines {
    return { gone: this.gone, sealed: this.#sealed.map(({ data }) => data.toString('base64')), open: this.#open };
  }

  #seal(): void {
    const lines = this.#open.splice(0, linesSealed);
    this.#sealed.push({ last: lines.at(-1)?.seq ?? 0, data: deflateRawSync(JSON.stringify(lines), { level: 3 }) });
    if (this.#sealed.length > this.#mostSealed) this.gone = this.#sealed.shift()?.last ?? this.gone;
  }
}

function unpacked(data: Buffer): unknown[] {
  return JSON.parse(inflateRawSync(data).toString('utf8')) as unknown[];
}

/** Returns the lines of a saved log, which is compressed or a plain list; returns undefined if the log cannot be read. */
export function linesOf(kept: unknown): readonly unknown[] | undefined {
  if (kept === undefined) return [];
  if (Array.isArray(kept)) return kept as readonly unknown[];
  const { sealed, open } = (kept ?? {}) as Partial<PackedLines>;
  if (!Array.isArray(sealed) || !Array.isArray(open)) return undefined;
  try {
    return [...sealed.flatMap((data) => unpacked(Buffer.from(String(data), 'base64'))), ...(open as unknown[])];
  } catch {
    return undefined;
  }
}
