/*
 * Ends the processes that a run of tests started once the run itself has ended, however it ended: Ctrl-C, SIGTERM, SIGKILL. They carry the
 * mark of their run in the environment, as does whatever they start. A process of its own looks for them, since the one that runs the
 * tests may have no time for it. Only Linux shows the environment of other processes: elsewhere they stay.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { poll } from '../../src/sandbox/poll.ts';
import { processTable, signalTo } from '../../src/sandbox/control-plane/process-table.ts';

const variable = 'APPHOSTING_TESTS';
const graceMs = 3_000;

/** Marks what is started from here on, and has it ended once this process has ended. */
export function setup(): void {
  if (process.env[variable] !== undefined) return;
  const mark = randomUUID();
  spawn(process.execPath, [import.meta.filename, mark], {
    // A group of its own: Ctrl-C in the terminal does not reach it.
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  }).unref();
  process.env[variable] = mark;
}

/** Waits until the process at the other end of the pipe has ended, then ends what carries the mark. */
async function endOrphansOf(mark: string): Promise<void> {
  process.stdin.resume();
  await once(process.stdin, 'close');
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const pid of await marked(mark)) signalTo(pid, signal);
    const gone = async () => ((await marked(mark)).length === 0 ? true : undefined);
    if ((await poll(gone, { everyMs: 50, deadlineMs: graceMs })) === true) return;
  }
}

async function marked(mark: string): Promise<readonly number[]> {
  const pids = (await processTable()).map(({ pid }) => pid);
  const own = await Promise.all(pids.map((pid) => carries(pid, mark)));
  return pids.filter((_pid, at) => own[at]);
}

async function carries(pid: number, mark: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(`${variable}=${mark}`);
}

if (import.meta.main) await endOrphansOf(process.argv[2] ?? '');
