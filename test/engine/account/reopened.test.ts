import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf } from '../../kinds/support/world.ts';
import { atFirst } from '../../support/disturbed-wire.ts';

describe('an account whose settings change while the service asked it to wait', () => {
  it('goes on waiting, and goes on saying so', async () => {
    const world = await aWorld();
    world.interference = atFirst('POST', { insteadOf: { status: 429, headers: { 'retry-after': '600' } } });
    world.apply('ContactPoint', 'cp', { email: { addresses: ['a@example.com'] } });
    await world.run(20_000);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
    const before = world.calls;

    world.account({ budget: { requestsPerSecond: 1 } });
    await world.run(300_000);

    expect(world.calls).toBe(before);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
    await world.run(320_000);
    expect(conditionOf(world, 'ContactPoint', 'cp')).toBe('True/InSync');
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('False/NotThrottled');
  });
});
