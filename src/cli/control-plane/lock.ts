import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import process from 'node:process';
import { codeOf } from './cannot-start.ts';
import { identityOf } from './process-table.ts';

/*
 * A file that one living process holds. It appears whole (a hard link to a written file), and names its holder by pid
 * and start time, so the lock of a process that was killed is nobody's.
 */

/** Either the lock is ours until released, or another living process holds it. */
export type Claim =
  | { readonly kind: 'held'; readonly release: () => Promise<void> }
  | { readonly kind: 'taken'; readonly pid: number };

interface Holder {
  readonly pid: number;
  readonly identity: string;
}

/** Takes the lock at a path unless somebody living has it. */
export async function claim(path: string): Promise<Claim> {
  await mkdir(dirname(path), { recursive: true });
  const own: Holder = { pid: process.pid, identity: (await identityOf(process.pid)) ?? '' };
  const text = JSON.stringify(own);
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o600 });
  try {
    for (;;) {
      if (await linked(draft, path)) return { kind: 'held', release: () => release(path, text) };
      const seen = await readFile(path, 'utf8').catch(() => undefined);
      const holder = seen === undefined ? undefined : holderOf(seen);
      if (holder !== undefined && (await identityOf(holder.pid)) === holder.identity) {
        return { kind: 'taken', pid: holder.pid };
      }
      if (seen !== undefined) await discard(path, seen);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** The pid of the living process that holds the lock at a path, or undefined. */
export async function holderPid(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  const holder = text === undefined ? undefined : holderOf(text);
  if (holder === undefined) return undefined;
  return (await identityOf(holder.pid)) === holder.identity ? holder.pid : undefined;
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

/** Removes a dead lock, unless another start replaced it with its own in between: then that one goes back. */
async function discard(path: string, seen: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if ((await readFile(aside, 'utf8')) !== seen) await linked(aside, path);
  await rm(aside, { force: true });
}

async function release(path: string, own: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === own) await rm(path, { force: true });
}

function holderOf(text: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('identity' in value)) return undefined;
    const { pid, identity } = value;
    return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity } : undefined;
  } catch {
    return undefined;
  }
}
