import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, messageOf } from '../../kinds/support/world.ts';

async function withAlert(): Promise<InProcess> {
  const world = await aWorld();
  world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
  world.apply('MetricAlert', 'cpu', {
    environmentRef: { externalId: 'env_web_staging' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    refreshSeconds: 0,
    contactPointRefs: [{ name: 'on-call' }],
  });
  await world.run(60_000);
  expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  return world;
}

function refuse(world: InProcess, paths: readonly string[], status: number): void {
  answerLists(world, paths, { status, text: '{"error":"no"}' });
}

function answerLists(world: InProcess, paths: readonly string[], insteadOf: { status: number; text: string }): void {
  world.interference = ({ method, path }) =>
    method === 'GET' && paths.some((end) => path.split('?', 1)[0]?.endsWith(end) === true) ? { insteadOf } : undefined;
}

describe('an object whose list the service refuses while it answers otherwise', () => {
  it('is not called Ready for long when it went with its environment', async () => {
    const world = await withAlert();

    await world.control('DELETE', '/environments/env_web_staging');
    await world.run(600_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).not.toMatch(/^True/);
    expect(conditionOf(world, 'MetricAlert', 'cpu', 'Synced')).not.toMatch(/^True/);
    expect(messageOf(world, 'MetricAlert', 'cpu')).toBe(
      'account acc_demo does not list environment env_web_staging; the operator creates the alert once the environment is listed',
    );
  });

  it('is Ready by a look of its own where only the list is refused', async () => {
    const world = await withAlert();
    refuse(world, ['/contact-points'], 403);

    await world.run(7_200_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });

  it('is Ready by a look of its own where only the list is not there', async () => {
    const world = await withAlert();
    answerLists(world, ['/contact-points'], { status: 503, text: '{}' });

    await world.run(7_200_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });

  it('goes on being Ready by what was seen last where nothing answers at all', async () => {
    const world = await withAlert();
    world.interference = () => ({ insteadOf: { status: 503, text: '{}' } });

    await world.run(7_200_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it('says so where neither can be read, and is Ready again when they can', async () => {
    const world = await withAlert();
    refuse(world, ['/contact-points', '/contact-point'], 403);

    await world.run(600_000);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/Forbidden');
    world.interference = () => undefined;
    await world.run(400_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });
});
