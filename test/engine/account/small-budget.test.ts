import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, eventsOf } from '../../kinds/support/world.ts';

const names = Array.from({ length: 100 }, (_, index) => `cp-${index}`);

describe('a hundred new resources of an account', () => {
  it.each([
    {
      what: 'whose budget is one request a second',
      account: { budget: { requestsPerSecond: 1, concurrency: 1 } },
      most: 6,
    },
    { what: 'whose service allows one a second', readings: { 'rate.limit': 1, 'rate.retryAfter': 'seconds' }, most: 8 },
    {
      what: 'whose service allows one a second and does not say when',
      readings: { 'rate.limit': 1, 'rate.retryAfter': 'absent' },
      most: 8,
    },
    { what: 'whose service allows two a second', readings: { 'rate.limit': 2 }, most: 6 },
  ])(
    '$what all get Ready, and cost Kubernetes $most requests at most each',
    async ({ account = {}, readings = {}, most }) => {
      const world = await aWorld({ workers: 32 });
      world.account(account);
      await world.run(30_000);
      await world.control('PATCH', '/readings', readings);
      const from = world.kube.calls.length;

      for (const name of names) world.apply('ContactPoint', name, { email: { addresses: ['a@example.com'] } });
      await world.run(900_000);

      const isOurs = ({ verb, plural }: { verb: string; plural: string }) =>
        !['list', 'watch'].includes(verb) && ['contactpoints', 'events'].includes(plural);
      expect(names.filter((name) => conditionOf(world, 'ContactPoint', name) !== 'True/InSync')).toEqual([]);
      expect(eventsOf(world).filter((text) => text.includes('ServiceUnavailable'))).toEqual([]);
      expect(world.kube.calls.slice(from).filter(isOurs).length / names.length).toBeLessThanOrEqual(most);
    },
  );
});
