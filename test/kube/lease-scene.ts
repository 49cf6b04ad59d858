import { LeaseElection, type LeaseOptions, leaseResource, leaseSpecOf } from '../../src/kube/lease.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';
import { present } from './example.ts';

/** Where the lease of the tests is. */
export const namespace = 'operator';
export const name = 'leader';

/** A process that competes, and what it heard. */
export interface Candidate {
  readonly election: LeaseElection;
  readonly api: MemoryKube;
  readonly clock: MachineClock;
  readonly log: CollectedLog;
  readonly heard: string[];
}

/** What is special about a candidate. */
export interface CandidateOptions extends Partial<LeaseOptions> {
  readonly seed: number;
  readonly rate?: number;
  readonly latency?: () => number;
}

/** A process that competes, on a machine and a connection of its own. */
export function candidate(
  cluster: MemoryCluster,
  { seed, rate = 1, latency, ...options }: CandidateOptions,
): Candidate {
  const clock = new MachineClock(cluster.clock, rate, seed * 3_600_000);
  const api = new MemoryKube(cluster, latency);
  const log = new CollectedLog();
  const heard: string[] = [];
  const election = new LeaseElection({
    api,
    clock,
    entropy: new SeededEntropy(seed),
    log,
    namespace,
    name,
    identity: `pod-${seed}`,
    onAcquired: (acquisition) => {
      heard.push(acquisition.takeOver ? 'took over' : 'acquired');
    },
    onLost: (why) => heard.push(`lost: ${why}`),
    ...options,
  });
  return { election, api, clock, log, heard };
}

/** A cluster and candidates that have not begun. */
export function scene(count: number) {
  const clock = new SuspendableClock();
  const cluster = new MemoryCluster(clock);
  const candidates = Array.from({ length: count }, (_, at) => candidate(cluster, { seed: at + 1 }));
  const [first, second] = candidates;
  if (first === undefined) throw new Error('a scene has a candidate');
  return { clock, cluster, candidates, first, second: second ?? first, admin: new MemoryKube(cluster) };
}

/** Who may act at this moment. */
export function leaders(candidates: readonly Candidate[]): string[] {
  const awake = candidates.filter(({ clock }) => !clock.isAsleep);
  return awake.filter(({ election }) => election.mayAct() === undefined).map(({ election }) => election.identity);
}

/** Who holds the lease. */
export function holderIn(cluster: MemoryCluster): string | undefined {
  return leaseSpecOf(present(cluster.get(leaseResource, namespace, name))).holderIdentity;
}

/** The first candidate leads, the second stands by. */
export async function settled() {
  const all = scene(2);
  all.first.election.start();
  await all.clock.advance(5_000);
  all.second.election.start();
  await all.clock.advance(5_000);
  return all;
}
