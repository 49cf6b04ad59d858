/** What status says of a create whose answer was lost: that it is in doubt, and when that ends. */
import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, messageOf, statusOf } from '../../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const moment = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/;

interface Row {
  readonly kind: string;
  readonly spec: object;
  readonly path: string;
}

const rows: readonly Row[] = [
  { kind: 'ContactPoint', spec: mail, path: '/contact-point' },
  {
    kind: 'MetricAlert',
    spec: {
      environmentRef: { externalId: 'env_web_prod' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      contactPointRefs: [{ name: 'ops' }],
    },
    path: '/app-env/alert',
  },
  {
    kind: 'HostedApp',
    spec: { name: 'api', port: 8080, image: { reference: 'registry.example.com/api:1' } },
    path: '/app',
  },
  {
    kind: 'SolutionInstallation',
    spec: { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' },
    path: '/solutions',
  },
  {
    kind: 'AppEnvironment',
    spec: { externalId: 'env_web_prod', deploy: { image: 'registry.example.com/web:2', onBind: 'Deploy' } },
    path: '/app-env/deploy-image',
  },
];

/** An object of this kind whose first call is lost on its way. */
async function inDoubt({ kind, spec, path }: Row) {
  const world = await aWorld();
  world.apply('ContactPoint', 'ops', mail);
  await world.run(70_000);
  let calls = 0;
  world.interference = ({ method, path: at }) =>
    method === 'POST' && at.endsWith(path) && (calls += 1) === 1 ? 'loseBefore' : undefined;
  world.apply(kind, 'new', spec);
  await world.run(20_000);
  return { world, calls: () => calls };
}

describe('a create whose answer was lost', () => {
  it.each(rows)('says InDoubt and until when: $kind', async (row) => {
    const { world, calls } = await inDoubt(row);

    expect(conditionOf(world, row.kind, 'new')).toBe('False/InDoubt');
    const [until = ''] = moment.exec(messageOf(world, row.kind, 'new')) ?? [];
    const inMs = Date.parse(until) - world.clock.wall();
    expect(inMs).toBeGreaterThan(0);
    await world.run(inMs - 1_000);
    expect([conditionOf(world, row.kind, 'new'), calls()]).toEqual(['False/InDoubt', 1]);
    await world.run(30_000);
    expect(calls()).toBe(2);
  });

  it.each(rows)('says until when although the service cannot be read meanwhile: $kind', async (row) => {
    const { world } = await inDoubt(row);
    world.interference = () => 'refuseConnection';

    await world.run(70_000);

    expect(conditionOf(world, row.kind, 'new')).toMatch(/^False/);
    expect(messageOf(world, row.kind, 'new')).toMatch(moment);
    expect(messageOf(world, row.kind, 'new')).toMatch(/answer|outcome/u);
    expect(statusOf(world, row.kind, 'new')).toHaveProperty('internal.journal');
  });

  it.each(rows)('says until when although its account cannot be used meanwhile: $kind', async (row) => {
    const { world } = await inDoubt(row);

    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088' });
    await world.run(30_000);

    expect(conditionOf(world, row.kind, 'new')).toBe('False/AccountNotReady');
    expect(messageOf(world, row.kind, 'new')).toMatch(moment);
  });
});

describe('a protection whose setting up has no answer', () => {
  it('says InDoubt, and when the same is sent again', async () => {
    const world = await aWorld();
    world.interference = ({ path }) => (path.endsWith('/configure') ? 'loseBefore' : undefined);
    world.apply('DisasterProtection', 'prot', {
      environmentRef: { externalId: 'env_web_prod' },
      destinationRegion: 'us-east',
      protectionMode: 'Cold',
    });
    const said = new Set<string>();
    for (let at = 0; at < 6; at += 1) {
      await world.run(20_000);
      said.add(messageOf(world, 'DisasterProtection', 'prot'));
    }

    expect(conditionOf(world, 'DisasterProtection', 'prot')).toBe('False/InDoubt');
    expect([...said]).toEqual([expect.stringContaining('the operator repeats the same request every 15 s')]);
  });
});
