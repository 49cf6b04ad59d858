import { describe, expect, it } from 'vitest';
import { OperatorKey } from '../../../src/engine/kind/planner/compare.ts';
import { Secret } from '../../../src/base/json.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, committed, statusOf, tearOff } from '../../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const alert = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: [{ name: 'ops' }],
};

async function aUsedAccount(): Promise<InProcess> {
  const world = await aWorld();
  world.apply('ContactPoint', 'ops', mail);
  for (const name of ['cpu', 'lost']) world.apply('MetricAlert', name, alert);
  world.apply('MetricAlert', 'waits', { ...alert, contactPointRefs: [{ name: 'missing' }] });
  await world.run(60_000);
  return world;
}

const accountOf = (world: InProcess) => statusOf(world, 'HostingAccount', 'default');

describe('an account', () => {
  it('counts what uses it, and writes that once for many changes and never without one', async () => {
    const world = await aUsedAccount();
    expect(accountOf(world)).toMatchObject({
      counts: [
        { kind: 'ContactPoint', total: 1, ready: 1 },
        { kind: 'MetricAlert', total: 3, ready: 2 },
      ],
    });
    const writes = () =>
      world.kube.calls.filter(({ verb, plural }) => verb === 'replaceStatus' && plural === 'hostingaccounts').length;
    expect(writes()).toBeLessThanOrEqual(3);
    const before = writes();

    await world.run(7_200_000);

    expect(writes()).toBe(before);
  });

  it('names what carries our mark and has no resource, and no longer when it is gone or has one again', async () => {
    const world = await aUsedAccount();
    const { externalId: alertId } = statusOf(world, 'MetricAlert', 'lost') as { externalId: string };

    tearOff(world, 'MetricAlert', 'lost');
    await world.run(60_000);
    expect(accountOf(world)['orphans']).toBeUndefined();
    await world.run(600_000);
    expect(accountOf(world)['orphans']).toEqual([{ type: 'alert', externalId: alertId, name: 'lost' }]);
    expect(world.operator.engine.metricsSnapshot().accounts).toEqual([
      { account: 'team/default', resources: 3, orphans: 1 },
    ]);
    expect(await committed(world, 'alert.deleted')).toBe(0);

    world.apply('MetricAlert', 'found', { ...alert, name: 'lost', externalId: alertId });
    await world.run(600_000);
    expect(accountOf(world)['orphans']).toBeUndefined();
  });

  it('leaves the marks of other operators alone', async () => {
    const world = await aUsedAccount();
    const theirs = new OperatorKey(new Secret('a key of somebody else')).mark('127.0.0.1:8088', 'acc_demo', 'uid');
    const { externalId: contactPointId } = statusOf(world, 'ContactPoint', 'ops') as { externalId: string };
    await world.request('POST', '/app-env/alert', {
      appEnvId: 'env_web_prod',
      name: 'theirs',
      description: theirs,
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      threshold: 5,
      duration: '5m',
      contactPointIds: [contactPointId],
    });

    await world.run(3_600_000);

    expect(accountOf(world)['orphans']).toBeUndefined();
  });
});
