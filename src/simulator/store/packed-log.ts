import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** A thousand lines in a row, compressed. */
interface Sealed {
  readonly last: number;
  readonly data: Buffer;
}

/** A log as it is kept on disk. */
export interface PackedLines {
  /** The number of the newest line that was dropped; 0 when none was. */
  readonly gone: number;
  readonly sealed: readonly string[];
  readonly open: readonly unknown[];
}

const linesSealed = 1000;
const mostLines = 500_000;

/**
 * A log of numbered lines that is kept compactly: the newest lines as they are, all before them compressed. It holds half a million
 * lines. Beyond that it drops the oldest; `gone` is the number of the newest line that was dropped.
 */
export class PackedLog<T extends { readonly seq: number }> {
  readonly #mostSealed: number;
  #sealed: Sealed[] = [];
  #open: T[] = [];
  /** The number of the newest line; 0 before the first one. */
  lastSeq = 0;
  /** The number of the newest line that was dropped; 0 when none was. */
  gone = 0;

  constructor(most = mostLines) {
    this.#mostSealed = Math.max(1, Math.floor(most / linesSealed));
  }

  push(line: T): void {
    this.#open.push(line);
    this.lastSeq = line.seq;
    if (this.#open.length >= 2 * linesSealed) this.#seal();
  }

  /** The lines above `seq`, oldest first, as far as they are still there. */
  after(seq: number): readonly T[] {
    return [...this.partsAfter(seq)].flat();
  }

  /** The same lines in parts, of which only one is unpacked at a time; lines that come meanwhile are not among them. */
  *partsAfter(seq: number): Iterable<readonly T[]> {
    const [sealed, open] = [this.#sealed.filter(({ last }) => last > seq), [...this.#open]];
    for (const { data } of sealed) yield (unpacked(data) as T[]).filter((line) => line.seq > seq);
    yield open.filter((line) => line.seq > seq);
  }

  /** Begins anew; the lines up to `gone` were there once. */
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

/** The lines of a log from disk: packed, or as a plain list. Undefined when they cannot be read. */
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
