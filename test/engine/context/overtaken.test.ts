import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, statusOf } from '../../kinds/support/world.ts';

const spec = { email: { addresses: ['a@example.com'] }, lifecycle: { drift: 'Report' } };

describe('a status that somebody else was faster to write', () => {
  it('is tried again ever more rarely while the watch lags, and at once when it tells what was written', async () => {
    const world = await aWorld();
    world.account({ pollSeconds: 10 });
    world.apply('ContactPoint', 'ops', spec);
    await world.run(200_000);
    const { externalId: contactPointId } = statusOf(world, 'ContactPoint', 'ops');
    world.kube.watchLagMs = 40_000;
    world.apply('ContactPoint', 'ops', spec, { 'example.com/note': 'seen late' });
    await world.request('PATCH', '/contact-point', { contactPointId, name: 'renamed' });
    const before = world.kube.calls.length;

    await world.run(39_000);
    const tries = world.kube.calls.slice(before).filter(({ verb }) => verb === 'replaceStatus').length;
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(10);
    await world.run(5_000);

    expect(conditionOf(world, 'ContactPoint', 'ops', 'Drifted')).toBe('True/Drifted');
  });
});

describe('an edit that comes while a call for the spec before it is under way', () => {
  it('is not said to be applied before it was sent', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] } });
    const alert = {
      environmentRef: { externalId: 'env_web_prod' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      threshold: 80,
      enabled: false,
      refreshSeconds: 0,
      contactPointRefs: [{ name: 'ops' }],
    };
    await world.run(10_000);
    const said: unknown[] = [];
    world.interference = ({ method, path, body = '' }) => {
      if (method === 'POST' && path.endsWith('/app-env/alert'))
        world.apply('MetricAlert', 'cpu', { ...alert, threshold: 90 });
      if (method === 'PATCH' && body.includes('90'))
        said.push(statusOf(world, 'MetricAlert', 'cpu')['observedGeneration']);
      return undefined;
    };

    world.apply('MetricAlert', 'cpu', alert);
    await world.run(300_000);

    expect(said).toEqual([1]);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    const { externalId: alertId, ...status } = statusOf(world, 'MetricAlert', 'cpu');
    expect(status).toMatchObject({ observedGeneration: 2, internal: { applied: { generation: 2 } } });
    const { body } = await world.request('GET', '/app-env/alerts?appEnvId=env_web_prod');
    const shown = (body as { alerts: readonly { alertId: string }[] }).alerts.find((one) => one.alertId === alertId);
    expect(shown).toMatchObject({ threshold: 90, enabled: false });
    expect((await world.ledger()).filter(({ kind }) => kind === 'alert.created')).toHaveLength(1);
  });
});
