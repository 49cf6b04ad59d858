import { describe, expect, it } from 'vitest';
import { accessLived } from './access-life.ts';

describe('the access of a member', () => {
  it('ends as its spec says, with what the member made, whatever happens', async () => {
    const wrong: string[] = [];
    for (let seed = 1; seed <= 40; seed += 1) {
      const lived = await accessLived(seed);
      if (lived.wrong.length > 0) wrong.push(`npm run trials -- --only access:${seed}`, ...lived.wrong);
    }

    expect(wrong.join('\n')).toBe('');
  }, 180_000);
});
