import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { aWorld, conditionOf } from '../kinds/support/world.ts';

const address = 'https://wiki.example.com/runbooks/cpu?key=s3cret';
const alert = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: [{ name: 'ops' }],
};

/** A world in which two namespaces share an account, and `other` passes on a secret of this value. */
async function aSharedWorld(value: string): Promise<InProcess> {
  const world = await aWorld();
  world.secret('shared', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin' }, 'apphosting-system');
  world.apply('ClusterHostingAccount', 'shared', {
    externalId: 'acc_demo',
    credentialsRef: { name: 'shared' },
    lifecycle: { adoption: 'ById' },
    allowedNamespaces: { names: ['team', 'other'] },
  });
  await world.run(10_000);
  const accountRef = { kind: 'ClusterHostingAccount', name: 'shared' };
  world.secret('theirs', { url: value }, 'other');
  const webhook = { url: { valueFrom: { secretKeyRef: { name: 'theirs', key: 'url' } } } };
  world.apply('ContactPoint', 'theirs', { accountRef, webhook }, {}, 'other');
  world.apply('ContactPoint', 'ops', {
    accountRef,
    name: 'On call: 90% #1 (web)',
    email: { addresses: ['a@example.com'] },
  });
  await world.run(10_000);
  return world;
}

const accountRef = { kind: 'ClusterHostingAccount', name: 'shared' };

describe('an alert in whose text stands what another namespace calls a secret', () => {
  it.each([
    ['all of it', address],
    ['how it begins', 'https://wiki.example.com'],
    ['a part of its name', '90% #1 (web)'],
  ])('is in sync, and is not changed again and again: %s', async (_what, value) => {
    const world = await aSharedWorld(value);
    const spec = { ...alert, accountRef, name: 'CPU > 90% #1 (web)', description: `Runbook: ${address}` };
    world.apply('MetricAlert', 'cpu', spec);

    await world.run(3_600_000);

    expect([conditionOf(world, 'ContactPoint', 'ops'), conditionOf(world, 'MetricAlert', 'cpu')]).toEqual([
      'True/InSync',
      'True/InSync',
    ]);
    expect(world.sent.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });
});
