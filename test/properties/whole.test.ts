/**
 * The whole, simulated: random lives of several kinds in two namespaces of one account, with everything that can go wrong.
 *
 * `WHOLE_SEEDS=17` or `WHOLE_SEEDS=100-400` runs other seeds than the usual ones; a finding says which seed it was.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { findings, hourOfRest } from './whole-checks.ts';
import { WholeLife } from './whole-life.ts';
import { seedsOf } from './whole-subjects.ts';

const counted = { lives: 0, actions: 0 };
const happenings = 40;

afterAll(() => {
  process.stdout.write(`the whole: ${counted.lives} lives, ${counted.actions} things happened\n`);
});

/** Lives one life to its end; what was wrong, with how it came to it. */
async function lived(seed: number): Promise<readonly string[]> {
  const life = new WholeLife(seed);
  const wrong: string[] = [];
  try {
    await life.begin();
    for (let count = 0; count < happenings; count += 1) await life.happen();
    life.calm();
    await life.world.run(5_400_000);
    wrong.push(...(await findings(life)), ...(await hourOfRest(life)));
  } catch (error) {
    wrong.push(String(error));
  }
  counted.lives += 1;
  counted.actions += life.trace.length;
  if (wrong.length === 0) return [];
  const alone = `WHOLE_SEEDS=${seed} npx vitest run --project unit test/properties/whole.test.ts`;
  return [`alone: ${alone}`, ...wrong.slice(0, 6), ...life.trace];
}

describe('the whole', () => {
  it.each(seedsOf(process.env['WHOLE_SEEDS'] ?? '1-30'))(
    'comes to rest as the specs say, loses, doubles and leaks nothing, whatever happens (seed %i)',
    async (seed) => {
      const wrong = await lived(seed);

      expect(wrong.join('\n')).toBe('');
    },
    180_000,
  );
});
