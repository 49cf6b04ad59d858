import { describe, expect, it } from 'vitest';
import { aProtectedWorld, anActivation, committed, conditionOf, flaws, sentenceOf, statusOf } from './support.ts';

describe('an activation against the service in a box', () => {
  it('protects, activates once, mirrors the end and is left alone', async () => {
    const world = await aProtectedWorld();
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('True/InSync');
    world.apply('RecoveryActivation', 'now', anActivation(world));
    for (let i = 0; i < 12; i += 1) {
      await world.run(60_000);
    }

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Succeeded')).toBe('True/Succeeded');
    expect(flaws(world, ['DisasterProtection', 'orders'], ['RecoveryActivation', 'now'])).toEqual([]);
  });
});
