import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, messageOf } from '../../kinds/support/world.ts';

const deploy = { image: 'registry.example.com/team/web:1' };
const large = { command: ['serve'], args: Array.from({ length: 100 }, () => 'x'.repeat(14_000)) };

describe('an object of 1.4 MB', () => {
  it('is told so on itself, disturbs no other, and is looked after again when it is smaller', async () => {
    const world = await aWorld();
    world.apply('AppEnvironment', 'large', { externalId: 'env_web_prod', deploy: { ...deploy, ...large } });
    world.apply('ContactPoint', 'good', { email: { addresses: ['a@example.com'] } });
    await world.run(30_000);

    expect(conditionOf(world, 'ContactPoint', 'good')).toBe('True/InSync');
    expect(conditionOf(world, 'AppEnvironment', 'large')).toBe('False/InvalidSpec');
    expect(messageOf(world, 'AppEnvironment', 'large')).toContain('spec: the spec is larger than 512 kB');
    const calls = world.kube.calls.length;
    await world.run(600_000);
    expect(
      world.kube.calls.slice(calls).filter(({ verb, name }) => verb === 'replaceStatus' && name === 'large'),
    ).toEqual([]);
    world.apply('AppEnvironment', 'large', { externalId: 'env_web_prod', deploy });
    await world.run(120_000);

    expect(conditionOf(world, 'AppEnvironment', 'large')).toMatch(/^True\//u);
  });
});
