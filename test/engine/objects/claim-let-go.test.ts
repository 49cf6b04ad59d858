import { expect, it } from 'vitest';
import { aWorld, conditionOf } from '../../kinds/support/world.ts';

it('a resource that waits for a claim is woken when the older one goes, though nothing changes in the service', async () => {
  const world = await aWorld();
  world.apply('HostedApp', 'web', {
    externalId: 'app_web',
    preset: 'CUSTOM',
    port: 8080,
    image: { reference: 'r/web:1' },
  });
  const spec = { appRef: { name: 'web' }, environmentName: 'production' };
  world.apply('AppEnvironment', 'older', spec);
  await world.run(120_000);
  world.apply('AppEnvironment', 'younger', spec);
  await world.run(900_000);
  expect(conditionOf(world, 'AppEnvironment', 'older')).toBe('True/InSync');
  expect(conditionOf(world, 'AppEnvironment', 'younger')).toBe('False/Claimed');

  world.delete('AppEnvironment', 'older');
  await world.run(5_000);

  expect(world.get('AppEnvironment', 'older')).toBeUndefined();
  expect(conditionOf(world, 'AppEnvironment', 'younger')).toBe('True/InSync');
});
