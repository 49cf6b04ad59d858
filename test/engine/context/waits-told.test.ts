import { expect, it } from 'vitest';
import { aWorld, conditionOf, messageOf } from '../../kinds/support/world.ts';

it('a resource says what it waits for as soon as the one that it refers to has said why it is not there yet', async () => {
  const world = await aWorld();

  world.apply('AppEnvironment', 'shop', { appRef: { name: 'nowhere' }, environmentName: 'production' });
  world.apply('MetricAlert', 'busy', {
    environmentRef: { name: 'shop' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    threshold: 85,
    duration: '10m',
    contactPointRefs: [{ externalId: 'cp_ops' }],
  });
  // Each is silent for five seconds: what it lacks may come with the same commit.
  await world.run(11_000);

  expect(conditionOf(world, 'AppEnvironment', 'shop')).toBe('False/ReferenceNotReady');
  expect(conditionOf(world, 'MetricAlert', 'busy')).toBe('False/ReferenceNotReady');
  expect(messageOf(world, 'MetricAlert', 'busy')).toContain('AppEnvironment shop has no id');
});
