import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeaseElection } from '../../src/kube/lease.ts';
import type { LeaseOptions } from '../../src/kube/lease-options.ts';
import { leaseResource, leaseSpecOf } from '../../src/kube/lease-spec.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { MemoryCluster } from '../support/memory-cluster.ts';
import { MemoryKube } from '../support/memory-kube.ts';
import { SeededEntropy, VirtualClock } from '../support/virtual-clock.ts';
import { present } from './example.ts';

const namespace = 'operator';
const name = 'leader';

interface Candidate {
  readonly election: LeaseElection;
  readonly api: MemoryKube;
  readonly clock: MachineClock;
  readonly log: CollectedLog;
  readonly heard: string[];
}

interface CandidateOptions extends Partial<LeaseOptions> {
  readonly seed: number;
  readonly rate?: number;
  readonly latency?: () => number;
}

/** A process that competes, on a machine and a connection of its own. */
function candidate(cluster: MemoryCluster, { seed, rate = 1, latency, ...options }: CandidateOptions): Candidate {
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
    onAcquired: ({ takeOver }) => heard.push(takeOver ? 'took over' : 'acquired'),
    onLost: (why) => heard.push(`lost: ${why}`),
    ...options,
  });
  return { election, api, clock, log, heard };
}

function scene(count: number) {
  const clock = new VirtualClock();
  const cluster = new MemoryCluster(clock);
  const candidates = Array.from({ length: count }, (_, at) => candidate(cluster, { seed: at + 1 }));
  const [first, second] = candidates;
  if (first === undefined) throw new Error('a scene has a candidate');
  return { clock, cluster, candidates, first, second: second ?? first, admin: new MemoryKube(cluster) };
}

function leaders(candidates: readonly Candidate[]): string[] {
  const awake = candidates.filter(({ clock }) => !clock.isAsleep);
  return awake.filter(({ election }) => election.mayAct() === undefined).map(({ election }) => election.identity);
}

function holderIn(cluster: MemoryCluster): string {
  return leaseSpecOf(present(cluster.get(leaseResource, namespace, name))).holder;
}

/** The first candidate leads, the second stands by. */
async function settled() {
  const all = scene(2);
  all.first.election.start();
  await all.clock.advance(5_000);
  all.second.election.start();
  await all.clock.advance(5_000);
  return all;
}

describe('a lease', () => {
  it('is created by the first, and the others wait', async () => {
    const { first, second, candidates, cluster } = await settled();

    expect(leaders(candidates)).toEqual([first.election.identity]);
    expect(first.heard).toEqual(['acquired']);
    expect(second.election.mayAct()).toBe('another process holds the lease');
    expect(cluster.get(leaseResource, namespace, name)?.spec).toMatchObject({
      holderIdentity: first.election.identity,
      leaseDurationSeconds: 15,
      renewTime: expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{6}Z$/),
    });
  });

  it('costs one write and no read each two seconds while nothing happens', async () => {
    const { clock, first } = await settled();
    first.api.calls.length = 0;

    await clock.advance(60_000);

    expect(first.api.calls.every(({ verb }) => verb === 'replace')).toBe(true);
    expect(first.api.calls.length).toBeGreaterThanOrEqual(25);
    expect(first.api.calls.length).toBeLessThanOrEqual(30);
  });

  it('is handed over at once when its holder stops, and that is no take-over', async () => {
    const { clock, first, second, cluster } = await settled();

    await first.election.stop();
    expect(holderIn(cluster)).toBe('');
    await clock.advance(2_500);

    expect(second.heard).toEqual(['acquired']);
    expect(first.election.mayAct()).toBe('another process holds the lease');
  });

  it('is taken over after its whole duration when its holder is cut off, which stopped acting well before', async () => {
    const { clock, first, second } = await settled();

    first.api.cut = true;
    await clock.advance(10_000);
    expect(first.election.mayAct()).toBeDefined();
    expect(first.heard).toEqual(['acquired', 'lost: the lease was not renewed in time']);
    expect(second.election.mayAct()).toBeDefined();
    await clock.advance(8_000);

    expect(second.heard).toEqual(['took over']);
  });

  it('is lost in the very tick in which a suspended machine wakes up', async () => {
    const { clock, first, candidates } = await settled();
    first.clock.sleep();
    await clock.advance(20_000);
    expect(leaders(candidates)).toHaveLength(1);

    const waking = first.clock.wakeUp();

    expect(first.election.mayAct()).toBe('the lease was not renewed in time');
    waking.run();
    await clock.advance(1_000);
    expect(leaders(candidates)).toHaveLength(1);
  });

  it('is lost in the very tick in which a stalled process goes on', async () => {
    const { clock, first } = await settled();

    clock.stall(10_500);

    expect(first.election.mayAct()).toBe('the lease was not renewed in time');
  });

  it('is restored by its holder when somebody deletes it', async () => {
    const { clock, first, candidates, admin, cluster } = await settled();

    await admin.delete(leaseResource, namespace, name);
    await clock.advance(5_000);

    expect(holderIn(cluster)).toBe(first.election.identity);
    expect(leaders(candidates)).toEqual([first.election.identity]);
    expect(first.heard).toEqual(['acquired']);
  });

  it('is restored by its holder when somebody empties it', async () => {
    const { clock, first, candidates, admin, cluster } = await settled();
    const lease = present(cluster.get(leaseResource, namespace, name));

    await admin.replace(leaseResource, namespace, name, {
      ...lease,
      spec: { leaseDurationSeconds: 15, renewTime: 'x' },
    });
    await clock.advance(5_000);

    expect(holderIn(cluster)).toBe(first.election.identity);
    expect(leaders(candidates)).toEqual([first.election.identity]);
  });

  it('that was given to a stranger by hand is obeyed, and taken over when the stranger is silent', async () => {
    const { clock, first, candidates, admin, cluster } = await settled();
    const lease = present(cluster.get(leaseResource, namespace, name));

    await admin.replace(leaseResource, namespace, name, {
      ...lease,
      spec: { holderIdentity: 'stranger', leaseDurationSeconds: 1_000_000, renewTime: 'x' },
    });
    await clock.advance(3_000);
    expect(leaders(candidates)).toEqual([]);
    expect(first.heard.at(-1)).toBe('lost: another process holds the lease');
    await clock.advance(310_000);

    expect(leaders(candidates)).toHaveLength(1);
    expect(candidates.flatMap(({ heard }) => heard)).toContain('took over');
  });

  it('that comes back from a backup counts as held, and its holder says that the cluster went back in time', async () => {
    const { clock, first, second, candidates, cluster } = await settled();
    await first.election.stop();
    const backup = cluster.snapshot();
    await clock.advance(10_000);
    expect(second.election.mayAct()).toBeUndefined();
    const third = candidate(cluster, { seed: 3, onRewind: () => third.heard.push('rewind') });
    third.election.start();
    await clock.advance(5_000);
    second.api.cut = true;

    cluster.restore(backup);
    cluster.skipVersions(100);
    await clock.advance(12_000);

    expect(third.heard).toEqual(['rewind']);
    expect(leaders([...candidates, third])).toEqual([]);
    await clock.advance(10_000);
    expect(third.heard).toEqual(['rewind', 'took over']);
  });

  it('is known to be ours when only the answer to the claim was lost', async () => {
    const { clock, first } = scene(1);
    first.api.inject({ verb: 'create', effect: 'after', outcome: 'unavailable' });

    first.election.start();
    await clock.advance(8_000);

    expect(first.heard).toEqual(['acquired']);
  });

  it('that was taken over with a lost answer still counts as taken over', async () => {
    const { clock, first, second } = await settled();
    first.api.cut = true;
    second.api.inject({ verb: 'replace', effect: 'after', outcome: 'unavailable' });

    await clock.advance(30_000);

    expect(second.heard).toEqual(['took over']);
  });

  it('is given back even where the answer to the last renewal was lost', async () => {
    const { first, cluster, clock } = await settled();
    first.api.inject({ verb: 'replace', effect: 'after', outcome: 'unavailable' });
    await clock.advance(2_300);

    await first.election.stop();

    expect(holderIn(cluster)).toBe('');
  });

  it('outlives a request that is never answered', async () => {
    const { clock, first } = await settled();
    first.api.inject({ effect: 'before', outcome: 'hang' });

    await clock.advance(30_000);

    expect(first.heard).toEqual(['acquired']);
    expect(first.election.mayAct()).toBeUndefined();
  });
});

type Move =
  | { readonly is: 'cut' | 'mend' | 'sleep' | 'wake' | 'kill' | 'stop'; readonly who: number }
  | { readonly is: 'delete' | 'empty' | 'give' };

/** Plays moves, and looks ten times a second at who may act. */
async function mostLeaders(
  moves: readonly Move[],
  seed: number,
): Promise<{ most: number; terms: number; bugs: string[] }> {
  const clock = new VirtualClock();
  const cluster = new MemoryCluster(clock);
  const admin = new MemoryKube(cluster);
  const chance = new SeededEntropy(seed);
  let slow = 0;
  const latency = (): number => chance.fraction() * (chance.fraction() < slow ? 6_000 : 80);
  const everybody: Candidate[] = [];
  let joined = 0;
  const join = (): Candidate => {
    const rate = 0.9 + chance.fraction() * 0.2;
    const one = candidate(cluster, { seed: ++joined + seed * 100, rate, latency });
    everybody.push(one);
    one.election.start();
    return one;
  };
  const team = [join(), join(), join()];
  let most = 0;
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      await clock.advance(100);
      most = Math.max(most, leaders(everybody).length);
    }
  };
  // Everybody has seen the lease held before it gets rough.
  await pass(6_000);
  slow = 0.05;
  for (const move of moves) {
    await play(move);
    await pass(500 + chance.fraction() * 8_000);
  }
  slow = 0;
  for (const { api, clock: machine } of everybody) {
    api.cut = false;
    machine.wakeUp().run();
  }
  await pass(60_000);
  expect(leaders(everybody)).toHaveLength(1);
  const terms = everybody.flatMap(({ heard }) => heard).filter((line) => !line.startsWith('lost')).length;
  return { most, terms, bugs: everybody.flatMap(({ log }) => log.bugs) };

  async function play(move: Move): Promise<void> {
    if (!('who' in move)) {
      const lease = cluster.get(leaseResource, namespace, name);
      if (lease === undefined) return;
      if (move.is === 'delete') return admin.delete(leaseResource, namespace, name);
      const holder = move.is === 'give' ? { holderIdentity: 'stranger' } : {};
      const spec = { ...holder, leaseDurationSeconds: 15, renewTime: 'by hand' };
      await admin.replace(leaseResource, namespace, name, { ...lease, spec });
      return;
    }
    const one = team[move.who];
    if (one === undefined) return;
    if (move.is === 'cut' || move.is === 'mend') one.api.cut = move.is === 'cut';
    else if (move.is === 'sleep') one.clock.sleep();
    else if (move.is === 'wake') {
      const waking = one.clock.wakeUp();
      most = Math.max(most, leaders(everybody).length);
      waking.run();
    } else {
      if (move.is === 'stop' && !one.clock.isAsleep) void one.election.stop();
      // A process that is killed neither acts nor hears anything again.
      else everybody.splice(everybody.indexOf(one), 1).forEach((gone) => ((gone.api.cut = true), gone.clock.sleep()));
      team[move.who] = join();
    }
  }
}

describe('three candidates', () => {
  const who = fc.integer({ min: 0, max: 2 });
  const weather = fc.record({ is: fc.constantFrom('cut', 'mend', 'sleep', 'wake'), who });
  const deaths = fc.record({ is: fc.constantFrom('kill', 'stop'), who });
  const hands = fc.record({ is: fc.constantFrom('delete', 'empty', 'give') });

  it('never act at the same time, whatever happens to their network, machines and processes', async () => {
    const moves = fc.array(fc.oneof({ weight: 3, arbitrary: weather }, deaths), { minLength: 4, maxLength: 25 });
    const runs = fc.asyncProperty(moves, fc.integer({ min: 1, max: 1_000 }), async (plan, seed) => {
      const { most, bugs } = await mostLeaders(plan, seed);
      expect(most).toBe(1);
      expect(bugs).toEqual([]);
    });

    await fc.assert(runs, { numRuns: 60 });
  });

  it('never act at the same time, whatever people do to the lease', async () => {
    const moves = fc.array(fc.oneof({ weight: 2, arbitrary: weather }, hands), { minLength: 4, maxLength: 25 });
    const runs = fc.asyncProperty(moves, fc.integer({ min: 1, max: 1_000 }), async (plan, seed) => {
      const { most, bugs } = await mostLeaders(plan, seed);
      expect(most).toBe(1);
      expect(bugs).toEqual([]);
    });

    await fc.assert(runs, { numRuns: 60 });
  });

  it('are seen to overlap when a lease is shorter than the term, so the look can fail', async () => {
    const clock = new VirtualClock();
    const cluster = new MemoryCluster(clock);
    const pace = { leaseMs: 4_000, renewMs: 10_000 };
    const team = [candidate(cluster, { seed: 1, pace }), candidate(cluster, { seed: 2, pace })];
    for (const { election } of team) election.start();
    await clock.advance(6_000);
    for (const { api, election } of team) if (election.mayAct() === undefined) api.cut = true;

    await clock.advance(7_000);

    expect(leaders(team)).toHaveLength(2);
  });
});
