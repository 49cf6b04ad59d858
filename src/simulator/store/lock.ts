import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { kill, pid as ownPid } from 'node:process';

/** A process in a lock file: its id and, where the system shows it, its start time, because ids are reused. */
interface Owner {
  readonly pid: number;
  readonly started?: string;
}

/** Another process has the file. */
export class InUse extends Error {
  override readonly name = 'InUse';
}

/** Who has a file: a process that lives, one that has ended, or nobody. */
export function ownerOf(path: string): 'living' | 'dead' | 'nobody' {
  const text = contentOf(`${path}.lock`);
  const owner = text === undefined ? undefined : ownerIn(text);
  if (owner === undefined) return 'nobody';
  return isAlive(owner) ? 'living' : 'dead';
}

/**
 * Takes a file for this process: `FILE.lock` beside it names who has it. The lock of a process that is gone is taken over. Returns what
 * gives the file back; throws `InUse` when another process has it.
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
  if (owner === undefined) throw new InUse(`${file} names no process: remove it when nobody has the file`);
  if (isAlive(owner)) throw new InUse(`process ${owner.pid} has it`);
  // Another process may take over the same stale lock at this moment: a fresh lock that was moved by mistake is put back.
  const aside = `${file}.${ownPid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (contentOf(aside) === text) rmSync(aside);
  else renameSync(aside, file);
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
  // A process that has ended and that nobody has reaped yet has the state Z or X: it holds nothing.
  if (/^[ZX]$/u.test(fieldsOf(pid)?.[0] ?? '')) return false;
  const now = ownerNow(pid).started;
  return started === undefined || now === undefined || now === started;
}

/** On Linux the 22nd field of /proc/PID/stat is when the process began; the second, in brackets, may hold anything. */
function ownerNow(pid: number): Owner {
  const started = fieldsOf(pid)?.[19];
  return started === undefined ? { pid } : { pid, started };
}

/** The fields of /proc/PID/stat from the third on, which is the state. */
function fieldsOf(pid: number): readonly string[] | undefined {
  const stat = contentOf(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}
