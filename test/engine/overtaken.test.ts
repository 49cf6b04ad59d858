import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, statusOf } from '../kinds/support/world.ts';

const spec = { email: { addresses: ['a@example.com'] }, lifecycle: { drift: 'Report' } };

describe('a status that somebody else was faster to write', () => {
  it('is tried again ever more rarely while the watch lags, and at once when it tells what was written', async () => {
    const world = await aWorld();
    world.account({ pollSeconds: 10 });
    world.apply('ContactPoint', 'ops', spec);
    await world.run(200_000);
    const { contactPointId } = statusOf(world, 'ContactPoint', 'ops');
    world.kube.watchLagMs = 40_000;
    world.apply('ContactPoint', 'ops', spec, { 'example.com/note': 'seen late' });
    await world.request('PATCH', '/contact-point', { contactPointId, name: 'renamed' });
    const before = world.kube.calls.length;

    await world.run(39_000);
    const tries = world.kube.calls.slice(before).filter(({ verb }) => verb === 'replaceStatus').length;
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(10);
    await world.run(5_000);

    expect(conditionOf(world, 'ContactPoint', 'ops', 'Drifted')).toBe('True/Drifted');
  });
});
