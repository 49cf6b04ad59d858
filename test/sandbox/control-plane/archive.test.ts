import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, constants, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unpackArchive } from '../../../src/sandbox/binaries/archive.ts';
import { temporaryDir } from '../../support/temporary.ts';

/** An archive as the official ones are. */
async function archive(): Promise<Buffer> {
  const dir = await temporaryDir();
  const programs = join(dir, 'controller-tools', 'envtest');
  await mkdir(programs, { recursive: true });
  await writeFile(join(programs, 'etcd'), 'the store', { mode: 0o755 });
  await writeFile(join(programs, 'kubectl'), 'x'.repeat(1000), { mode: 0o755 });
  const { stdout } = await promisify(execFile)('tar', ['-cz', '-C', dir, 'controller-tools'], { encoding: 'buffer' });
  return stdout;
}

const sha512Of = (bytes: Buffer) => createHash('sha512').update(bytes).digest('hex');
const work = { detail: () => {}, signal: new AbortController().signal };

async function serve(status: number, body: Buffer): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/a.tar.gz`;
}

describe('the official archive', () => {
  it('is unpacked to its programs', async () => {
    const dir = await temporaryDir();
    const packed = await archive();

    await unpackArchive({ url: await serve(200, packed), sha512: sha512Of(packed) }, dir, work);

    expect((await readdir(dir)).toSorted()).toEqual(['etcd', 'kubectl']);
    expect(await readFile(join(dir, 'etcd'), 'utf8')).toBe('the store');
    await access(join(dir, 'etcd'), constants.X_OK);
  });

  it('that is cut off is an error, and not a program less', async () => {
    const dir = await temporaryDir();
    const packed = (await archive()).subarray(0, 150);

    const unpacking = unpackArchive({ url: await serve(200, packed), sha512: sha512Of(packed) }, dir, work);

    await expect(unpacking).rejects.toThrow();
  });

  it('is not touched when its checksum is another one', async () => {
    const dir = await temporaryDir();
    const packed = await archive();
    const url = await serve(200, packed);

    const unpacking = unpackArchive({ url, sha512: sha512Of(Buffer.from('something else')) }, dir, work);

    await expect(unpacking).rejects.toThrow(/but must be/);
    expect(await readdir(dir)).toEqual([]);
  });

  it('is given up when the server has it not, or is not there', async () => {
    const dir = await temporaryDir();
    const sha512 = '';

    await expect(unpackArchive({ url: await serve(404, Buffer.from('')), sha512 }, dir, work)).rejects.toThrow(
      /HTTP 404/,
    );
    await expect(unpackArchive({ url: 'http://127.0.0.1:1/', sha512 }, dir, work)).rejects.toThrow();
  });
});
