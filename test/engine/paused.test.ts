import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, statusOf } from '../kinds/support/world.ts';

const paused = { 'apphosting.dev/paused': 'true' };
const mail = { email: { addresses: ['a@example.com'] } };

describe('a paused object', () => {
  it('says so although it was never looked at, and nothing is sent for it', async () => {
    const world = await aWorld();
    const { calls } = world;
    world.apply('ContactPoint', 'on-call', mail, paused);

    await world.run(5_000);

    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({ observedGeneration: 1 });
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('Unknown/Paused');
    expect(conditionOf(world, 'ContactPoint', 'on-call', 'Synced')).toBe('Unknown/Paused');
    expect(world.calls).toBe(calls);
  });

  it('keeps what was said of the generation that was looked at, and does not speak for a newer one', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.apply('ContactPoint', 'on-call', mail, paused);
    await world.run(5_000);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');

    world.apply('ContactPoint', 'on-call', { ...mail, name: 'other' }, paused);
    await world.run(5_000);

    statusOf(world, 'ContactPoint', 'on-call');
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('Unknown/Paused');
  });

  it('is not deleted from the service before it goes on', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.apply('ContactPoint', 'on-call', mail, paused);
    world.delete('ContactPoint', 'on-call');
    await world.run(600_000);
    expect(world.get('ContactPoint', 'on-call')).toBeDefined();
    expect((await world.ledger()).filter(({ kind }) => kind === 'contactPoint.deleted')).toEqual([]);

    world.apply('ContactPoint', 'on-call', mail);
    await world.run(30_000);

    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();
    expect((await world.ledger()).filter(({ kind }) => kind === 'contactPoint.deleted')).toHaveLength(1);
  });
});
