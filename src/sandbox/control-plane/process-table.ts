import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { kill, platform } from 'node:process';
import { promisify } from 'node:util';
import { codeOf } from '../cannot-start.ts';

/** A process of this machine, and the command line that started it. */
export interface Running {
  readonly pid: number;
  readonly args: readonly string[];
}

/** Lists the processes of this machine that this user may look at. */
export async function processTable(): Promise<readonly Running[]> {
  if (platform !== 'linux') return fromPs();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const rows = await Promise.all(pids.map(async (pid) => ({ pid, args: await commandLineOf(pid) })));
  return rows.filter(({ args }) => args.length > 0);
}

/** True if a process is running; a zombie does not count. */
export async function isRunning(pid: number): Promise<boolean> {
  const asked = platform === 'linux' ? readFile(`/proc/${pid}/stat`, 'utf8') : ps('-o', 'state=', '-p', String(pid));
  // In /proc/PID/stat, the state follows the process name, which is in parentheses and may contain parentheses itself.
  const state = await asked.then(
    (text) => text.slice(text.lastIndexOf(')') + 1).trim(),
    () => '',
  );
  return /^[^ZX]/.test(state);
}

/** Sends a signal to a process; returns false when the process has ended. */
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
  return (await ps('-axo', 'pid=,command=')).split('\n').flatMap((line) => {
    const [, pid, command] = /^\s*(\d+)\s+(.+)$/.exec(line) ?? [];
    return pid === undefined || command === undefined ? [] : [{ pid: Number(pid), args: command.split(' ') }];
  });
}

async function ps(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('ps', args, { timeout: 10_000 })).stdout;
}
