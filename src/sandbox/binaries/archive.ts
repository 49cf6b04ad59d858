import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { CannotStart } from '../cannot-start.ts';
import type { Work } from './progress.ts';
import type { Archive } from './releases.ts';

const answerMs = 6000;
const silenceMs = 15_000;

/** Downloads an official archive, checks its SHA-512 and only then unpacks its programs into a folder. */
export async function unpackArchive({ url, sha512 }: Archive, into: string, work: Work): Promise<void> {
  const packed = await download(url, work);
  const actual = createHash('sha512').update(packed).digest('hex');
  if (actual !== sha512)
    throw new CannotStart(`the SHA-512 of the file is ${actual.slice(0, 16)}…, but must be ${sha512.slice(0, 16)}…`);
  work.detail('unpacking');
  const path = join(into, 'archive.tar.gz');
  await writeFile(path, packed);
  await promisify(execFile)('tar', ['-xzf', path, '-C', into, '--strip-components=2']);
  await rm(path);
}

/** Downloads a URL; fails within seconds if nothing answers or no more data comes. */
async function download(url: string, { detail, signal }: Work): Promise<Buffer> {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: answerMs },
    headersTimeout: answerMs,
    bodyTimeout: silenceMs,
  });
  const response = await fetch(url, { dispatcher, signal });
  if (!response.ok || response.body === null) throw new CannotStart(`HTTP ${response.status} from ${url}`);
  const total = Number(response.headers.get('content-length') ?? 0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    size += chunk.length;
    detail(total > 0 ? `${megabytes(size)} of ${megabytes(total)}` : megabytes(size));
  }
  return Buffer.concat(chunks);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
