/*
 * Keeps the programs of the control plane in a cache folder. Each entry is a folder with the programs, and its key is the
 * folder's name, which contains the versions and the platform. While an entry is made, its folder has a temporary name. So a
 * folder that has a key as its name is complete.
 */
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Binaries, binariesIn } from './binaries.ts';
import { CannotStart } from '../cannot-start.ts';
import { InUse, lock } from '../../simulator/store/lock.ts';

const draftPrefix = '.draft-';

/** The cache folder that keeps the programs of the control plane from one start of the sandbox to the next. */
export type BinaryCache = ReturnType<typeof cacheAt>;

/**
 * Opens the cache of programs in a folder. A process without permission to write to the folder can still use the programs in
 * it.
 */
export function cacheAt(dir: string) {
  /**
   * Finds the programs of a cache entry. Returns undefined if there is no such entry, or if a program other than
   * kube-controller-manager is missing.
   */
  async function find(key: string): Promise<Binaries | undefined> {
    const found = await binariesIn(join(dir, key));
    return 'missing' in found ? undefined : found;
  }

  /**
   * Makes the cache entry with this key: lets `fill` write the programs into a temporary folder, then gives the folder the key
   * as its name. Only the process that holds the lock may call this.
   */
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
    if (made === undefined) throw new Error(`the new cache entry ${join(dir, key)} is incomplete`);
    return made;
  }

  /** Takes the lock with which only one process at a time makes cache entries. Returns the function that releases the lock. */
  async function takeTurn(): Promise<() => void> {
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      return lock(join(dir, '.preparing'));
    } catch (error) {
      if (error instanceof InUse) throw error;
      throw new CannotStart(`the cache ${dir} is not writable: set XDG_CACHE_HOME to another folder`, { cause: error });
    }
  }

  return { dir, find, make, takeTurn };
}

/**
 * Removes the folders of unfinished cache entries. Only processes that were killed have left such folders: the caller
 * holds the lock, so no other process is making an entry.
 */
async function removeAbandoned(dir: string): Promise<void> {
  const drafts = (await readdir(dir)).filter((name) => name.startsWith(draftPrefix));
  await Promise.all(drafts.map((name) => rm(join(dir, name), { recursive: true, force: true })));
}
