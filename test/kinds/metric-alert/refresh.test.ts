import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, statusOf } from '../support/world.ts';

function alerting(world: InProcess, refreshSeconds: number): void {
  world.apply('MetricAlert', 'cpu', {
    environmentRef: { externalId: 'env_web_prod' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    refreshSeconds,
    contactPointRefs: [{ name: 'cp' }],
  });
}

describe('the pace at which the state of an alert is asked for', () => {
  it.each([
    [30, 600],
    [600, 30],
  ])('is that of the newest spec: after every %s s every %s s', async (first, then) => {
    const world = await aWorld();
    world.apply('ContactPoint', 'cp', { email: { addresses: ['a@example.com'] } });
    const refreshes = () => world.sent.filter(({ path }) => path.endsWith('/alert/refresh')).length;
    alerting(world, first);
    await world.run(300_000);

    alerting(world, then);
    await world.run(60_000);
    const before = refreshes();
    await world.run(10_000 * then);

    expect((refreshes() - before) / 10).toBeGreaterThan(0.8);
    expect((refreshes() - before) / 10).toBeLessThan(1.2);
  });

  it('stands in the status of the account, however much room the budget has', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'cp', { email: { addresses: ['a@example.com'] } });

    alerting(world, 600);
    await world.run(300_000);

    const { intervals } = statusOf(world, 'HostingAccount', 'default');
    expect(intervals).toContainEqual({ name: 'alert states', seconds: 600 });
  });

  it('does not have the account written by itself', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'cp', { email: { addresses: ['a@example.com'] } });
    alerting(world, 600);
    await world.run(300_000);
    const version = () => world.get('HostingAccount', 'default')?.metadata.resourceVersion;
    const before = version();

    alerting(world, 30);
    await world.run(3_600_000);

    expect(version()).toBe(before);
  });
});
