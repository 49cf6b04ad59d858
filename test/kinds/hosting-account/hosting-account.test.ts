import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';
import { flawsOf } from '../../support/memory/status-checker.ts';

async function aReadyAccount(options: ConstructorParameters<typeof InProcess>[0] = {}): Promise<InProcess> {
  const world = new InProcess(options);
  await world.start();
  world.account();
  await world.run(5_000);
  return world;
}

function conditionOf(world: InProcess, kind: string, name: string, type: string): unknown {
  const { conditions = [] } = (world.get(kind, name)?.status ?? {}) as {
    conditions?: readonly { readonly type: string }[];
  };
  return conditions.find((condition) => condition.type === type);
}

describe('an account', () => {
  it('is Ready with its endpoint and catalog once the service accepts the token', async () => {
    const world = await aReadyAccount();

    const account = world.get('HostingAccount', 'default');
    expect(account?.status).toMatchObject({
      endpoint: '127.0.0.1:8088',
      catalog: {
        databasePresets: expect.arrayContaining([expect.objectContaining({ name: 'POSTGRESQL' })]),
        solutions: expect.arrayContaining([
          {
            name: 'queue-worker',
            label: 'Queue and worker',
            components: [
              { name: 'queue', preset: 'RABBITMQ' },
              { name: 'worker', preset: 'CUSTOM', dependsOn: ['queue'] },
              { name: 'api', preset: 'EXPRESS', dependsOn: ['queue', 'worker'] },
            ],
          },
        ]),
      },
    });
    expect(account && flawsOf(account)).toEqual([]);
  });

  it('shows its budget and what it is expected to ask for, anew with another spec and not by itself', async () => {
    const world = await aReadyAccount();
    const shown = () => (world.get('HostingAccount', 'default')?.status ?? {}) as Readonly<Record<string, unknown>>;
    const first = shown()['budget'];
    const { length } = world.kube.calls.filter(({ verb }) => verb === 'replaceStatus');
    await world.run(3_600_000);
    const later = world.kube.calls.filter(({ verb }) => verb === 'replaceStatus').length;

    world.account({ budget: { requestsPerSecond: 20 }, pollSeconds: 600 });
    await world.run(30_000);

    expect(first).toEqual({ requestsPerSecond: 5, concurrency: 4, forecastPerHour: expect.any(Number) });
    expect(later).toBe(length);
    expect(shown()).toMatchObject({
      budget: { requestsPerSecond: 20, concurrency: 4 },
      intervals: [{ name: 'lists', seconds: 600 }],
    });
  });

  it.each([
    { token: ' ', says: 'the value of the key "token" is empty', because: 'nothing is in it' },
    {
      token: 'a\r\nx: y',
      says: 'the value of the key "token" has characters other than printable ASCII, or two spaces in a row',
      because: 'it has lines',
    },
    {
      token: 'größe',
      says: 'the value of the key "token" has characters other than printable ASCII, or two spaces in a row',
      because: 'it is not ASCII',
    },
  ])('says which key of its Secret cannot be used: $because', async ({ token, says }) => {
    const world = await aReadyAccount();

    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token });
    await world.run(10_000);

    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toMatchObject({
      reason: 'SecretMissing',
      message: expect.stringContaining(says),
    });
  });

  it('says which Secret is missing, and goes on when it appears', async () => {
    const world = new InProcess();
    await world.start();
    world.apply('HostingAccount', 'default', { externalId: 'acc_demo', credentialsRef: { name: 'late' } });
    await world.run(2_000);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toMatchObject({
      reason: 'SecretMissing',
      message: expect.stringContaining('Secret team/late'),
    });

    world.secret('late', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin' });
    await world.run(5_000);

    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toMatchObject({ status: 'True' });
  });

  it('stalls on a token that is refused, asks rarely meanwhile, and recovers when the Secret changes', async () => {
    const world = await aReadyAccount();
    await world.control('DELETE', '/tokens/demo-admin');
    await world.run(130_000);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Stalled')).toMatchObject({ reason: 'Unauthorized' });
    const { calls } = world;
    await world.run(600_000);
    expect(world.calls - calls).toBeLessThan(25);

    await world.control('POST', '/tokens', { token: 'fresh', memberships: [{ accountId: 'acc_demo', role: 'admin' }] });
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'fresh' });
    await world.run(10_000);

    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toMatchObject({ status: 'True' });
  });

  it('sends nothing to another host until its owner accepts it', async () => {
    const world = await aReadyAccount();
    world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
    await world.run(5_000);
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.2:8088', token: 'demo-admin' });
    await world.run(5_000);
    const { calls } = world;
    await world.run(300_000);
    expect(world.calls).toBe(calls);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Stalled')).toMatchObject({ reason: 'EndpointChanged' });

    const spec = world.get('HostingAccount', 'default')?.spec as object;
    world.apply('HostingAccount', 'default', spec, { 'apphosting.dev/accept-endpoint': '127.0.0.2:8088' });
    await world.run(10_000);

    expect(world.get('HostingAccount', 'default')?.status).toMatchObject({ endpoint: '127.0.0.2:8088' });
    expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({
      internal: { binding: { endpoint: '127.0.0.2:8088' } },
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status: 'True' })]),
    });
  });

  it('does not take its resources down with it while the service is unreachable', async () => {
    const world = await aReadyAccount();
    world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
    await world.run(5_000);
    const before = world.get('ContactPoint', 'on-call');
    world.interference = () => 'refuseConnection';

    await world.run(300_000);

    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toMatchObject({ reason: 'ServiceUnavailable' });
    expect(world.get('ContactPoint', 'on-call')).toEqual(before);
  });

  it('freezes creation and deletion when what it owns suddenly does not show, and thaws when it shows again', async () => {
    const world = await aReadyAccount();
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      world.apply('ContactPoint', name, { email: { addresses: ['a@example.com'] } });
    }
    await world.run(200_000);
    const created = (await world.ledger()).filter(({ kind }) => kind === 'contactPoint.created').length;
    world.interference = ({ path }) => {
      if (path.endsWith('/contact-points')) return { insteadOf: { status: 200, text: '{"contactPoints":[]}' } };
      return path.endsWith('/contact-point') ? { insteadOf: { status: 404, text: '{"error":"no"}' } } : undefined;
    };
    await world.run(70_000);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toMatchObject({ reason: 'VisibilityLost' });

    world.interference = () => undefined;
    await world.run(200_000);

    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toMatchObject({ status: 'True' });
    expect((await world.ledger()).filter(({ kind }) => kind === 'contactPoint.created')).toHaveLength(created);
  });

  it('is heard at once by what uses it when it goes from Observe to Manage', async () => {
    const world = new InProcess();
    await world.start();
    world.account({ lifecycle: { managementPolicy: 'Observe' } });
    world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
    await world.run(60_000);
    expect(world.sent).toEqual([]);

    world.account({ lifecycle: { managementPolicy: 'Manage' } });
    await world.run(10_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call', 'Ready')).toMatchObject({ status: 'True', reason: 'InSync' });
  });
});
