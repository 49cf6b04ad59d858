import { describe, expect, it } from 'vitest';
import { arranged } from '../../properties/walk.ts';
import { lives } from '../../properties/lives.ts';
import type { InProcess } from '../../support/in-process.ts';

const life = lives.find(({ kind }) => kind === 'MetricAlert');

async function aReadyAlert(): Promise<InProcess> {
  if (life === undefined) throw new Error('MetricAlert has no life');
  const world = await arranged(life);
  world.apply(life.kind, life.name, life.spec);
  await world.run(5_000);
  return world;
}

function statusOf(world: InProcess): unknown {
  return world.get('MetricAlert', 'cpu')?.status;
}

function notes(world: InProcess): readonly string[] {
  const events = world.cluster.all({ group: 'events.k8s.io', version: 'v1', plural: 'events', namespaced: true });
  return events.map((event) => `${String(event['type'])} ${String(event['reason'])}: ${String(event['note'])}`);
}

describe('a metric alert', () => {
  it('shows that it fires, tells so once, and stays Ready', async () => {
    const world = await aReadyAlert();
    await world.control('POST', '/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 99 });

    await world.run(700_000);

    expect(statusOf(world)).toMatchObject({
      state: 'Firing',
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Ready', status: 'True' }),
        expect.objectContaining({ type: 'Firing', status: 'True' }),
      ]),
    });
    expect(notes(world).filter((note) => note.includes('AlertFiring'))).toHaveLength(1);
  });

  it.each([
    ['it', { lifecycle: { managementPolicy: 'Observe' } }, {}],
    ['its account', {}, { lifecycle: { managementPolicy: 'Observe' } }],
  ])('sends nothing, not even to refresh its state, while %s only observes', async (_what, spec, account) => {
    const world = await aReadyAlert();
    world.apply('MetricAlert', 'cpu', Object.assign({}, world.get('MetricAlert', 'cpu')?.spec, spec));
    world.apply('HostingAccount', 'default', Object.assign({}, world.get('HostingAccount', 'default')?.spec, account));
    await world.run(10_000);
    const sent = world.sent.length;

    await world.run(1_800_000);

    expect(world.sent.slice(sent)).toEqual([]);
    expect(statusOf(world)).toHaveProperty('state');
  });

  it('is made not enabled as its spec says, though drift is only reported', async () => {
    if (life === undefined) throw new Error('MetricAlert has no life');
    const world = await arranged(life);
    world.apply(life.kind, life.name, Object.assign({ enabled: false, lifecycle: { drift: 'Report' } }, life.spec));
    await world.run(70_000);

    expect(statusOf(world)).not.toHaveProperty('drift');
    expect(statusOf(world)).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', reason: 'InSync' })]),
    });
  });

  it('tells that the description of an alert that it took over stays there without the spec', async () => {
    const world = await aReadyAlert();
    const { body } = await world.request('POST', '/app-env/alert', {
      appEnvId: 'env_web_prod',
      name: 'theirs',
      metric: 'memory_percent',
      operator: 'gt',
      threshold: 80,
      duration: '5m',
      contactPointNames: ['ops'],
    });
    const { alertId: externalId } = (body as { alert: { alertId: string } }).alert;
    const others = { name: 'theirs', metric: 'memory_percent', externalId };
    const spec = Object.assign({}, world.get('MetricAlert', 'cpu')?.spec, others);
    world.apply('MetricAlert', 'theirs', { ...spec, description: 'mine' });
    await world.run(60_000);
    const before = world.get('MetricAlert', 'theirs')?.status;

    world.apply('MetricAlert', 'theirs', spec);
    await world.run(60_000);

    expect(before).not.toHaveProperty('leftover');
    expect(world.get('MetricAlert', 'theirs')?.status).toMatchObject({
      internal: { ownership: 'Adopted' },
      leftover: ['description'],
    });
  });

  it('says at once that an ingress metric is not there for a database', async () => {
    const world = await aReadyAlert();
    world.apply('MetricAlert', 'latency', {
      environmentRef: { externalId: 'env_db_prod' },
      metric: 'ingress_p95_latency',
      operator: 'GreaterThan',
      contactPointRefs: [{ name: 'ops' }],
    });

    await world.run(70_000);

    const ledger = await world.ledger();
    expect(world.get('MetricAlert', 'latency')?.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Stalled', reason: 'Rejected' })]),
    });
    expect(ledger.filter(({ kind }) => kind === 'alert.created')).toHaveLength(1);
  });
});
