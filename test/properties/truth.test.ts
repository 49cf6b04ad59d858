/**
 * What the service holds is what the specs say, also where it never shows it: an app and its environment are edited at random
 * while answers are lost, calls refused, and the operator dies.
 */
import { describe, expect, it } from 'vitest';
import { truthLived } from './truth-life.ts';

const seeds = Array.from({ length: 25 }, (_, index) => index + 1);

describe('an app and its environment, edited while everything goes wrong', () => {
  it.each(seeds)('are in the end as their specs say, seen or not (life %i)', async (seed) => {
    const { wrong } = await truthLived(seed);

    expect(wrong.join('\n'), `npm run trials -- --only truth:${seed}`).toBe('');
  });
});
