import { describe, expect, it } from 'vitest';
import { laterOf } from '../../../src/cli/run.ts';

const began = Date.UTC(2026, 0, 31, 12);
const minute = 60_000;

describe('when this process started', () => {
  const moment = { wall: began, monotonic: 5_000 };

  it.each([
    ['the API server shows no clock', undefined, began],
    ['both clocks agree', { dateMs: began + 2_000, seenAt: 7_000 }, began],
    ['this clock is an hour behind', { dateMs: began + 60 * minute + 2_000, seenAt: 7_000 }, began + 60 * minute],
    ['this clock is an hour ahead', { dateMs: began - 60 * minute + 2_000, seenAt: 7_000 }, began],
  ])('is the later one of two clocks when %s', (_because, server, expected) => {
    expect(laterOf(moment, server)).toBe(expected);
  });
});
