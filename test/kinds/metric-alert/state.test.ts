import { describe, expect, it } from 'vitest';
import { atFirst } from '../../support/disturbed-wire.ts';
import type { InProcess, InProcessOptions } from '../../support/in-process.ts';
import { aWorld, committed, conditionOf, messageOf, statusOf } from '../support/world.ts';

const spec = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  duration: '1m',
  contactPointRefs: [{ name: 'ops' }],
};

/** A world with one alert that was looked at. */
async function anAlert(more: object, options: InProcessOptions = {}): Promise<InProcess> {
  const world = await aWorld(options);
  world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] } });
  world.apply('MetricAlert', 'cpu', { ...spec, ...more });
  await world.run(300_000);
  return world;
}

async function measured(world: InProcess, value: number): Promise<void> {
  await world.control('POST', '/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value });
}

function refreshes(world: InProcess): number {
  return world.sent.filter(({ path }) => path.endsWith('/alert/refresh')).length;
}

function stateOf(world: InProcess): unknown {
  return statusOf(world, 'MetricAlert', 'cpu')['state'];
}

describe('the state of an alert', () => {
  it('is what the list shows where that is newer than the last refresh', async () => {
    const world = await anAlert({ refreshSeconds: 30 }, { readings: { 'alerts.cache': 'live' } });
    world.interference = ({ path }) =>
      path.endsWith('/alert/refresh') ? { insteadOf: { status: 503, text: '{}' } } : undefined;

    await measured(world, 99);
    await world.run(600_000);

    expect(stateOf(world)).toBe('Firing');
  });

  it('is not taken from a list that shows what it showed before', async () => {
    const world = await anAlert({ refreshSeconds: 30 });
    world.interference = ({ path }) =>
      path.endsWith('/alerts') ? { retold: (text) => text.replaceAll('"Firing"', '"Normal"') } : undefined;

    await measured(world, 99);
    await world.run(600_000);

    expect(stateOf(world)).toBe('Firing');
  });

  it('was another one before, whoever had the service look', async () => {
    const world = await anAlert({ refreshSeconds: 600 });
    await world.run(600_000);
    const before = stateOf(world);
    const { externalId: alertId } = statusOf(world, 'MetricAlert', 'cpu');

    await measured(world, 99);
    await world.run(120_000);
    await world.request('POST', '/alert/refresh', { alertId });
    await world.run(1_300_000);

    expect(statusOf(world, 'MetricAlert', 'cpu')).toMatchObject({ state: 'Firing', previousState: before });
  });

  it('is asked for when somebody asks to look again', async () => {
    const world = await anAlert({ refreshSeconds: 86_400 });
    await measured(world, 99);
    await world.run(120_000);

    world.apply('MetricAlert', 'cpu', { ...spec, refreshSeconds: 86_400 }, { 'apphosting.dev/reconcile-at': 'now' });
    await world.run(30_000);

    expect(statusOf(world, 'MetricAlert', 'cpu')).toMatchObject({ lastHandledReconcileAt: 'now', state: 'Firing' });
  });

  it('goes with an alert that is gone', async () => {
    const world = await anAlert({ refreshSeconds: 30, lifecycle: { onMissing: 'Stall' } });
    await measured(world, 99);
    await world.run(300_000);
    const { externalId: alertId, state } = statusOf(world, 'MetricAlert', 'cpu');

    await world.request('DELETE', `/alert?alertId=${String(alertId)}`);
    await world.run(600_000);

    expect(state).toBe('Firing');
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/ObjectGone');
    expect(stateOf(world)).toBeUndefined();
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Firing')).toBe('Unknown/ObjectGone');
  });

  it('is not known while the token is refused', async () => {
    const world = await anAlert({ refreshSeconds: 30 });
    await measured(world, 99);
    await world.run(300_000);
    const before = conditionOf(world, 'MetricAlert', 'cpu', 'Firing');

    world.interference = () => ({ insteadOf: { status: 401, text: '{"error":"no"}' } });
    await world.run(3_600_000);

    expect([before, conditionOf(world, 'MetricAlert', 'cpu', 'Firing')]).toEqual([
      'True/Firing',
      'Unknown/AccountNotReady',
    ]);
  });

  it('says when it was last seen to be so, and writes that about once an hour', async () => {
    const world = await anAlert({ refreshSeconds: 30 });
    const times = new Set<unknown>();

    for (let minutes = 0; minutes < 200; minutes += 10) {
      await world.run(600_000);
      const { stateObservedTime } = statusOf(world, 'MetricAlert', 'cpu');
      expect(world.clock.wall() - Date.parse(String(stateObservedTime))).toBeLessThan(5_400_000);
      times.add(stateObservedTime);
    }

    expect(times.size).toBeGreaterThan(1);
    expect(times.size).toBeLessThanOrEqual(4);
  });

  it('is stale when nothing has shown it for long, and known again with the next refresh', async () => {
    const world = await anAlert({ refreshSeconds: 30 });
    world.interference = ({ path }) =>
      path.endsWith('/alert/refresh') ? { insteadOf: { status: 503, text: '{}' } } : undefined;

    await world.run(2 * 3_600_000);
    const stale = conditionOf(world, 'MetricAlert', 'cpu', 'Firing');
    const { stateObservedTime } = statusOf(world, 'MetricAlert', 'cpu');
    const said = messageOf(world, 'MetricAlert', 'cpu', 'Firing');
    world.interference = () => undefined;
    await world.run(2 * 3_600_000);

    expect(stale).toBe('Unknown/StateStale');
    expect(said).toContain(`at ${String(stateObservedTime)}`);
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Firing')).toBe('Unknown/NoData');
  });

  it('is stale where the list never says when it was looked at', async () => {
    const world = await anAlert({ refreshSeconds: 0 });
    const first = conditionOf(world, 'MetricAlert', 'cpu', 'Firing');

    await world.run(2 * 3_600_000);

    expect(first).toBe('False/Normal');
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Firing')).toBe('Unknown/StateStale');
    const { stateChangeTime } = statusOf(world, 'MetricAlert', 'cpu');
    expect(messageOf(world, 'MetricAlert', 'cpu', 'Firing')).toContain(`at ${String(stateChangeTime)}`);
  });

  it('is told as it is where nobody knows the word', async () => {
    const world = await aWorld();
    world.interference = ({ path }) =>
      path.endsWith('/alert/refresh')
        ? { retold: (text) => text.replace(/"state":"\w+"/, '"state":"Flapping"') }
        : undefined;
    world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] } });
    world.apply('MetricAlert', 'cpu', { ...spec, refreshSeconds: 30 });
    await world.run(300_000);

    expect(stateOf(world)).toBe('Flapping');
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Firing')).toBe('Unknown/UnknownAlertState');
    expect(messageOf(world, 'MetricAlert', 'cpu', 'Firing')).toContain('Flapping');
  });

  it('is not asked for while the alert is paused, and is again afterwards', async () => {
    const world = await anAlert({ refreshSeconds: 30 });
    world.apply('MetricAlert', 'cpu', { ...spec, refreshSeconds: 30 }, { 'apphosting.dev/paused': 'true' });
    await world.run(100_000);
    const before = refreshes(world);

    await world.run(3_600_000);
    const paused = refreshes(world);
    world.apply('MetricAlert', 'cpu', { ...spec, refreshSeconds: 30 });
    await world.run(300_000);

    expect(paused - before).toBe(0);
    expect(refreshes(world) - paused).toBeGreaterThan(1);
  });
});

describe('an alert whose description holds a text like a mark', () => {
  const description = 'CPU is high\n\napphosting:abcdefghijklmnop';

  it.each(['loseAnswer', 'hangAfter'] as const)('is made once though %s', async (how) => {
    const world = await aWorld();
    world.interference = atFirst('POST /app-env/alert', how);
    world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] } });
    world.apply('MetricAlert', 'cpu', { ...spec, description });
    await world.run(600_000);

    expect(world.sent.filter(({ path }) => path.endsWith('/app-env/alert'))).toHaveLength(1);
    expect([conditionOf(world, 'MetricAlert', 'cpu'), await committed(world, 'alert.created')]).toEqual([
      'True/InSync',
      1,
    ]);
  });

  it('is found again when status is lost', async () => {
    const world = await anAlert({ description });
    const { externalId: alertId } = statusOf(world, 'MetricAlert', 'cpu');

    world.tamper('MetricAlert', 'cpu', () => ({}));
    await world.crash();
    await world.run(600_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    expect(statusOf(world, 'MetricAlert', 'cpu')).toMatchObject({
      externalId: alertId,
      internal: { ownership: 'Created' },
    });
  });
});
