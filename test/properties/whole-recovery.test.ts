/** `RECOVERY_SEEDS=17` or `RECOVERY_SEEDS=100-400` runs other seeds than the usual ones; a finding says which seed it was. */
import { afterAll, describe, expect, it } from 'vitest';
import { statusOf, type ProtectionStatus } from '../disaster/support.ts';
import { findings } from './whole-checks.ts';
import { WholeLife } from './whole-life.ts';
import { Readiness } from './whole-recovery.ts';
import { seedsOf } from './whole-subjects.ts';

const happenings = 30;
const seen = new Map<string, number>();

afterAll(() => {
  process.stdout.write(`the whole with recoveries: ${JSON.stringify(Object.fromEntries(seen))}\n`);
});

/** Lives one life to its end; what was wrong, with how it came to it. */
async function lived(seed: number): Promise<readonly string[]> {
  const life = new WholeLife(seed, { powers: { activation: true, accountReset: false } });
  const readiness = new Readiness(life);
  const wrong: string[] = [];
  try {
    await life.begin();
    readiness.begin();
    await life.world.run(life.draw.of([1_000, 200_000]));
    for (let count = 0; count < happenings; count += 1) {
      if (life.draw.chance(0.5)) readiness.happen();
      await life.happen();
    }
    life.calm();
    await life.world.run(9_000_000);
    await readiness.disown();
    wrong.push(...(await findings(life)), ...(await readiness.findings()));
    for (const [kind, count] of Object.entries(await readiness.tally())) seen.set(kind, (seen.get(kind) ?? 0) + count);
  } catch (error) {
    wrong.push(String(error));
  }
  if (wrong.length === 0) return [];
  const alone = `RECOVERY_SEEDS=${seed} npx vitest run --project unit test/properties/whole-recovery.test.ts`;
  return [`alone: ${alone}`, ...wrong.slice(0, 6), ...life.trace];
}

describe('the whole with recoveries', () => {
  it('is found wrong where a trial is made that nobody asked for', async () => {
    const life = new WholeLife(1);
    const readiness = new Readiness(life);
    const { world } = life;
    await world.start();
    world.account();
    readiness.begin();
    await world.run(200_000);
    const { configurationId, generation } = statusOf<ProtectionStatus>(world, 'DisasterProtection', 'orders');
    const body = { accountId: 'acc_demo', configurationId, expectedGeneration: generation, requestId: 'unasked' };

    const { status } = await world.request('POST', '/disaster-readiness/validate', body);

    expect(status).toBe(200);
    expect(await readiness.findings()).toContain('1 trials were accepted, and 0 were asked for');
  });

  it.each(seedsOf(process.env['RECOVERY_SEEDS'] ?? '1-8'))(
    'tries, activates and enrols nothing twice and nothing unasked, and comes to rest, whatever happens (seed %i)',
    async (seed) => {
      const wrong = await lived(seed);

      expect(wrong.join('\n')).toBe('');
    },
    180_000,
  );
});
