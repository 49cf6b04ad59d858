/*
 * A folder of numbered files; the highest one counts, and says which process holds the lock, by pid and start time, or
 * that nobody does. To take the lock is to create the next number, which only one can. Numbers only rise, so whoever
 * acted on an old sight of the folder finds a higher number and starts over; and the lock of a process that was killed
 * is nobody's.
 */
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { codeOf } from '../control-plane/cannot-start.ts';
import { makeFolder } from '../control-plane/folder.ts';
import { identityOf } from '../control-plane/process-table.ts';

/** The lock, until released; or the living process that holds it. */
export type Claim =
  | { readonly kind: 'held'; readonly release: () => Promise<void> }
  | { readonly kind: 'taken'; readonly pid: number };

interface Holder {
  readonly pid: number;
  readonly identity: string;
}

const nobody = '';

/** Takes the lock in a folder, which is made when it is absent, unless somebody living has it. */
export async function claim(dir: string): Promise<Claim> {
  await makeFolder(dir);
  const own: Holder = { pid: process.pid, identity: (await identityOf(process.pid)) ?? '' };
  const draft = await drafted(dir, `${own.pid} ${own.identity}`);
  try {
    for (;;) {
      const [highest = 0] = await numbersIn(dir);
      const holder = holderOf(await textOf(dir, highest));
      if (holder !== undefined && (await isLiving(holder))) return { kind: 'taken', pid: holder.pid };
      const mine = highest + 1;
      if (!(await linked(draft, join(dir, String(mine))))) continue;
      const [now, ...lower] = await numbersIn(dir);
      if (now !== mine) {
        await rm(join(dir, String(mine)), { force: true });
        continue;
      }
      await Promise.all(lower.map((number) => rm(join(dir, String(number)), { force: true })));
      return { kind: 'held', release: () => release(dir, mine) };
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** The state of a lock: held, left by a dead process, or free. */
export type SeenLock = { readonly kind: 'held'; readonly pid: number } | { readonly kind: 'dead' | 'free' };

/** Looks at the lock in a folder without taking it. */
export async function lookAt(dir: string): Promise<SeenLock> {
  const [highest] = await numbersIn(dir).catch((): readonly number[] => []);
  if (highest === undefined) return { kind: 'free' };
  const holder = holderOf(await textOf(dir, highest));
  if (holder === undefined) return { kind: 'free' };
  return (await isLiving(holder)) ? { kind: 'held', pid: holder.pid } : { kind: 'dead' };
}

/** The numbers in a folder, highest first. */
async function numbersIn(dir: string): Promise<readonly number[]> {
  const names = (await readdir(dir)).filter((name) => /^\d+$/.test(name));
  return names.map(Number).toSorted((a, b) => b - a);
}

function textOf(dir: string, number: number): Promise<string> {
  return readFile(join(dir, String(number)), 'utf8').catch(() => nobody);
}

async function isLiving({ pid, identity }: Holder): Promise<boolean> {
  return (await identityOf(pid)) === identity;
}

/** Keep the file, so that the number is not used again. */
async function release(dir: string, number: number): Promise<void> {
  try {
    await rename(await drafted(dir, nobody), join(dir, String(number)));
  } catch (error) {
    // The folder is gone, and the lock with it.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

async function drafted(dir: string, text: string): Promise<string> {
  const path = join(dir, `draft-${randomUUID()}`);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

async function linked(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function holderOf(text: string): Holder | undefined {
  const [, pid, identity = ''] = /^(\d+) (.+)$/.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), identity };
}
