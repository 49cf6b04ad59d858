/** Two account resources that stand for one account of the service, each with a token of its own. */
import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, messageOf, statusOf } from '../../kinds/support/world.ts';
import type { InProcess } from '../../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const cpu = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  refreshSeconds: 0,
};

/** An account in the namespace `team`, and one in the namespace `other`. */
async function twoAccounts(): Promise<InProcess> {
  const world = await aWorld();
  world.account({}, 'other');
  world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin-no-secrets' }, 'other');
  await world.run(5_000);
  return world;
}

function inOther(world: InProcess, kind: string, name: string): Readonly<Record<string, unknown>> {
  return (world.get(kind, name, 'other')?.status ?? {}) as Readonly<Record<string, unknown>>;
}

function readyInOther(world: InProcess, kind: string, name: string): string {
  const { conditions = [] } = inOther(world, kind, name) as {
    conditions?: readonly { type: string; reason: string; message: string }[];
  };
  const ready = conditions.find(({ type }) => type === 'Ready');
  return `${ready?.reason}: ${ready?.message}`;
}

const contested: readonly { kind: string; spec: object }[] = [
  {
    kind: 'HostedApp',
    spec: { externalId: 'app_web', name: 'web', port: 8080, image: { reference: 'r.example.com/w:1' } },
  },
  { kind: 'AppEnvironment', spec: { externalId: 'env_web_prod' } },
  { kind: 'MemberAccess', spec: { externalId: 'mem_demo', access: 'Full' } },
  {
    kind: 'DisasterProtection',
    spec: { environmentRef: { externalId: 'env_web_prod' }, destinationRegion: 'us-east', protectionMode: 'Cold' },
  },
];

describe('two account resources for one account of the service', () => {
  it.each(contested)('have one owner of one thing between them: $kind', async ({ kind, spec }) => {
    const world = await twoAccounts();
    world.apply(kind, 'one', spec);
    await world.run(70_000);

    world.apply(kind, 'one', spec, {}, 'other');
    await world.run(120_000);

    expect(conditionOf(world, kind, 'one')).not.toBe('False/Claimed');
    expect(readyInOther(world, kind, 'one')).toMatch(new RegExp(`^Claimed: .*${kind} team/one`));
  });

  it('make one thing of a name after the other, also when an answer is lost', async () => {
    const world = await twoAccounts();
    const times: number[] = [];
    world.interference = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/contact-point')) return undefined;
      times.push(world.clock.monotonic());
      return times.length === 1 ? { lateMs: 60_000 } : undefined;
    };

    world.apply('ContactPoint', 'on-call', mail);
    world.apply('ContactPoint', 'on-call', mail, {}, 'other');
    await world.run(600_000);

    const ids = [statusOf(world, 'ContactPoint', 'on-call'), inOther(world, 'ContactPoint', 'on-call')].map(
      ({ externalId }) => externalId,
    );
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(undefined);
    expect(times).toHaveLength(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
  });

  it('call nothing orphaned that the other one has', async () => {
    const world = await twoAccounts();
    for (const within of ['team', 'other']) {
      world.apply('ContactPoint', `ops-${within}`, mail, {}, within);
      const told = { ...cpu, contactPointRefs: [{ name: `ops-${within}` }] };
      world.apply('MetricAlert', `cpu-${within}`, told, {}, within);
    }

    await world.run(900_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu-team')).toBe('True/InSync');
    expect(readyInOther(world, 'MetricAlert', 'cpu-other')).toContain('InSync');
    expect(statusOf(world, 'HostingAccount', 'default')['orphans']).toBeUndefined();
    expect(inOther(world, 'HostingAccount', 'default')['orphans']).toBeUndefined();
  });

  it('delete nothing that the other one still holds back', async () => {
    const world = await twoAccounts();
    world.apply('ContactPoint', 'ops', mail);
    await world.run(10_000);
    const { externalId: contactPointId } = statusOf(world, 'ContactPoint', 'ops') as { externalId: string };
    world.apply('MetricAlert', 'cpu', { ...cpu, contactPointRefs: [{ externalId: contactPointId }] }, {}, 'other');
    await world.run(60_000);

    world.delete('ContactPoint', 'ops');
    await world.run(10_000);
    expect(messageOf(world, 'ContactPoint', 'ops')).toContain('one alert uses the contact point');
    world.delete('MetricAlert', 'cpu', 'other');
    await world.run(40_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
  });
});
