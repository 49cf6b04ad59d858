/**
 * What the work costs, counted and not timed: requests to the service and to Kubernetes for a batch of resources, at rest,
 * and after a crash. The benchmarks measure the same with clocks.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { InProcess } from '../support/in-process.ts';

const shares = { HostedApp: 10, AppEnvironment: 10, ContactPoint: 40, MetricAlert: 140 } as const;
const count = Object.values(shares).reduce((sum, one) => sum + one, 0);
const reading: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** What was asked of the service; refreshes of alert states are an account's own and not counted. */
interface Asked {
  readonly reads: number;
  readonly writes: number;
}

async function asked(world: InProcess): Promise<Asked> {
  const { items } = (await world.control('GET', '/counts')) as {
    items: readonly { method: string; path: string; requests: number }[];
  };
  const counted = items.filter(({ path }) => path !== '/alert/refresh');
  const sum = (isRead: boolean) =>
    counted.filter(({ method }) => (method === 'GET') === isRead).reduce((total, { requests }) => total + requests, 0);
  return { reads: sum(true), writes: sum(false) };
}

function kubernetesWrites(world: InProcess, from = 0): readonly string[] {
  const calls = world.kube.calls.slice(from).filter(({ verb }) => !reading.has(verb));
  return calls.map(({ verb, plural, name }) => `${verb} ${plural} ${name}`);
}

function alertSpec(at: number): object {
  return {
    environmentRef: { name: `environment-${at % shares.AppEnvironment}` },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    contactPointRefs: [{ name: `point-${at % shares.ContactPoint}` }],
  };
}

/** Everything at once, and what refers to something before what it refers to. */
async function applyAll(world: InProcess): Promise<void> {
  for (let at = 0; at < shares.AppEnvironment; at += 1) {
    const appEnvId = `env_${at}`;
    const names = { appEnvId, appId: 'app_web', name: `n-${at}`, cliEnvName: `n-${at}`, region: 'eu-west' };
    await world.control('POST', '/environments', { ...names, status: 'running' });
    await world.control('POST', '/metrics', { appEnvId, metric: 'cpu_percent', value: 10 });
  }
  for (let at = 0; at < shares.MetricAlert; at += 1) {
    world.apply('MetricAlert', `alert-${at}`, alertSpec(at));
  }
  for (let at = 0; at < shares.AppEnvironment; at += 1) {
    const deploy = { image: 'registry.example.com/team/web:1' };
    world.apply('AppEnvironment', `environment-${at}`, { externalId: `env_${at}`, powerState: 'Running', deploy });
  }
  for (let at = 0; at < shares.ContactPoint; at += 1) {
    world.apply('ContactPoint', `point-${at}`, { email: { addresses: [`p${at}@example.com`] } });
  }
  for (let at = 0; at < shares.HostedApp; at += 1) {
    world.apply('HostedApp', `app-${at}`, {
      preset: 'CUSTOM',
      port: 8080,
      image: { reference: 'registry.example.com/team/api:1.4.2' },
    });
  }
}

function ready(world: InProcess): number {
  const names = Object.entries(shares).flatMap(([kind, share]) =>
    Array.from({ length: share }, (_, at) => [kind, `${stems[kind as keyof typeof shares]}-${at}`] as const),
  );
  return names.filter(([kind, name]) => isReady(world.get(kind, name)?.status)).length;
}

const stems = { HostedApp: 'app', AppEnvironment: 'environment', ContactPoint: 'point', MetricAlert: 'alert' } as const;

function isReady(status: unknown): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly { type: string; status: string }[] };
  return conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
}

describe(`${count} resources`, () => {
  const world = new InProcess();

  beforeAll(async () => {
    await world.start();
    world.account({ budget: { requestsPerSecond: 200, concurrency: 16 } });
    await world.run(5_000);
  });

  it('take one create each, 1.1 calls to the service and 4.7 requests to Kubernetes', async () => {
    const [before, from] = [await asked(world), world.kube.calls.length];
    await applyAll(world);

    await world.run(30_000);
    const used = await asked(world);
    await world.run(300_000);

    expect(ready(world)).toBe(count);
    expect(used.writes - before.writes).toBe(count - shares.AppEnvironment);
    expect(used.reads + used.writes - before.reads - before.writes).toBeLessThanOrEqual(1.1 * count);
    expect(world.kube.calls.length - from).toBeLessThanOrEqual(4.7 * count);
  });

  it('take a poll of each list at rest, and nothing is written anywhere', async () => {
    const [before, from] = [await asked(world), world.kube.calls.length];

    await world.run(600_000);
    const { reads, writes } = await asked(world);

    // Apps, environments, contact points, and the alerts of each environment, every minute and a little more often.
    const polls = 11 * (3 + shares.AppEnvironment);
    expect(reads - before.reads).toBeLessThanOrEqual(polls);
    expect(writes).toBe(before.writes);
    expect(kubernetesWrites(world, from)).toEqual([]);
  });

  it('are found as they were by another process, which writes nothing anywhere', async () => {
    const before = await asked(world);

    await world.crash(120_000);
    await world.run(200_000);

    expect((await asked(world)).writes).toBe(before.writes);
    expect(kubernetesWrites(world)).toEqual([]);
    expect(ready(world)).toBe(count);
  });

  it('are counted: a change of each of ten alerts is ten calls, a status write each, and one event', async () => {
    const [before, from] = [await asked(world), world.kube.calls.length];
    for (let at = 0; at < 10; at += 1) world.apply('MetricAlert', `alert-${at}`, { ...alertSpec(at), threshold: 50 });

    await world.run(200_000);

    expect((await asked(world)).writes - before.writes).toBe(10);
    expect(kubernetesWrites(world, from)).toHaveLength(11);
  });
});

describe('three hundred resources that wait for their turn', () => {
  const world = new InProcess();
  const alerts = 240;
  const points = 60;
  const statuses = () => Array.from({ length: alerts }, (_, at) => world.get('MetricAlert', `alert-${at}`)?.status);
  let from = 0;
  const written = (what: string) => kubernetesWrites(world, from).filter((write) => write.startsWith(what)).length;

  beforeAll(async () => {
    await world.start();
    world.account({ pollSeconds: 10, budget: { requestsPerSecond: 20, concurrency: 2 } });
    await world.control('POST', '/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 10 });
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_prod', powerState: 'Running' });
    await world.run(30_000);
    from = world.kube.calls.length;
    for (let at = 0; at < alerts; at += 1) {
      world.apply('MetricAlert', `alert-${at}`, {
        environmentRef: { name: 'web' },
        metric: 'cpu_percent',
        operator: 'GreaterThan',
        contactPointRefs: [{ name: `point-${at % points}` }],
      });
    }
    for (let at = 0; at < points; at += 1) {
      world.apply('ContactPoint', `point-${at}`, { email: { addresses: [`p${at}@example.com`] } });
    }
  });

  it('take two status writes each while some still wait, whatever lists show of the others meanwhile', async () => {
    while (statuses().filter(isReady).length < alerts - 20) await world.run(100);

    expect(written('replaceStatus metricalerts')).toBeLessThanOrEqual(2 * alerts);
    expect(written('replaceStatus contactpoints')).toBe(2 * points);
  });

  it('take one more for the first news, an alert another one when its state was seen, and an event for many', async () => {
    await world.run(300_000);

    expect(statuses().every(isReady)).toBe(true);
    expect(written('patch')).toBe(alerts + points);
    expect(written('create events')).toBeLessThanOrEqual((alerts + points) / 10);
    expect(written('replaceStatus')).toBeLessThanOrEqual(3.1 * (alerts + points) + alerts);
  });
});

describe('thirty alerts of one environment, each with a contact point of its own that takes its time', () => {
  it('are made on one look at what the environment has, each once', async () => {
    const world = new InProcess();
    await world.start();
    world.account({ pollSeconds: 3_600, budget: { requestsPerSecond: 2, concurrency: 1 } });
    await world.control('POST', '/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 10 });
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_prod', powerState: 'Running' });
    await world.run(30_000);
    for (let at = 0; at < 30; at += 1) {
      world.apply('ContactPoint', `point-${at}`, { email: { addresses: [`p${at}@example.com`] } });
      world.apply('MetricAlert', `alert-${at}`, {
        environmentRef: { name: 'web' },
        metric: 'cpu_percent',
        operator: 'GreaterThan',
        contactPointRefs: [{ name: `point-${at}` }],
      });
    }

    await world.run(120_000);

    const made = Array.from({ length: 30 }, (_, at) => world.get('MetricAlert', `alert-${at}`)?.status);
    expect(made.filter((status) => isReady(status))).toHaveLength(30);
    expect(await calls(world, 'POST', '/app-env/alert')).toBe(30);
    expect(await calls(world, 'GET', '/app-env/alerts')).toBe(1);
  });
});

async function calls(world: InProcess, method: string, path: string): Promise<number> {
  const { items } = (await world.control('GET', '/counts')) as {
    items: readonly { method: string; path: string; requests: number }[];
  };
  const counted = items.filter((count) => count.method === method && count.path === path);
  return counted.reduce((total, { requests }) => total + requests, 0);
}
