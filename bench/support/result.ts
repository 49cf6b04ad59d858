import type { KubernetesCounts } from './audit.ts';
import { machine } from './processes.ts';
import type { ServiceCount } from './service-counts.ts';
import type { BenchOptions, Stage } from './stage.ts';
import { usageOf } from './processes.ts';
import { workloadInWords } from './workload.ts';

/** The figures of a benchmark; those that it does not measure are null. */
export interface Result {
  readonly name: string;
  readonly count: number;
  readonly latencyMs: number;
  readonly readySeconds: number | null;
  readonly peakRssMiB: number;
  readonly cpuSeconds: number;
  readonly serviceReads: number;
  readonly serviceWrites: number;
  readonly kubernetesReads: number;
  readonly kubernetesWrites: number;
  readonly statusWrites: number;
  readonly laterStatusWrites: number;
  readonly [more: string]: unknown;
}

/** A count that began at one moment. */
export interface Meter {
  readonly stop: () => Promise<Readings>;
}

/** The counts between two moments. */
export interface Readings {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakRssMiB: number;
  readonly rssMiB: number;
  readonly service: ServiceCount;
  readonly kubernetes: KubernetesCounts;
}

/** Starts to count what the operator uses and asks; a new process counts from its start. */
export async function meter(stage: Stage): Promise<Meter> {
  const startedAt = performance.now();
  const pid = stage.operatorPid();
  const [before, used] = [await stage.service.counts(), pid === 0 ? undefined : await usageOf(pid)];
  await stage.audit.take();
  return {
    stop: async () => {
      const seconds = (performance.now() - startedAt) / 1000;
      const now = await usageOf(stage.operatorPid());
      const after = await stage.service.counts();
      const same = stage.operatorPid() === pid;
      return {
        seconds,
        cpuSeconds: now.cpuSeconds - (same ? (used?.cpuSeconds ?? 0) : 0),
        peakRssMiB: now.peakRssMiB,
        rssMiB: now.rssMiB,
        service: {
          reads: after.reads - before.reads,
          writes: after.writes - before.writes,
          refreshes: after.refreshes - before.refreshes,
        },
        kubernetes: await stage.audit.take(),
      };
    },
  };
}

/** A result from what was counted. */
export function resultOf(
  name: string,
  { options }: Stage,
  readings: Readings,
  readySeconds: number | null,
  more: Readonly<Record<string, unknown>>,
): Result {
  const { service, kubernetes } = readings;
  return {
    name,
    count: options.count,
    latencyMs: options.latencyMs,
    readySeconds: readySeconds === null ? null : rounded(readySeconds),
    peakRssMiB: rounded(readings.peakRssMiB),
    rssMiB: rounded(readings.rssMiB),
    cpuSeconds: rounded(readings.cpuSeconds),
    seconds: rounded(readings.seconds),
    serviceReads: service.reads,
    serviceWrites: service.writes,
    alertRefreshes: service.refreshes,
    kubernetesReads: kubernetes.reads,
    kubernetesWrites: kubernetes.writes,
    statusWrites: kubernetes.statusWrites,
    laterStatusWrites: kubernetes.laterStatusWrites,
    eventWrites: kubernetes.eventWrites,
    leaseWrites: kubernetes.leaseWrites,
    kubernetesWriteP50Ms: percentile(kubernetes.writeMs, 0.5),
    kubernetesWriteP99Ms: percentile(kubernetes.writeMs, 0.99),
    kubernetesByVerb: Object.fromEntries([...kubernetes.byVerb].toSorted(([, a], [, b]) => b - a)),
    ...more,
    conditions: conditionsOf(options),
  };
}

/** Milliseconds at a share of all samples. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return rounded(sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN);
}

/** Two places behind the point. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Prints a result as a table that a person reads. */
export function printTable({ conditions, kubernetesByVerb, ...figures }: Result): void {
  const rows = Object.entries(figures).map(([name, value]) => `  ${name.padEnd(28)}${String(value)}`);
  const verbs = Object.entries(kubernetesByVerb ?? {}).map(([verb, times]) => `${verb} ${String(times)}`);
  console.log(
    [...rows, `  Kubernetes requests: ${verbs.join(', ')}`, `  conditions: ${String(conditions)}`, ''].join('\n'),
  );
}

function conditionsOf({ count, latencyMs, pollSeconds, refreshSeconds, isBundled }: BenchOptions): string {
  const refresh =
    refreshSeconds === undefined ? 'alert states refreshed at the default pace' : `refreshSeconds ${refreshSeconds}`;
  return [
    workloadInWords(count),
    `the operator from ${isBundled ? 'the bundle' : 'the sources'}`,
    `service latency ${latencyMs} ms, 200 requests/s and 16 at once, pollSeconds ${pollSeconds}, ${refresh}`,
    `API server with an audit log, etcd without fsync, simulator, operator and benchmark on one machine: ${machine()}`,
  ].join('; ');
}
