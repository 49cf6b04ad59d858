import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CannotStart, reasonOf } from './cannot-start.ts';
import { endLeftovers, runFolder } from './control-plane/leftovers.ts';
import { InUse, lock, ownerOf } from '../simulator/store/lock.ts';

/** The data folder of a sandbox; this process holds the lock of the folder. */
export interface DataFolder {
  readonly dir: string;
  /**
   * The number of processes that an earlier run of the sandbox had left running in this folder, and that were ended.
   */
  readonly leftovers: number;
  /** Unlocks the data folder. Removes the folder if it is a temporary one, and keeps it if the user named it. */
  readonly release: () => Promise<void>;
}

/**
 * Locks the folder that the user named. Throws `CannotStart` if a sandbox is running in the folder, or if the folder
 * has content but is not the folder of a sandbox.
 */
export async function keptFolder(named: string): Promise<DataFolder> {
  const dir = resolve(named);
  const entries = await readdir(dir).catch((): readonly string[] => []);
  if (entries.length > 0 && !entries.includes('run'))
    throw new CannotStart(`${dir} is not the folder of a sandbox and not empty: name another folder`);
  try {
    const unlock = await taken(dir);
    return { dir, leftovers: await endLeftovers(dir), release: async () => unlock() };
  } catch (error) {
    if (error instanceof CannotStart) throw error;
    throw new CannotStart(`the folder ${dir} cannot be used: ${reasonOf(error)}`, { cause: error });
  }
}

/** Creates and locks a temporary folder whose name contains the purpose. */
export async function temporaryFolder(purpose: 'sandbox' | 'tests' = 'sandbox'): Promise<DataFolder> {
  const dir = await mkdtemp(join(tmpdir(), `apphosting-${purpose}-`));
  const unlock = await taken(dir);
  const release = async () => {
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    unlock();
  };
  return { dir, leftovers: 0, release };
}

/** Removes the temporary folders of sandboxes that were killed, and ends their processes. Returns the number of folders. */
export async function clearAbandoned(): Promise<number> {
  let cleared = 0;
  for (const { dir, owner } of await temporaryFolders(/^apphosting-(sandbox|tests)-/)) {
    // Skip a folder whose sandbox is running. Also skip a folder without a lock, because a sandbox has no lock while it
    // creates or removes its folder.
    if (owner !== 'dead') continue;
    await endLeftovers(dir);
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    cleared += 1;
  }
  return cleared;
}

/** Lists the temporary folders of sandboxes that run now. */
export async function runningFolders(): Promise<readonly string[]> {
  const folders = await temporaryFolders(/^apphosting-sandbox-/);
  return folders.filter(({ owner }) => owner === 'living').map(({ dir }) => dir);
}

/** True if a sandbox runs in this folder. */
export function isRunningIn(dir: string): boolean {
  return ownerOf(lockIn(dir)) === 'living';
}

/**
 * The ports of a sandbox. The next start in the same folder uses them again. Only the port of the simulator must stay
 * the same: the objects in the cluster have recorded the simulator's address, and the operator sends requests for an
 * object to this address only.
 */
export type Ports = Readonly<Record<'kubernetes' | 'simulator' | 'metrics', number>>;

/** Reads which ports a sandbox in this folder used when it was last started; undefined if none was started here. */
export async function portsIn(dir: string): Promise<Ports | undefined> {
  const text = await readFile(portsPath(dir), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Ports);
}

/** Saves the ports in the data folder for the next start. */
export function keepPorts(dir: string, ports: Ports): Promise<void> {
  return writeWhole(portsPath(dir), JSON.stringify(ports));
}

/** Writes a file atomically: a reader finds either the whole old text or the whole new text. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, path);
}

async function taken(dir: string): Promise<() => void> {
  await mkdir(runFolder(dir), { recursive: true, mode: 0o700 });
  try {
    return lock(lockIn(dir));
  } catch (error) {
    if (!(error instanceof InUse)) throw error;
    const message = `a sandbox is running in ${dir} (${error.message}): end that sandbox, or name another folder with --data`;
    throw new CannotStart(message, { cause: error });
  }
}

async function temporaryFolders(pattern: RegExp) {
  const names = (await readdir(tmpdir())).filter((name) => pattern.test(name));
  return names.map((name) => join(tmpdir(), name)).map((dir) => ({ dir, owner: ownerOf(lockIn(dir)) }));
}

function lockIn(dir: string): string {
  return join(runFolder(dir), 'sandbox');
}

function portsPath(dir: string): string {
  return join(runFolder(dir), 'ports.json');
}
