/** The whole, simulated: random lives of several kinds in two namespaces of one account, with everything that can go wrong. */
import { afterAll, describe, expect, it } from 'vitest';
import { wholeLived } from './whole-run.ts';

const seeds = Array.from({ length: 20 }, (_, index) => index + 1);
const counted = { lives: 0, actions: 0 };

afterAll(() => {
  process.stdout.write(`the whole: ${counted.lives} lives, ${counted.actions} things happened\n`);
});

describe('the whole', () => {
  it.each(seeds)(
    'comes to rest as the specs say, loses, doubles and leaks nothing, whatever happens (seed %i)',
    async (seed) => {
      const { wrong, happened } = await wholeLived(seed);
      counted.lives += 1;
      counted.actions += happened;

      expect(wrong.join('\n'), `npm run trials -- --only whole:${seed}`).toBe('');
    },
    180_000,
  );
});
