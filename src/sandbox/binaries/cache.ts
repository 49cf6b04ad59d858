/*
 * A cache with one folder of programs per key. An entry is made under a temporary name and then renamed, so a folder
 * that has the name of its key is complete.
 */
import { lstat, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Binaries, binariesIn } from './binaries.ts';
import { codeOf } from '../cannot-start.ts';
import { lock } from '../../simulator/store/lock.ts';

const draftPrefix = '.draft-';

/** A folder that keeps the programs from one start to the next. */
export type BinaryCache = ReturnType<typeof cacheAt>;

/** Opens the cache at a folder, or a temporary one of this user when that folder cannot be written. */
export async function openCache(dir: string, temporaryDir: string, say: (text: string) => void): Promise<BinaryCache> {
  const wanted = join(dir, 'control-plane');
  const obstacle = await whyNotWritable(wanted);
  if (obstacle === undefined) return cacheAt(wanted);
  const instead = await temporaryCache(temporaryDir);
  say(`the cache ${wanted} cannot be written (${obstacle}): using ${instead}`);
  const [given, own] = [cacheAt(wanted), cacheAt(instead)];
  // A read-only cache folder can still be read.
  return { ...own, find: async (key) => (await given.find(key)) ?? own.find(key) };
}

/** Opens the cache at a folder that this process can write. */
export function cacheAt(dir: string) {
  /** Finds the programs of an entry; undefined if the entry or one of its programs is missing. */
  async function find(key: string): Promise<Binaries | undefined> {
    const found = await binariesIn(join(dir, key));
    return 'missing' in found ? undefined : found;
  }

  /** Makes an entry with `fill` and puts it in place. Only for the process that holds the lock. */
  async function make(key: string, fill: (dir: string) => Promise<void>): Promise<Binaries> {
    await removeAbandoned(dir);
    const draft = await mkdtemp(join(dir, draftPrefix));
    try {
      await fill(draft);
      await rm(join(dir, key), { recursive: true, force: true });
      await rename(draft, join(dir, key));
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
    const made = await find(key);
    if (made === undefined) throw new Error(`the entry ${join(dir, key)} is not whole after it was made`);
    return made;
  }

  /** Takes the lock that lets one process at a time make entries; returns the function that releases it. */
  const takeTurn = () => lock(join(dir, '.preparing'));
  return { dir, find, make, takeTurn };
}

/** Removes unfinished entries. The caller holds the lock, so they come from processes that were killed. */
async function removeAbandoned(dir: string): Promise<void> {
  const drafts = (await readdir(dir)).filter((name) => name.startsWith(draftPrefix));
  await Promise.all(drafts.map((name) => rm(join(dir, name), { recursive: true, force: true })));
}

async function whyNotWritable(dir: string): Promise<string | undefined> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const probe = await mkdtemp(join(dir, '.probe-'));
    await rm(probe, { recursive: true });
    return undefined;
  } catch (error) {
    return codeOf(error) ?? String(error);
  }
}

/** Makes a temporary folder that only this user can write, so that nobody else can put programs into it. */
async function temporaryCache(temporaryDir: string): Promise<string> {
  const { uid } = userInfo();
  const dir = join(temporaryDir, `apphosting-cache-${uid}`);
  await mkdir(dir, { mode: 0o700 }).catch(() => undefined);
  const found = await lstat(dir).catch(() => undefined);
  const ours = found?.isDirectory() === true && found.uid === uid && (found.mode & 0o022) === 0;
  return ours ? dir : mkdtemp(join(temporaryDir, 'apphosting-cache-'));
}
