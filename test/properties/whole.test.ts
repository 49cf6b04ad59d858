/**
 * The whole, simulated: random lives of several kinds in two namespaces of one account, with everything that can go wrong.
 *
 * `WHOLE_SEEDS=17` or `WHOLE_SEEDS=100-400` runs other seeds than the usual ones; a finding says which seed it was.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { wholeLived } from './whole-run.ts';
import { seedsOf } from './whole-subjects.ts';

const counted = { lives: 0, actions: 0 };

afterAll(() => {
  process.stdout.write(`the whole: ${counted.lives} lives, ${counted.actions} things happened\n`);
});

describe('the whole', () => {
  it.each(seedsOf(process.env['WHOLE_SEEDS'] ?? '1-30'))(
    'comes to rest as the specs say, loses, doubles and leaks nothing, whatever happens (seed %i)',
    async (seed) => {
      const { wrong, happened } = await wholeLived(seed);
      counted.lives += 1;
      counted.actions += happened;

      expect(wrong.join('\n')).toBe('');
    },
    180_000,
  );
});
