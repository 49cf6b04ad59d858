import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leaseResource } from '../../src/kube/lease.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';
import { type Candidate, candidate, leaders, name, namespace } from './lease-scene.ts';

type Move =
  | { readonly is: 'cut' | 'mend' | 'sleep' | 'wake' | 'kill' | 'stop'; readonly who: number }
  | { readonly is: 'delete' | 'empty' | 'give' };

/** Plays moves, and looks ten times a second at who may act. */
async function mostLeaders(
  moves: readonly Move[],
  seed: number,
): Promise<{ most: number; terms: number; bugs: string[] }> {
  const clock = new SuspendableClock();
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
    const clock = new SuspendableClock();
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
