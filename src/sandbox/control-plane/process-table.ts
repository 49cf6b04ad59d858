import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { kill, platform } from 'node:process';
import { promisify } from 'node:util';
import { codeOf } from './cannot-start.ts';

/** A process of this machine and the command line it was started with. */
export interface Running {
  readonly pid: number;
  readonly args: readonly string[];
}

/** Every process of this machine that we may look at. */
export async function processTable(): Promise<readonly Running[]> {
  if (platform !== 'linux') return fromPs();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const rows = await Promise.all(pids.map(async (pid) => ({ pid, args: await commandLineOf(pid) })));
  return rows.filter(({ args }) => args.length > 0);
}

/** The start time, which distinguishes a process from a later one with the same id; undefined without such a process. */
export async function identityOf(pid: number): Promise<string | undefined> {
  if (platform !== 'linux') return psColumn(pid, 'lstart');
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // After the process name, which may contain anything: state is the first field, the start time the twentieth.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : fields[18];
  } catch {
    return undefined;
  }
}

/** Whether a process is there (one that has ended and was not yet collected is not). */
export async function isRunning(pid: number): Promise<boolean> {
  return (await identityOf(pid)) !== undefined;
}

/** Sends a signal; false when the process is not there any more. */
export function signalTo(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return kill(pid, signal);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}

async function commandLineOf(pid: number): Promise<readonly string[]> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').filter((part) => part !== '');
  } catch {
    return [];
  }
}

async function fromPs(): Promise<readonly Running[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,command='], { timeout: 10_000 });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, command] = /^\s*(\d+)\s+(.+)$/.exec(line) ?? [];
    return pid === undefined || command === undefined ? [] : [{ pid: Number(pid), args: command.split(' ') }];
  });
}

async function psColumn(pid: number, column: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', `${column}=`, '-p', String(pid)], { timeout: 10_000 });
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
