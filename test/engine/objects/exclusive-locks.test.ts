import { describe, expect, it } from 'vitest';
import { ExclusiveLocks } from '../../../src/engine/objects/open-creates.ts';

describe('an exclusive lock', () => {
  it('is held by one at a time, at all of its names', () => {
    const locks = new ExclusiveLocks();

    expect(locks.take(['env_1', 'env_2'], 'app', 10)).toBe(true);
    expect(locks.take(['env_2', 'env_3'], 'other', 10)).toBe(false);
    expect(locks.take(['env_3'], 'other', 10)).toBe(true);
    expect(locks.take(['env_1'], 'app', 10)).toBe(true);
  });

  it('is taken only by who has looked since it was released', () => {
    const locks = new ExclusiveLocks();
    locks.take(['env_1'], 'app', 10);
    locks.end(['env_1'], 'app', 20);

    expect(locks.take(['env_1'], 'other', 20)).toBe(false);
    expect(locks.take(['env_1'], 'other', 21)).toBe(true);
  });

  it('is never forgotten by who had looked before it was released', () => {
    const locks = new ExclusiveLocks();
    locks.take(['env_long'], 'app', 0);

    for (let at = 1_000; at < 10_000_000; at += 1_000) {
      locks.take([`env_${at}`], 'app', at);
      locks.end([`env_${at}`], 'app', at);
    }

    expect(locks.take(['env_1000'], 'other', 1_000)).toBe(false);
    expect(locks.take(['env_1000'], 'other', 10_000_000)).toBe(true);
    expect(locks.take(['env_long'], 'other', 10_000_000)).toBe(false);
  });
});
