import { afterAll, describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { deathsAtCallsOf, faultsOfWritesOf, lifeWith, outcomesOf, planInWords } from './faults.ts';
import { lives, type Life } from './lives.ts';
import { arranged, bringIn, leaksOf, readiness, sampled, wholeLife, type Plan } from './walk.ts';

const counted = { plans: 0, possible: 0, transitions: 0 };

afterAll(() => {
  process.stdout.write(
    `standing properties: ${counted.plans} of ${counted.possible} plans, ${counted.transitions} transitions\n`,
  );
});

/** Commits of the service that somebody asked for: a refreshed state is none. */
async function changes(world: InProcess): Promise<readonly { kind: string }[]> {
  const ledger = await world.ledger();
  return ledger.filter(({ kind }) => kind !== 'alert.refreshed' && kind !== 'alert.stateChanged');
}

/** What was written to Kubernetes; where the service moves on by itself, about the life's own resource. */
function writesIn(world: InProcess, life: Life): readonly object[] {
  const writes = world.kube.calls.filter(({ verb }) => ['create', 'replace', 'replaceStatus', 'patch'].includes(verb));
  return life.movesOn === true ? writes.filter(({ name }) => name === life.name) : writes;
}

describe.each(lives)('$kind', (life) => {
  const chosenFrom = <Kind extends Plan>(plans: readonly Kind[]): readonly Kind[] => {
    const chosen = sampled(plans);
    counted.plans += chosen.length;
    counted.possible += plans.length;
    counted.transitions += chosen.length * (life.edited === undefined ? 2 : 3);
    return chosen;
  };

  it('settles: a second reconcile writes nothing anywhere', async () => {
    const world = await arranged(life);
    bringIn(world, life);
    await world.run(150_000);
    const before = { object: world.get(life.kind, life.name), ledger: await changes(world) };
    const writes = writesIn(world, life).length;

    world.operator.engine.again([`${life.kind}/team/${life.name}`]);
    await world.run(200_000);

    expect(readiness(world, life)).toBe(`True/${life.rests ?? 'InSync'}@1`);
    expect(world.get(life.kind, life.name)).toEqual(before.object);
    expect(await changes(world)).toEqual(before.ledger);
    expect(writesIn(world, life)).toHaveLength(writes);
  });

  it('forgets and leaks nothing: after deletion the service is as it was, and no planted secret stands anywhere', async () => {
    const world = await arranged(life);

    const wrong = await wholeLife(world, life);

    expect([...wrong, ...(await leaksOf(world, life))]).toEqual([]);
    expect(await life.made(world)).toHaveLength(life.stays === true ? 1 : 0);
  });

  it.each([
    ['every outcome of each important, and a sample of the other, call to the service', outcomesOf],
    ['the death of the process around each important, and a sample of the other, call to the service', deathsAtCallsOf],
    [
      'failures and the death of the process before and after each important, and a sample of the other, write to Kubernetes',
      faultsOfWritesOf,
    ],
  ])(
    'survives %s',
    async (_what, plansOf) => {
      const wrong: string[] = [];
      for (const plan of chosenFrom(await plansOf(life))) {
        const lived = await lifeWith(life, plan);
        wrong.push(...lived.wrong.map((flaw) => `${planInWords(plan)} (${lived.met.join(', ')}): ${flaw}`));
      }
      expect(wrong).toEqual([]);
    },
    300_000,
  );
});

it('a secret that is written anywhere counts as a leak', async () => {
  const world = await arranged({ arrange: async () => undefined });
  world.apply('ContactPoint', 'told', { name: 'planted-Told', email: { addresses: ['they@example.com'] } });

  expect(await leaksOf(world, { planted: ['planted-Told', 'planted-Kept'] })).toEqual([
    'planted-Told is written somewhere',
  ]);
});
