import { describe, expect, it } from 'vitest';
import { aWorld, commits, conditionOf, statusOf } from '../kinds/support/world.ts';

const email = { email: { addresses: ['a@example.com'] } };

describe('what an operator is started with', () => {
  it.each([
    { callDeadlineMs: 30_000, horizonMs: 120_000 },
    { callDeadlineMs: 3_000, horizonMs: 12_000 },
  ])(
    'says when a call is given up: after $callDeadlineMs ms and $horizonMs ms',
    async ({ callDeadlineMs, horizonMs }) => {
      const world = await aWorld({ callDeadlineMs, horizonMs });
      world.interference = ({ method, path }) =>
        method === 'POST' && path.endsWith('/contact-point') ? 'hangBefore' : undefined;

      world.apply('ContactPoint', 'ops', email);
      await world.run(callDeadlineMs + horizonMs - 1_000);
      expect(world.sent.filter(({ path }) => path.endsWith('/contact-point'))).toHaveLength(1);
      expect(statusOf(world, 'ContactPoint', 'ops')).toMatchObject({
        internal: { journal: { deadlineSeconds: callDeadlineMs / 1_000 } },
      });
      world.interference = () => undefined;
      await world.run(70_000);

      expect(conditionOf(world, 'ContactPoint', 'ops')).toBe('True/InSync');
      expect(await commits(world)).toHaveLength(1);
    },
  );

  it.each([30_000, 6_000, 3_000])(
    'writes down no call that would be late when its turn comes: %s ms',
    async (callDeadlineMs) => {
      const world = await aWorld({ callDeadlineMs });
      world.account({ budget: { requestsPerSecond: 1, concurrency: 1 } });
      await world.run(30_000);
      const from = world.kube.calls.length;
      const names = Array.from({ length: 20 }, (_, index) => `cp-${index}`);

      for (const name of names) world.apply('ContactPoint', name, email);
      await world.run(300_000);

      const own = world.kube.calls.slice(from).filter(({ plural }) => plural === 'contactpoints');
      expect(names.filter((name) => conditionOf(world, 'ContactPoint', name) !== 'True/InSync')).toEqual([]);
      // The finalizer, and a status before and after the call. An entry that is taken back costs two more.
      expect(own.filter(({ verb }) => !['list', 'watch'].includes(verb))).toHaveLength(3 * names.length);
    },
  );

  it.each([
    { spec: {}, seconds: 2 },
    { spec: { pollSeconds: 10 }, seconds: 10 },
  ])('says how often an account is read that does not say itself: $spec', async ({ spec, seconds }) => {
    const world = await aWorld({ pollMs: 2_000 });
    world.account(spec);
    world.apply('ContactPoint', 'ops', email);
    await world.run(60_000);
    const before = world.calls;

    await world.run(60_000);

    expect(statusOf(world, 'HostingAccount', 'default')['intervals']).toEqual([{ name: 'lists', seconds }]);
    expect(world.calls - before).toBeGreaterThan(50 / seconds);
  });
});
