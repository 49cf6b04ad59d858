import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { kill, pid as ownPid } from 'node:process';

/** The process that holds the lock of a file. Process ids are reused, so on Linux the start time of the process is stored too. */
interface Owner {
  readonly pid: number;
  readonly started?: string;
}

/** Thrown when another process has locked the file. */
export class InUse extends Error {
  override readonly name = 'InUse';
}

/** Tells who holds the lock of a file: a living process, a dead process, or nobody. */
export function ownerOf(path: string): 'living' | 'dead' | 'nobody' {
  const text = contentOf(`${path}.lock`);
  const owner = text === undefined ? undefined : ownerIn(text);
  if (owner === undefined) return 'nobody';
  return isAlive(owner) ? 'living' : 'dead';
}

/**
 * Locks a file for this process: writes the id of this process into `FILE.lock`. Takes over the lock of a process that
 * has ended. Returns a function that releases the lock. Throws `InUse` if a living process holds the lock, or if the
 * lock file does not tell which process holds it.
 */
export function lock(path: string): () => void {
  const file = `${path}.lock`;
  const own = JSON.stringify(ownerNow(ownPid));
  for (let attempt = 0; ; attempt += 1) {
    try {
      writeFileSync(file, own, { flag: 'wx', mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 3) throw error;
    }
    removeIfStale(file);
  }
}

function removeIfStale(file: string): void {
  const text = contentOf(file);
  if (text === undefined) return;
  const owner = ownerIn(text);
  if (owner === undefined)
    throw new InUse(`${file} contains no process id: try again, then remove it if nothing uses what it locks`);
  if (isAlive(owner)) throw new InUse(`process ${owner.pid} uses the file`);
  rmSync(file, { force: true });
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function ownerIn(text: string): Owner | undefined {
  try {
    const { pid, started } = JSON.parse(text) as Partial<Owner>;
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return undefined;
    return typeof started === 'string' ? { pid, started } : { pid };
  } catch {
    return undefined;
  }
}

function isAlive({ pid, started }: Owner): boolean {
  try {
    kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  // A process in state Z (zombie) or X (dead) has ended, so it holds no lock.
  if (/^[ZX]$/u.test(fieldsOf(pid)?.[0] ?? '')) return false;
  const now = ownerNow(pid).started;
  return started === undefined || now === undefined || now === started;
}

/**
 * Returns the id and the start time of a process. On Linux the start time is the 22nd field of /proc/PID/stat; on other systems it is
 * missing.
 */
function ownerNow(pid: number): Owner {
  const started = fieldsOf(pid)?.[19];
  return started === undefined ? { pid } : { pid, started };
}

/**
 * Reads the fields of /proc/PID/stat, beginning with the third field, the state. The second field is skipped because it can contain spaces
 * and brackets.
 */
function fieldsOf(pid: number): readonly string[] | undefined {
  const stat = contentOf(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}
