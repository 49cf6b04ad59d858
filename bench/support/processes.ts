import { readFile } from 'node:fs/promises';
import { loadavg, cpus } from 'node:os';

/** The CPU and memory that a process has used so far. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly peakRssMiB: number;
  readonly rssMiB: number;
}

// Linux counts CPU in hundredths of a second on every platform that Node runs on.
const ticksPerSecond = 100;

/** Reads what a process has used from /proc. */
export async function usageOf(pid: number): Promise<Usage> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ]);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const kibibytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'mu').exec(status)?.[1] ?? 0);
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    peakRssMiB: kibibytes('VmHWM') / 1024,
    rssMiB: kibibytes('VmRSS') / 1024,
  };
}

/** Describes the machine and its load in words. */
export function machine(): string {
  const [one = 0] = loadavg();
  return `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), load ${one.toFixed(1)} at the end`;
}
