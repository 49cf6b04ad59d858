import { describe, expect, it } from 'vitest';
import type { Disturbance } from '../../support/disturbed-wire.ts';
import { aWorld, conditionOf, internalOf, messageOf, statusOf } from '../../kinds/support/world.ts';

const spec = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  threshold: 80,
};

/** An alert whose threshold somebody sets to 5 whenever it is another; `corrections` meet something on their way. */
async function aFight(corrections?: Disturbance) {
  const world = await aWorld();
  world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] } });
  const applied = { ...spec, contactPointRefs: [{ name: 'ops' }] };
  world.apply('MetricAlert', 'cpu', applied);
  await world.run(60_000);
  const { externalId: alertId } = statusOf(world, 'MetricAlert', 'cpu') as { externalId: string };
  const written = { count: 0 };
  world.interference = ({ method, path }) => {
    if (method !== 'PATCH' || !path.endsWith('/alert')) return undefined;
    written.count += 1;
    return corrections;
  };
  const set = (threshold: number) => world.request('PATCH', '/alert', { alertId, threshold });
  const fight = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20_000) {
      await set(5);
      await world.run(20_000);
    }
  };
  return { world, applied, set, fight, written };
}

describe('a change that the service says yes to and never shows', () => {
  it('is sent three times, however rarely the service is read, and then told', async () => {
    const { world, applied, written } = await aFight({ insteadOf: { status: 200, text: '{"alert":{}}' } });
    world.account({ pollSeconds: 600 });
    await world.run(60_000);
    world.apply('MetricAlert', 'cpu', { ...applied, threshold: 81 });

    await world.run(3 * 3_600_000);

    expect(written.count).toBe(3);
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Stalled')).toBe('True/ChangeNotShown');
    expect(messageOf(world, 'MetricAlert', 'cpu')).toContain('accepted the change of threshold of alert');
  });

  it('is sent again for another spec, and is over once the service shows it', async () => {
    const { world, applied, set, written } = await aFight({ insteadOf: { status: 200, text: '{"alert":{}}' } });
    world.account({ pollSeconds: 600 });
    await world.run(60_000);
    world.apply('MetricAlert', 'cpu', { ...applied, threshold: 81 });
    await world.run(3 * 3_600_000);

    await set(81);
    await world.run(1_300_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    world.apply('MetricAlert', 'cpu', { ...applied, threshold: 82 });
    await world.run(60_000);

    expect(written.count).toBe(4);
  });

  it('is not sent again after a restart, but when somebody asks for it', async () => {
    const { world, applied, written } = await aFight({ insteadOf: { status: 200, text: '{"alert":{}}' } });
    world.apply('MetricAlert', 'cpu', { ...applied, threshold: 81 });
    await world.run(600_000);
    await world.crash();
    await world.run(600_000);
    const before = [written.count, conditionOf(world, 'MetricAlert', 'cpu')];

    world.interference = () => undefined;
    const annotations = { 'apphosting.dev/reconcile-at': '1' };
    world.apply('MetricAlert', 'cpu', { ...applied, threshold: 81 }, annotations);
    await world.run(120_000);

    expect(before).toEqual([3, 'False/ChangeNotShown']);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    expect(internalOf(world, 'MetricAlert', 'cpu')['applied']).not.toHaveProperty('unshown');
  });
});

describe('a field that somebody else keeps changing', () => {
  it('is left after five corrections, named, and not taken up again by the mere passing of time', async () => {
    const { world, fight, written } = await aFight();
    await fight(900_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Stalled')).toBe('True/Contested');
    expect(messageOf(world, 'MetricAlert', 'cpu')).toContain('threshold');

    await fight(3_600_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Stalled')).toBe('True/Contested');
    expect(written.count).toBe(5);
  });

  it('is written again after an edit of the spec, after reconcile-at, and once it stood as the spec says', async () => {
    const { world, applied, set, fight } = await aFight();
    await fight(900_000);

    world.apply('MetricAlert', 'cpu', { ...applied, threshold: 81 });
    await world.run(70_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    await fight(900_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Stalled')).toBe('True/Contested');

    world.apply('MetricAlert', 'cpu', { ...applied, threshold: 81 }, { 'apphosting.dev/reconcile-at': '1' });
    await world.run(70_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    await fight(900_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Stalled')).toBe('True/Contested');

    await set(81);
    await world.run(130_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    await set(5);
    await world.run(130_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it('is not taken for one because it was corrected often long ago', async () => {
    const { world, set, written } = await aFight();
    for (let drifts = 0; drifts < 5; drifts += 1) {
      await set(5);
      await world.run(110_000);
    }
    expect(written.count).toBe(5);
    await world.run(12 * 3_600_000);

    await set(5);
    await world.run(110_000);

    expect(written.count).toBe(6);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it('is over once it stands as the spec says, also where the token was refused in between', async () => {
    const { world, applied, set, fight } = await aFight();
    await fight(900_000);
    const contested = conditionOf(world, 'MetricAlert', 'cpu');
    const baseUrl = 'http://127.0.0.1:8088';
    world.secret('hosting-credentials', { baseUrl, token: 'refused' });
    await world.run(120_000);
    const refused = conditionOf(world, 'MetricAlert', 'cpu');
    await set(applied.threshold);
    world.secret('hosting-credentials', { baseUrl, token: 'demo-admin' });
    await world.run(2 * 3_600_000);
    const calm = conditionOf(world, 'MetricAlert', 'cpu');

    await set(5);
    await world.run(130_000);

    expect([contested, refused, calm]).toEqual(['False/Contested', 'False/AccountNotReady', 'True/InSync']);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it('is not taken for one because corrections were lost on their way', async () => {
    const { world, set, written } = await aFight('loseBefore');
    await set(5);
    await world.run(900_000);
    expect(written.count).toBeGreaterThan(5);

    world.interference = () => undefined;
    await world.run(400_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });
});
