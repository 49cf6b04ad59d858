import { processTable } from '../../src/sandbox/control-plane/process-table.ts';

/** Whether a process is running; a zombie does not count. */
export async function isRunning(pid: number): Promise<boolean> {
  return (await processTable()).some((row) => row.pid === pid);
}
