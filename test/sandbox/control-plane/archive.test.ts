import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkSum, unpackArchive, filesOf } from '../../../src/sandbox/binaries/archive.ts';
import { temporaryDir } from '../../support/temporary.ts';

function entry(path: string, content: string, type = '0'): Buffer {
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write(`${content.length.toString(8).padStart(11, '0')} `, 124);
  header.write(type, 156);
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([header, body]);
}

const tar = Buffer.concat([
  entry('controller-tools/envtest/', '', '5'),
  entry('controller-tools/envtest/etcd', 'the store'),
  entry('controller-tools/envtest/README', 'not wanted'),
  entry('controller-tools/envtest/kubectl', 'x'.repeat(1000)),
  Buffer.alloc(1024),
]);
const packed = gzipSync(tar);
const sha512 = createHash('sha512').update(packed).digest('hex');
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

    await unpackArchive({ url: await serve(200, packed), sha512 }, dir, work);

    expect((await readdir(dir)).toSorted()).toEqual(['etcd', 'kubectl']);
    expect(await readFile(join(dir, 'etcd'), 'utf8')).toBe('the store');
  });

  it('is not touched when its checksum is another one', async () => {
    const dir = await temporaryDir();
    const url = await serve(200, gzipSync(Buffer.from('something else')));

    await expect(unpackArchive({ url, sha512 }, dir, work)).rejects.toThrow(/not the pinned/);

    expect(await readdir(dir)).toEqual([]);
    expect(() => checkSum(packed, sha512)).not.toThrow();
  });

  it('is given up when the server has it not, or is not there', async () => {
    const dir = await temporaryDir();

    await expect(unpackArchive({ url: await serve(404, packed), sha512 }, dir, work)).rejects.toThrow(/HTTP 404/);
    await expect(unpackArchive({ url: 'http://127.0.0.1:1/', sha512 }, dir, work)).rejects.toThrow();
  });
});

describe('a tar archive', () => {
  it('shows its regular files', () => {
    const files = [...filesOf(tar)].map(({ path, content }) => [path.split('/').at(-1), content.length]);

    expect(files).toEqual([
      ['etcd', 9],
      ['README', 10],
      ['kubectl', 1000],
    ]);
  });

  it('that is cut off is an error and not a shorter list', () => {
    expect(() => [...filesOf(tar.subarray(0, 1030))]).toThrow(/in the middle/);
    expect(() => [...filesOf(tar.subarray(0, 1400))]).toThrow(/without its last block/);
  });
});
