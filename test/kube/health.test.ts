import { describe, expect, it } from 'vitest';
import { agesOf, complaintsOf, type Watched } from '../../src/kube/reflector.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';

function reflector(name: string, heardAt: number | undefined, isSynced = true, problem?: string): Watched {
  return { name, isSynced, lastHeardAt: () => heardAt, problem: () => problem };
}

describe('health', () => {
  it('names each reflector that is not listed or silent, and says why', async () => {
    const clock = new SuspendableClock();
    await clock.advance(200_000);
    const reflectors = [
      reflector('well', 199_000),
      reflector('new', undefined, false, 'listing new: 403'),
      reflector('silent', 10_000, true, 'watching silent: no answer'),
      reflector('quiet', 30_000),
    ];

    expect(complaintsOf(reflectors, clock)).toEqual([
      'new: the objects are not listed yet (listing new: 403)',
      'silent: the watch is silent (watching silent: no answer)',
    ]);
    expect([...agesOf(reflectors, clock).values()]).toEqual([1_000, undefined, 190_000, 170_000]);
  });
});
