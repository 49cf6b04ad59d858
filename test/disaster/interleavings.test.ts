import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { play } from './interleavings.ts';

describe('whatever happens to a protection and the requests about it', () => {
  it('activates, discards, wipes and enrolls nothing twice and nothing unasked, and claims nothing that is not so', async () => {
    const first = Number(process.env['SEED'] ?? 1);
    const runs = Number(process.env['RUNS'] ?? 200);
    const events = Number(process.env['EVENTS'] ?? 6);
    const wrong: string[] = [];
    const seen = new Map<string, number>();
    for (let seed = first; seed < first + runs; seed += 1) {
      const played = await play(seed, events);
      wrong.push(...played.wrong);
      for (const kind of played.tally) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }

    process.stdout.write(`${runs} runs of ${events} events: ${JSON.stringify(Object.fromEntries(seen))}\n`);
    expect(wrong).toEqual([]);
    // Runs in which nothing happens prove nothing; what is rare need not happen in a few of them.
    const rare = runs < 200 ? [] : ['discard.accepted', 'configuration.wiped'];
    for (const kind of ['activation.accepted', ...rare]) {
      expect(seen.get(kind) ?? 0).toBeGreaterThan(0);
    }
  }, 1_200_000);
});
