import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { play } from './interleavings.ts';

const runs = 120;

describe('whatever happens to a protection and the requests about it', () => {
  it('activates, discards, wipes and enrolls nothing twice and nothing unasked, and claims nothing that is not so', async () => {
    const wrong: string[] = [];
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= runs; seed += 1) {
      const played = await play(seed);
      wrong.push(...played.wrong.map((flaw) => `${flaw} (npm run trials -- --only orders:${seed})`));
      for (const kind of played.tally) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }

    process.stdout.write(`${runs} random orders: ${JSON.stringify(Object.fromEntries(seen))}\n`);
    expect(wrong).toEqual([]);
    // Runs in which nothing happens prove nothing.
    for (const kind of ['activation.accepted', 'discard.accepted', 'configuration.wiped']) {
      expect(seen.get(kind) ?? 0).toBeGreaterThan(0);
    }
  }, 1_200_000);
});
