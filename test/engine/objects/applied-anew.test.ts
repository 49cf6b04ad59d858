import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, messageOf } from '../../kinds/support/world.ts';

const kept = { lifecycle: { onDelete: 'Retain' } };
const made = {
  SolutionInstallation: { spec: { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' }, commits: 3 },
  HostedApp: { spec: { name: 'shop', port: 3000, image: { reference: 'r/shop:1' } }, commits: 1 },
  ContactPoint: { spec: { name: 'ops', email: { addresses: ['a@example.com'] }, ...kept }, commits: 1 },
};

/** A world whose lists are a minute old, with a resource that was made a moment ago and is gone again. */
async function goneAtOnce(kind: keyof typeof made): Promise<InProcess> {
  const world = await aWorld({ readings: { 'lists.lagMs': 60_000 } });
  world.apply(kind, 'first', made[kind].spec);
  await world.run(5_000);
  world.delete(kind, 'first');
  await world.run(5_000);
  expect([world.get(kind, 'first'), await created(world)]).toEqual([undefined, made[kind].commits]);
  return world;
}

async function created(world: InProcess): Promise<number> {
  return (await world.ledger()).filter(({ kind }) => kind === 'app.created' || kind === 'contactPoint.created').length;
}

describe.each(Object.keys(made) as (keyof typeof made)[])('a %s that left what it made', (kind) => {
  const { spec, commits } = made[kind];

  it.each(['first', 'second'])(
    'is not made once more when it is applied anew as "%s" before the lists show it',
    async (name) => {
      const world = await goneAtOnce(kind);
      world.apply(kind, name, spec);
      await world.run(10_000);
      const held = [conditionOf(world, kind, name), messageOf(world, kind, name)];
      await world.run(600_000);

      expect(held).toEqual([
        'False/CreateInProgress',
        expect.stringContaining(`${kind} team/first (deleted, or no longer watched)`),
      ]);
      expect([conditionOf(world, kind, name), await created(world)]).toEqual(['False/AlreadyExists', commits]);
    },
  );
});

describe('a name', () => {
  it('is free at once when what had it was deleted in the service, too', async () => {
    const world = await aWorld();
    const mail = { name: 'ops', email: { addresses: ['a@example.com'] } };
    world.apply('ContactPoint', 'first', mail);
    await world.run(5_000);
    world.delete('ContactPoint', 'first');
    await world.run(10_000);

    world.apply('ContactPoint', 'first', mail);
    await world.run(10_000);

    expect(conditionOf(world, 'ContactPoint', 'first')).toBe('True/InSync');
  });
});
