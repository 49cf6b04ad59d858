/*
 * Finds and ends processes that an earlier run of the sandbox left running. Such a process is known by its command
 * line: it runs one of a few programs, and has a path inside `DIR/run/` as an argument, as no other process does. A
 * file with process ids is not used for this, because it may be out of date after a kill -9.
 */
import { basename, join } from 'node:path';
import process from 'node:process';
import { processTable, type Running, signalTo } from './process-table.ts';
import { programNames } from '../binaries/binaries.ts';
import { poll } from '../poll.ts';

const graceMs = 2000;
/** The file names of the programs of a control plane, as the process table shows them. */
export const controlPlanePrograms: ReadonlySet<string> = new Set<string>(Object.values(programNames));
const everyProgram: ReadonlySet<string> = new Set([...controlPlanePrograms, 'node']);

/**
 * Returns the folder `run` of a data folder. Processes that were started for the data folder have a path inside `run` on their
 * command line.
 */
export function runFolder(dir: string): string {
  return join(dir, 'run');
}

/**
 * True if a process was started for this data folder: it runs one of the given programs, and an argument of its command line is
 * a path in the folder's `run` subfolder.
 */
export function belongsTo(dir: string, { args }: Running, programs: ReadonlySet<string> = everyProgram): boolean {
  const mark = `${runFolder(dir)}/`;
  const [command = '', ...rest] = args;
  return programs.has(basename(command)) && rest.some((arg) => arg.startsWith(mark) || arg.includes(`=${mark}`));
}

/**
 * Ends processes that an earlier run of the sandbox left running for a data folder, if they run one of the given
 * programs. Returns how many processes it found.
 */
export async function endLeftovers(dir: string, programs: ReadonlySet<string> = everyProgram): Promise<number> {
  const left = async () =>
    (await processTable()).filter((row) => row.pid !== process.pid && belongsTo(dir, row, programs));
  const gone = async () => ((await left()).length === 0 ? true : undefined);
  const found = await left();
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const { pid } of await left()) signalTo(pid, signal);
    if ((await poll(gone, { everyMs: 50, deadlineMs: graceMs })) === true) break;
  }
  return found.length;
}
