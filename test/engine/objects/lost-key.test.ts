import { describe, expect, it } from 'vitest';
import { atFirst, type Disturbance } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, committed, conditionOf, statusOf } from '../../kinds/support/world.ts';

const spec = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: [{ name: 'ops' }],
};

/** A world whose operator died while it created alert "cpu", and lost its key. */
async function withAnotherKey(how: Disturbance): Promise<InProcess> {
  const world = await aWorld();
  world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] } });
  await world.run(10_000);
  world.interference = atFirst('POST /app-env/alert', () => {
    world.kill();
    return how;
  });
  world.apply('MetricAlert', 'cpu', spec);
  await world.run(10_000);
  world.key = 'another key';
  await world.crash(120_000);
  return world;
}

describe('an alert whose creation was lost together with the key of the operator', () => {
  it('is known by its name, and only presumed to be ours', async () => {
    const world = await withAnotherKey('hangAfter');
    await world.run(900_000);

    expect(await committed(world, 'alert.created')).toBe(1);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    expect(statusOf(world, 'MetricAlert', 'cpu')).toMatchObject({ internal: { ownership: 'Presumed' } });
  });

  it('is made where the lost call made nothing', async () => {
    const world = await withAnotherKey('loseBefore');
    await world.run(900_000);

    expect(await committed(world, 'alert.created')).toBe(1);
    expect(statusOf(world, 'MetricAlert', 'cpu')).toMatchObject({ internal: { ownership: 'Created' } });
  });
});
