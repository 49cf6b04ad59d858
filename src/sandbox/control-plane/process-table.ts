import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { kill, platform } from 'node:process';
import { promisify } from 'node:util';
import { codeOf } from '../cannot-start.ts';

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

/** True if a process is running; a zombie is not. */
export async function isRunning(pid: number): Promise<boolean> {
  const asked = platform === 'linux' ? readFile(`/proc/${pid}/stat`, 'utf8') : ps('-o', 'state=', '-p', String(pid));
  // The state follows the name of the process in parentheses; the name itself may contain parentheses.
  const state = await asked.then(
    (text) => text.slice(text.lastIndexOf(')') + 1).trim(),
    () => '',
  );
  return /^[^ZX]/.test(state);
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
  return (await ps('-axo', 'pid=,command=')).split('\n').flatMap((line) => {
    const [, pid, command] = /^\s*(\d+)\s+(.+)$/.exec(line) ?? [];
    return pid === undefined || command === undefined ? [] : [{ pid: Number(pid), args: command.split(' ') }];
  });
}

async function ps(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('ps', args, { timeout: 10_000 })).stdout;
}
