import { afterAll, describe, expect, it } from 'vitest';
import { statusOf, type ProtectionStatus } from '../../disaster/support.ts';
import { WholeLife } from './whole-life.ts';
import { Readiness } from './whole-recovery.ts';
import { recoveryLived } from './whole-run.ts';

const seeds = Array.from({ length: 6 }, (_, index) => index + 1);
const seen = new Map<string, number>();

afterAll(() => {
  process.stdout.write(`the whole with recoveries: ${JSON.stringify(Object.fromEntries(seen))}\n`);
});

describe('the whole with recoveries', () => {
  it('is found wrong where a trial is made that nobody asked for', async () => {
    const life = new WholeLife(1);
    const readiness = new Readiness(life);
    const { world } = life;
    await world.start();
    world.account();
    readiness.begin();
    await world.run(200_000);
    const { externalId: configurationId, configurationGeneration: generation } = statusOf<ProtectionStatus>(
      world,
      'DisasterProtection',
      'orders',
    );
    const body = { accountId: 'acc_demo', configurationId, expectedGeneration: generation, requestId: 'unasked' };

    const { status } = await world.request('POST', '/disaster-readiness/validate', body);

    expect(status).toBe(200);
    expect(await readiness.findings()).toContain('1 trials were accepted, and 0 were asked for');
  });

  it.each(seeds)(
    'tries, activates and enrolls nothing twice and nothing unasked, and comes to rest, whatever happens (seed %i)',
    async (seed) => {
      const { wrong, tally } = await recoveryLived(seed);
      for (const [kind, count] of Object.entries(tally)) seen.set(kind, (seen.get(kind) ?? 0) + count);

      expect(wrong.join('\n'), `npm run trials -- --only recovery:${seed}`).toBe('');
    },
    180_000,
  );
});
