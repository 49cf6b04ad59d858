import { expect, it } from 'vitest';
import { aWorld } from '../kinds/support/world.ts';

it('an operator that stops waits until the id in an answer stands in status', async () => {
  const world = await aWorld();
  let isAnswered = false;
  world.interference = ({ method, path }) => {
    if (isAnswered || method !== 'POST' || !path.endsWith('/contact-point')) return undefined;
    isAnswered = true;
    world.kube.inject({ verb: 'replaceStatus', effect: 'before', outcome: 'unavailable', times: 5 });
    return undefined;
  };
  world.apply('ContactPoint', 'team-a', { email: { addresses: ['a@example.com'] } });
  for (let times = 0; !isAnswered && times < 100; times += 1) await world.run(100);

  const idAtEnd = world.operator.stop().then(() => world.get('ContactPoint', 'team-a')?.status);
  await world.run(60_000);

  expect(isAnswered).toBe(true);
  expect(await idAtEnd).toMatchObject({ externalId: expect.any(String) });
});
