import { describe, expect, it } from 'vitest';
import { commits } from '../kinds/support/world.ts';
import { InProcess } from '../support/in-process.ts';
import {
  apply,
  calls,
  callsOf,
  createEnvironments,
  disturbedOrderLived,
  listed,
  made,
  madeIn,
  manifests,
  notReady,
  orderLived,
  orderOf,
  type Manifest,
} from './golden-folder.ts';

const seeds = Array.from({ length: 24 }, (_, index) => index + 1);

describe('the orders in which the golden path is tried', () => {
  it('have any of two manifests before the other', () => {
    const orders = seeds.map((seed) => orderOf(seed).order);
    const pairs = manifests.flatMap((one) => manifests.filter((other) => other !== one).map((other) => [one, other]));

    const untried = pairs.filter(
      ([one, other]) => !orders.some((order) => order.indexOf(one as Manifest) < order.indexOf(other as Manifest)),
    );
    expect(untried.map(([one, other]) => `${one?.kind} ${other?.kind}`)).toEqual([]);
  });
});

describe('the golden path', () => {
  it.each([
    [
      'allows three requests in a second',
      (world: InProcess) => world.control('PATCH', '/readings', { 'rate.limit': 3 }),
    ],
    ['shows lists a minute late', (world: InProcess) => world.control('PATCH', '/readings', { 'lists.lagMs': 60_000 })],
    [
      'takes four seconds for each answer',
      (world: InProcess) => world.control('POST', '/faults', { match: { count: 100_000 }, effect: { delayMs: 4_000 } }),
    ],
  ])('comes to rest with no call repeated while the service %s', async (_how, disturb) => {
    const world = await listed(7, disturb);

    expect(notReady(world)).toEqual([]);
    expect((await callsOf(world)).filter((line) => !line.endsWith(' 429'))).toEqual(
      calls.map((call) => `${call} 200`).toSorted(),
    );
    expect(await madeIn(world)).toEqual(made);
  });

  it.each(seeds)('comes to rest in any order, with no call repeated (order %i)', async (seed) => {
    const { wrong } = await orderLived(seed);

    expect(wrong.join('\n'), `npm run trials -- --only golden-path:${seed}`).toBe('');
  });

  it('deploys to an environment that the console has started with the image of the app', async () => {
    const world = new InProcess();
    await world.start();
    for (const manifest of manifests) apply(world, manifest);
    await world.run(30_000);
    await createEnvironments(world, 'running');
    await world.run(150_000);

    expect(notReady(world)).toEqual([]);
    expect((await commits(world)).filter(({ detail }) => detail['action'] === 'deploy-image')).toHaveLength(1);
  });

  it.each(seeds.slice(0, 12))(
    'comes to rest with calls disturbed, with nothing lost or doubled (order %i)',
    async (seed) => {
      const { wrong } = await disturbedOrderLived(seed);

      expect(wrong.join('\n'), `npm run trials -- --only golden-path-disturbed:${seed}`).toBe('');
    },
  );
});
