import { describe, expect, it } from 'vitest';
import { OperatorKey } from '../../../src/engine/kind/planner/compare.ts';
import { Secret } from '../../../src/base/json.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, statusOf } from '../../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const alert = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: [{ name: 'ops' }],
};
const alertResource = { group: 'apphosting.dev', version: 'v1alpha1', plural: 'metricalerts', namespaced: true };

async function aUsedAccount(): Promise<InProcess> {
  const world = await aWorld();
  world.apply('ContactPoint', 'ops', mail);
  for (const name of ['cpu', 'lost']) world.apply('MetricAlert', name, alert);
  world.apply('MetricAlert', 'waits', { ...alert, contactPointRefs: [{ name: 'missing' }] });
  await world.run(60_000);
  return world;
}

/** Somebody removes a resource in a way that leaves its object behind. */
function tearOff(world: InProcess, name: string): void {
  const known = world.get('MetricAlert', name);
  if (known === undefined) throw new Error(`${name} is not there`);
  const { finalizers: _torn, ...metadata } = known.metadata;
  world.cluster.update(alertResource, 'team', name, { ...known, metadata }, 'object');
  world.cluster.delete(alertResource, 'team', name);
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

    tearOff(world, 'lost');
    await world.run(60_000);
    expect(accountOf(world)['orphans']).toBeUndefined();
    await world.run(600_000);
    expect(accountOf(world)['orphans']).toEqual([{ type: 'alert', externalId: alertId, name: 'lost' }]);
    expect(world.operator.engine.metricsSnapshot().accounts).toEqual([
      { account: 'team/default', resources: 3, orphans: 1 },
    ]);
    expect((await world.ledger()).filter(({ kind }) => kind === 'alert.deleted')).toEqual([]);

    world.apply('MetricAlert', 'found', { ...alert, name: 'lost', externalId: alertId });
    await world.run(600_000);
    expect(accountOf(world)['orphans']).toBeUndefined();
  });

  it('leaves the marks of other operators alone', async () => {
    const world = await aUsedAccount();
    const theirs = new OperatorKey(new Secret('a key of somebody else')).marker('127.0.0.1:8088', 'acc_demo', 'uid');
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
