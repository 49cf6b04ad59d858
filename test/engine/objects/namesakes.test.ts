import { describe, expect, it } from 'vitest';
import { aWorld, commits, conditionOf } from '../../kinds/support/world.ts';

const mail = { name: 'shared', email: { addresses: ['a@example.com'] } };

describe('two resources of one name in the service', () => {
  it('take turns though the watch is slow to tell what was written', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'first', mail);
    world.apply('ContactPoint', 'second', mail);
    await world.run(1);
    world.kube.watchLagMs = 4_000;

    await world.run(60_000);

    expect(conditionOf(world, 'ContactPoint', 'first')).toBe('True/InSync');
    expect(conditionOf(world, 'ContactPoint', 'second')).toBe('True/InSync');
    expect((await commits(world)).filter(({ kind }) => kind === 'contactPoint.created')).toHaveLength(2);
  });
});

describe('a resource that is deleted and applied again while the lists lag', () => {
  it('makes its object anew, and is not told to take over the one that has just gone', async () => {
    const world = await aWorld({ readings: { 'lists.lagMs': 60_000 } });
    await world.run(70_000);
    world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
    await world.run(120_000);
    world.delete('ContactPoint', 'on-call');
    await world.run(5_000);
    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();

    world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
    await world.run(10_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
    await world.run(200_000);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
    expect((await world.ledger()).map(({ kind }) => kind)).toEqual([
      'contactPoint.created',
      'contactPoint.deleted',
      'contactPoint.created',
    ]);
  });
});
