import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { lock, ownerOf } from '../../../src/simulator/store/lock.ts';
import { temporaryDir } from '../../support/temporary.ts';

/** A process that has ended and that its parent does not reap. */
async function zombie(): Promise<number> {
  const parent = spawn('sh', ['-c', 'sleep 0.05 & echo $!; exec sleep 20'], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(chunk.toString().trim());
  const state = () => /\) (\w)/u.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
  while (state() !== 'Z') await new Promise((resolve) => setTimeout(resolve, 5));
  return pid;
}

it.skipIf(!existsSync('/proc/self/stat'))('a process that has ended but is not reaped has no state file', async () => {
  const path = join(await temporaryDir(), 'state.json');
  writeFileSync(`${path}.lock`, JSON.stringify({ pid: await zombie() }));

  const release = lock(path);
  release();

  expect(existsSync(`${path}.lock`)).toBe(false);
});

it('a file has one owner at a time', async () => {
  const path = join(await temporaryDir(), 'state.json');

  const release = lock(path);

  expect(() => lock(path)).toThrow(`process ${process.pid} uses the file`);
  expect(ownerOf(path)).toBe('living');
  release();
  expect(ownerOf(path)).toBe('nobody');
  lock(path)();
});

it.each([
  { pid: 2 ** 22 + 1, started: '1', because: 'there is no such process' },
  { pid: process.pid, started: '1', because: 'its id has another process now' },
])('a file of a dead process is nobody’s, because $because', async ({ pid, started }) => {
  const path = join(await temporaryDir(), 'state.json');
  writeFileSync(`${path}.lock`, JSON.stringify({ pid, started }));

  expect(ownerOf(path)).toBe('dead');
  lock(path)();
  expect(ownerOf(path)).toBe('nobody');
});
