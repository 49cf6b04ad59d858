import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { kill, platform } from 'node:process';
import { promisify } from 'node:util';
import { codeOf } from '../cannot-start.ts';

/** A process on this machine, and the command line that started it. */
export interface Running {
  readonly pid: number;
  readonly args: readonly string[];
}

/**
 * Lists the processes on this machine that are visible to this user. Leaves out processes without a command line, such as
 * zombies.
 */
export async function processTable(): Promise<readonly Running[]> {
  if (platform !== 'linux') return fromPs();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const rows = await Promise.all(
    pids.map(async (pid) => {
      const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return { pid, args: commandLine.split('\0').filter((part) => part !== '') };
    }),
  );
  return rows.filter(({ args }) => args.length > 0);
}

/** Sends a signal to a process, unless the process has ended. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

async function fromPs(): Promise<readonly Running[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,state=,command='], { timeout: 10_000 });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, command] = /^\s*(\d+)\s+[^ZX]\S*\s+(.+)$/.exec(line) ?? [];
    return pid === undefined || command === undefined ? [] : [{ pid: Number(pid), args: command.split(' ') }];
  });
}
