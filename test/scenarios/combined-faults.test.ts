import { describe, expect, it } from 'vitest';
import { aBreakableStage, loseEtcd } from './support/breakable-stage.ts';
import { eventually } from './support/kubernetes.ts';
import { Tenant } from './support/tenant.ts';

/* Faults that the other tests know one by one come together, on an operator that is started again when it ends. */

const email = { email: { addresses: ['ops@example.com'] } };
const stage = aBreakableStage('--horizon-seconds', '5');

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What may happen to a call that changes something. */
const effects: readonly object[] = [
  { dropAfter: true },
  { dropBefore: true },
  { status: 429, headers: { 'retry-after': '1' } },
  { status: 500 },
  { commitThen: { status: 502 } },
  { garbage: true },
  { emptyBody: true },
  { hugeBody: 9_000_000 },
  { truncate: 20 },
  { delayMs: 1_500 },
];

/** Meets calls with trouble until it is told to stop: each kind of it in turn, for writes and for reads. */
async function trouble(isOn: () => boolean): Promise<void> {
  for (let turn = 0; isOn(); turn += 1) {
    const effect = effects[turn % effects.length];
    const match = turn % 3 === 2 ? { method: 'GET' } : { method: 'POST' };
    await stage().service.control('POST', '/faults', { match: { ...match, skip: turn % 4, count: 1 }, effect });
    await sleep(400);
  }
  await stage().service.control('DELETE', '/faults');
}

/** Cuts every connection to Kubernetes every few seconds. */
async function cuts(isOn: () => boolean): Promise<void> {
  while (isOn()) {
    await sleep(3_000);
    stage().gate.cut();
    await sleep(300);
    stage().gate.open();
  }
}

/** Who was created more than once, and who is there more than once. */
async function doubled(tenant: Tenant): Promise<readonly string[]> {
  const names = (await tenant.contactPoints()).map(({ name }) => name);
  return names.filter((name, at) => names.indexOf(name) !== at);
}

describe('an operator that everything happens to at once', () => {
  it('makes everything once, and says so in the end', async () => {
    const tenant = await Tenant.arrive(stage().api, stage().service);
    await tenant.openAccount({ pollSeconds: 10, budget: { requestsPerSecond: 50, concurrency: 8 } });
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    let isOn = true;
    const chaos = [trouble(() => isOn), cuts(() => isOn)];
    const count = 26;

    for (let n = 0; n < count; n += 1) {
      await tenant.apply('ContactPoint', `cp-${n}`, email);
      const contactPointRefs = [{ name: `cp-${n}` }];
      const spec = {
        environmentRef: { externalId: tenant.appEnvId },
        metric: 'cpu_percent',
        operator: 'GreaterThan',
        contactPointRefs,
      };
      await tenant.apply('MetricAlert', `alert-${n}`, spec);
      if (n === 6) await tenant.removeSecret('hosting-credentials');
      if (n === 9) await tenant.openAccount({ pollSeconds: 10, budget: { requestsPerSecond: 50, concurrency: 8 } });
      if (n === 12) await loseEtcd(stage(), 2_000);
      if (n === 18) stage().operator.current.signal('SIGKILL');
      await sleep(300);
    }
    await sleep(10_000);
    isOn = false;
    await Promise.all(chaos);

    for (let n = 0; n < count; n += 1) {
      await tenant.becomes('ContactPoint', `cp-${n}`, 'True/InSync', 200_000);
      await tenant.becomes('MetricAlert', `alert-${n}`, 'True/InSync', 200_000);
    }
    expect(await doubled(tenant)).toEqual([]);
    expect(await tenant.commits('contactPoint.created')).toBe(count);
    expect(await tenant.commits('alert.created')).toBe(count);
  });

  it('leaves nothing behind without a word when a namespace goes in the middle of it', async () => {
    const tenant = await Tenant.arrive(stage().api, stage().service);
    await tenant.openAccount({ pollSeconds: 10, budget: { requestsPerSecond: 50, concurrency: 8 } });
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    let isOn = true;
    const chaos = trouble(() => isOn);
    await tenant.apply('AppEnvironment', 'prod', { externalId: tenant.appEnvId });
    for (let n = 0; n < 25; n += 1) {
      await tenant.apply('ContactPoint', `cp-${n}`, email);
      const contactPointRefs = [{ name: `cp-${n}` }];
      const spec = {
        environmentRef: { name: 'prod' },
        metric: 'cpu_percent',
        operator: 'GreaterThan',
        contactPointRefs,
      };
      await tenant.apply('MetricAlert', `alert-${n}`, spec);
    }

    await tenant.leave();
    await sleep(5_000);
    isOn = false;
    await chaos;

    await eventually('the namespace has gone', () => tenant.hasLeft(), 300_000);
    expect(await tenant.commits('alert.deleted')).toBe(await tenant.commits('alert.created'));
    const left = await tenant.contactPoints();
    const log = stage().operator.printed();
    expect(left.filter(({ contactPointId }) => !log.includes(contactPointId))).toEqual([]);
  });
});
