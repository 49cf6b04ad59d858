import { describe, expect, it } from 'vitest';
import { aWorld, commits, conditionOf, eventsOf } from '../../kinds/support/world.ts';

const names = Array.from({ length: 40 }, (_, index) => `cp-${index}`);

describe('a token that is rotated', () => {
  it.each([100, 600, 1_200])('costs no call and no word when it comes %i ms into forty creations', async (afterMs) => {
    const world = await aWorld({ workers: 32 });
    await world.control('POST', '/tokens', {
      token: 'demo-second',
      memberships: [{ accountId: 'acc_demo', role: 'admin', permissions: ['manageMembers', 'secretsAccess'] }],
    });
    world.account({ budget: { requestsPerSecond: 200, concurrency: 16 } });
    await world.run(30_000);
    world.kubeLatencyMs = 30;
    const slow = { match: { method: 'POST', path: '/contact-point', count: 1_000 }, effect: { delayMs: 400 } };
    await world.control('POST', '/faults', slow);
    for (const name of names) world.apply('ContactPoint', name, { email: { addresses: ['a@example.com'] } });

    await world.run(afterMs);
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-second' });
    await world.run(20_000);

    expect(names.filter((name) => conditionOf(world, 'ContactPoint', name) !== 'True/InSync')).toEqual([]);
    expect((await commits(world)).filter(({ kind }) => kind === 'contactPoint.created')).toHaveLength(names.length);
    expect(eventsOf(world).filter((text) => /InternalError|InDoubt|ServiceUnavailable/.test(text))).toEqual([]);
    expect(world.trace.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });

  it('leaves a call that is under way to its end', async () => {
    const world = await aWorld();
    const slow = { match: { method: 'POST', path: '/contact-point', count: 1 }, effect: { delayMs: 8_000 } };
    await world.control('POST', '/faults', slow);
    world.apply('ContactPoint', 'cp', { email: { addresses: ['a@example.com'] } });
    world.apply('ContactPoint', 'other', { email: { addresses: ['a@example.com'] } });
    await world.run(2_500);

    world.account({ budget: { requestsPerSecond: 9 } });
    world.apply('ContactPoint', 'late', { email: { addresses: ['a@example.com'] } });
    await world.run(4_000);
    const meanwhile = conditionOf(world, 'ContactPoint', 'late');
    await world.run(10_000);

    expect(meanwhile).toBe('True/InSync');
    expect(conditionOf(world, 'ContactPoint', 'cp')).toBe('True/InSync');
    expect(eventsOf(world).filter((text) => /InDoubt|ServiceUnavailable/.test(text))).toEqual([]);
  });
});
