import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld } from '../../kinds/support/world.ts';

const email = { addresses: ['a@example.com'] };

/** How many objects of a kind the operator believes in. */
function believed(world: InProcess, kind: string): number {
  const rows = world.operator.engine.metricsSnapshot().objects.filter((row) => row.kind === kind);
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/** A cluster that lost an edit and an object to a backup, and has written more since than was lost. */
async function overtaken(): Promise<InProcess> {
  const world = await aWorld();
  world.apply('ContactPoint', 'ops', { name: 'ops', email });
  await world.run(5_000);
  const backup = world.cluster.snapshot();
  world.apply('ContactPoint', 'ops', { name: 'ops', email: { addresses: ['b@example.com'] } });
  world.apply('MetricAlert', 'lost', {
    environmentRef: { externalId: 'env_web_staging' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
  });
  await world.run(5_000);
  world.cluster.restore(backup);
  world.cluster.skipVersions(1_000);
  return world;
}

describe('a cluster that went back in time and has overtaken what was seen of it', () => {
  it('is taken for what it is by all who listen once one of them has noticed it', async () => {
    const world = await overtaken();
    world.kube.inject({ verb: 'watch', plural: 'contactpoints', effect: 'before', outcome: 'gone' });

    await world.run(10_000);

    expect(believed(world, 'MetricAlert')).toBe(0);
  });

  it('is taken for what it is once the lease tells it', async () => {
    const world = await overtaken();
    await world.run(10_000);
    const before = believed(world, 'MetricAlert');

    world.operator.rewound();
    await world.run(10_000);

    expect([before, believed(world, 'MetricAlert')]).toEqual([1, 0]);
  });

  it('is asked for its newest spec, also if a spec that was lost had the same generation', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'ops', { name: 'first', email });
    await world.run(5_000);
    const backup = world.cluster.snapshot();
    world.apply('ContactPoint', 'ops', { name: 'lost', email });
    await world.run(5_000);

    world.cluster.restore(backup);
    world.cluster.skipVersions(1_000);
    world.apply('ContactPoint', 'ops', { name: 'newest', email });
    world.operator.rewound();
    await world.run(600_000);

    const { body } = await world.request('GET', '/contact-points?accountId=acc_demo');
    const { contactPoints } = body as { contactPoints: readonly { name: string }[] };
    expect(contactPoints.map(({ name }) => name)).toContain('newest');
    expect(world.get('ContactPoint', 'ops')?.metadata.generation).toBe(2);
  });
});
