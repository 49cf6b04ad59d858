import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { aBreakableStage, loseEtcd } from './support/stages/breakable-stage.ts';
import { eventually } from './support/kubernetes.ts';
import { Tenant, type TenantKind } from './support/stages/tenant.ts';

/* Faults that the other tests know one by one come together, on an operator that is started again when it ends. */

const email = { email: { addresses: ['ops@example.com'] } };
/*
 * A lease that is long enough for a busy machine: an operator that lost it and started again while the namespace goes would find the account's
 * Secret gone, and rightly wait for a person.
 */
const stage = aBreakableStage('--leader-elect', 'on', '--lease-seconds', '30');

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

/** Trouble for calls, each kind of it in turn, for one way to write and for reads; the next one when the one before has been met. */
class Trouble {
  /** How many a call has met. */
  met = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(method: 'POST' | 'DELETE') {
    this.#running = this.#run(method);
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#running;
    await stage().service.control('DELETE', '/faults');
  }

  async #run(method: 'POST' | 'DELETE'): Promise<void> {
    while (!this.#isOver) {
      const effect = effects[this.met % effects.length];
      const match = { method: this.met % 3 === 2 ? 'GET' : method, skip: this.met % 2, count: 1 };
      await stage().service.control('POST', '/faults', { match, effect });
      while (!this.#isOver && !(await isMet())) await sleep(50);
      if (!this.#isOver) this.met += 1;
    }
  }
}

async function isMet(): Promise<boolean> {
  const { items } = (await stage().service.control('GET', '/faults')) as { items: readonly unknown[] };
  return items.length === 0;
}

/** Cuts every connection to Kubernetes, until the operator has tried in vain to open new ones. */
async function cut(): Promise<void> {
  const { gate } = stage();
  const before = gate.refused();
  gate.cut();
  await eventually('the operator has noticed', async () => gate.refused() > before + 5);
  gate.open();
}

/** Who was created more than once, and who is there more than once. */
async function doubled(tenant: Tenant): Promise<readonly string[]> {
  const names = (await tenant.contactPoints()).map(({ name }) => name);
  return names.filter((name, at) => names.indexOf(name) !== at);
}

describe('an operator that everything happens to at once', () => {
  it('makes everything once, and says so in the end', async () => {
    const tenant = await Tenant.arrive(stage().api, stage().service);
    await tenant.openAccount({ budget: { requestsPerSecond: 50, concurrency: 8 } });
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    const trouble = new Trouble('POST');
    onTestFinished(() => trouble.end());
    const isInSync = async (kind: TenantKind, name: string) =>
      (await tenant.condition(kind, name, 'Ready'))?.reason === 'InSync';
    let count = 0;

    for (let n = 0; n < 26 || trouble.met < 2 * effects.length; n += 1) {
      count += 1;
      const { met } = trouble;
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
      if (n === 9) await tenant.openAccount({ budget: { requestsPerSecond: 50, concurrency: 8 } });
      if (n === 12) await loseEtcd(stage());
      if (n === 18) stage().operator.current.signal('SIGKILL');
      if (n % 6 === 4) await cut();
      // Without its credentials nothing is asked of the service.
      if (n >= 6 && n < 9) continue;
      const isMade = async () => (await isInSync('ContactPoint', `cp-${n}`)) && isInSync('MetricAlert', `alert-${n}`);
      await eventually('the next trouble is met, or met no call', async () => trouble.met > met || isMade());
    }
    await cut();
    await trouble.end();

    for (let n = 0; n < count; n += 1) {
      await tenant.becomes('ContactPoint', `cp-${n}`, 'True/InSync');
      await tenant.becomes('MetricAlert', `alert-${n}`, 'True/InSync');
    }
    expect(await doubled(tenant)).toEqual([]);
    expect(await tenant.commits('contactPoint.created')).toBe(count);
    expect(await tenant.commits('alert.created')).toBe(count);
  });

  it('leaves nothing behind without a word when a namespace goes in the middle of it', async () => {
    const tenant = await Tenant.arrive(stage().api, stage().service);
    await tenant.openAccount({ budget: { requestsPerSecond: 50, concurrency: 8 } });
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    const making = new Trouble('POST');
    onTestFinished(() => making.end());
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

    await eventually('an alert is made', async () => (await tenant.commits('alert.created')) > 0);
    await making.end();
    const leaving = new Trouble('DELETE');
    onTestFinished(() => leaving.end());
    await tenant.leave();
    await eventually('the namespace has gone', () => tenant.hasLeft());
    // Trouble that nobody has met would meet the requests of this test.
    await leaving.end();

    expect(making.met).toBeGreaterThan(0);
    expect(leaving.met).toBeGreaterThan(0);
    expect(await tenant.commits('alert.deleted')).toBe(await tenant.commits('alert.created'));
    const left = await tenant.contactPoints();
    const log = stage().operator.printed();
    expect(left.filter(({ contactPointId }) => !log.includes(contactPointId))).toEqual([]);
  });
});
