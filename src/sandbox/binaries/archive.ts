import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { programNames } from './binaries.ts';
import { CannotStart } from '../control-plane/cannot-start.ts';
import { within } from '../control-plane/deadline.ts';
import type { Work } from './progress.ts';
import type { Archive } from './releases.ts';

const answerMs = 6000;
const silenceMs = 15_000;

/** Downloads an official archive, checks its SHA-512 and only then unpacks its programs into a folder. */
export async function unpackArchive(archive: Archive, into: string, work: Work): Promise<void> {
  const packed = await download(archive.url, work);
  checkSum(packed, archive.sha512);
  work.detail('unpacking');
  const wanted = new Set<string>(Object.values(programNames));
  for (const { path, content } of filesOf(await promisify(gunzip)(packed))) {
    const name = basename(path);
    if (wanted.has(name)) await writeFile(join(into, name), content, { mode: 0o755 });
  }
}

/** Throws when the bytes are not the ones that were pinned. */
export function checkSum(bytes: Buffer, sha512: string): void {
  const actual = createHash('sha512').update(bytes).digest('hex');
  if (actual !== sha512) {
    throw new CannotStart(`its SHA-512 is ${actual.slice(0, 16)}…, not the pinned ${sha512.slice(0, 16)}…: not used`);
  }
}

/** The bytes at an address; gives up in seconds when nothing answers or the flow stops. */
async function download(url: string, { detail, signal }: Work): Promise<Buffer> {
  const stop = new AbortController();
  const answer = await within(answerMs, fetch(url, { signal: AbortSignal.any([signal, stop.signal]) }));
  if (answer === undefined) {
    stop.abort();
    throw new CannotStart(`${new URL(url).host} did not answer in ${answerMs / 1000} s`);
  }
  const { value: response } = answer;
  if (!response.ok || response.body === null) throw new CannotStart(`HTTP ${response.status} from ${url}`);
  const total = Number(response.headers.get('content-length') ?? 0);
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const next = await within(silenceMs, reader.read());
    if (next === undefined) {
      stop.abort();
      throw new CannotStart(`the download stopped for ${silenceMs / 1000} s after ${megabytes(size)}`);
    }
    if (next.value.done) return Buffer.concat(chunks);
    chunks.push(next.value.value);
    size += next.value.value.length;
    detail(total > 0 ? `${megabytes(size)} of ${megabytes(total)}` : megabytes(size));
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

const blockSize = 512;

/** A regular file in a tar archive. */
export interface TarFile {
  readonly path: string;
  readonly content: Buffer;
}

/** The regular files of a tar archive that is whole in memory (POSIX ustar, which is what the official archives use). */
export function* filesOf(tar: Buffer): Generator<TarFile> {
  let at = 0;
  while (at + blockSize <= tar.length) {
    const header = tar.subarray(at, at + blockSize);
    if (header[0] === 0) return;
    const size = Number.parseInt(textOf(header, 124, 12).trim(), 8);
    if (!Number.isSafeInteger(size) || size < 0) throw new RangeError('the archive has an entry without a size');
    const start = at + blockSize;
    if (start + size > tar.length) throw new RangeError('the archive ends in the middle of an entry');
    const prefix = textOf(header, 345, 155);
    const name = textOf(header, 0, 100);
    const type = textOf(header, 156, 1);
    if (type === '0' || type === '') {
      yield { path: prefix === '' ? name : `${prefix}/${name}`, content: tar.subarray(start, start + size) };
    }
    at = start + Math.ceil(size / blockSize) * blockSize;
  }
  throw new RangeError('the archive ends without its last block');
}

function textOf(header: Buffer, from: number, length: number): string {
  const field = header.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}
