import { describe, expect, it } from 'vitest';
import type { FaultPlan } from '../properties/faults.ts';
import { batchAt, families, plansIn } from './batches.ts';

const names = Object.keys(families);

/** As many plans as there are calls to the service, each with one fault. */
function singlePlans(calls: number): readonly FaultPlan[] {
  const is = 'loseAnswer';
  return Array.from({ length: calls }, (_, nth) => ({
    faults: [{ to: 'service', nth, name: 'answer lost', is }],
    dies: false,
    matters: true,
  }));
}

describe('the batches of a long programme', () => {
  it('take turns, with seeds that neither the tests nor another programme have', () => {
    const places = Array.from({ length: 3 * names.length }, (_, place) => place);
    const all = [1, 2].map((programme) => places.map((place) => batchAt(place, programme)));

    expect(all.map((batches) => batches.slice(0, names.length).map(({ family }) => family))).toEqual([names, names]);
    expect(all.map((batches) => [...new Set(batches.map(({ seed }) => seed))])).toEqual([
      [1_000_000, 1_000_001, 1_000_002],
      [2_000_000, 2_000_001, 2_000_002],
    ]);
  });

  it('go through each plan with one fault once, in the world in which it was found', () => {
    const singles = singlePlans(25);

    const lives = [2_000_000, 2_000_001, 2_000_002].flatMap((batch) => plansIn(batch, singles));

    expect(lives).toEqual(singles.map((plan) => ({ plan, seed: 2_000_000 })));
  });

  it('have up to three faults in a life after that, each life in a world of its own', () => {
    const lives = [2_000_003, 2_000_004].flatMap((batch) => plansIn(batch, singlePlans(25)));

    expect(new Set(lives.map(({ plan }) => plan.faults.length))).toEqual(new Set([1, 2, 3]));
    expect(new Set(lives.map(({ seed }) => seed)).size).toBe(20);
  });
});
