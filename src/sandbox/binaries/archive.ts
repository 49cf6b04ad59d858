import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CannotStart } from '../cannot-start.ts';
import { inTime } from '../../base/time.ts';
import { realClock } from '../../cli/machine.ts';
import type { Work } from './progress.ts';
import type { Archive } from './releases.ts';

const answerMs = 6000;
const silenceMs = 15_000;

/** Downloads an official archive, checks its SHA-512 and only then unpacks its programs into a folder. */
export async function unpackArchive({ url, sha512 }: Archive, into: string, work: Work): Promise<void> {
  const packed = await download(url, work);
  const actual = createHash('sha512').update(packed).digest('hex');
  if (actual !== sha512)
    throw new CannotStart(`its SHA-512 is ${actual.slice(0, 16)}…, not the pinned ${sha512.slice(0, 16)}…: not used`);
  work.detail('unpacking');
  const path = join(into, 'archive.tar.gz');
  await writeFile(path, packed);
  await promisify(execFile)('tar', ['-xzf', path, '-C', into, '--strip-components=2']);
  await rm(path);
}

/** Downloads a URL; gives up within seconds if nothing answers or no more data comes. */
async function download(url: string, { detail, signal }: Work): Promise<Buffer> {
  const stop = new AbortController();
  const answer = await inTime(realClock, answerMs, fetch(url, { signal: AbortSignal.any([signal, stop.signal]) }));
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
    const next = await inTime(realClock, silenceMs, reader.read());
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
