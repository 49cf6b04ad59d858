import { describe, expect, it } from 'vitest';
import { ExclusiveLocks } from '../../src/engine/objects/open-creates.ts';

describe('a turn', () => {
  it('is had by one at a time, at all of its names', () => {
    const turns = new ExclusiveLocks();

    expect(turns.take(['env_1', 'env_2'], 'app', 10)).toBe(true);
    expect(turns.take(['env_2', 'env_3'], 'other', 10)).toBe(false);
    expect(turns.take(['env_3'], 'other', 10)).toBe(true);
    expect(turns.take(['env_1'], 'app', 10)).toBe(true);
  });

  it('is had only by who has looked since the one before had it', () => {
    const turns = new ExclusiveLocks();
    turns.take(['env_1'], 'app', 10);
    turns.end(['env_1'], 'app', 20);

    expect(turns.take(['env_1'], 'other', 20)).toBe(false);
    expect(turns.take(['env_1'], 'other', 21)).toBe(true);
  });

  it('is forgotten in time, but not by who had looked before that', () => {
    const turns = new ExclusiveLocks();
    turns.take(['env_long'], 'app', 0);

    for (let at = 1_000; at < 10_000_000; at += 1_000) {
      turns.take([`env_${at}`], 'app', at);
      turns.end([`env_${at}`], 'app', at);
    }

    expect(turns.size).toBeLessThan(1_000);
    expect(turns.take(['env_1000'], 'other', 1_000)).toBe(false);
    expect(turns.take(['env_1000'], 'other', 10_000_000)).toBe(true);
    expect(turns.take(['env_long'], 'other', 10_000_000)).toBe(false);
  });
});
