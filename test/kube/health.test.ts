import { describe, expect, it } from 'vitest';
import { agesOf, complaintsOf, type Listener } from '../../src/kube/reflector.ts';
import { VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';

function listener(name: string, heardAt: number | undefined, isSynced = true, problem?: string): Listener {
  return { name, isSynced, lastHeardAt: () => heardAt, problem: () => problem };
}

describe('health', () => {
  it('names each reflector that is not listed or silent, and says why', async () => {
    const clock = new VirtualClock();
    await clock.advance(200_000);
    const listeners = [
      listener('well', 199_000),
      listener('new', undefined, false, 'listing new: 403'),
      listener('silent', 10_000, true, 'watching silent: no answer'),
      listener('quiet', 30_000),
    ];

    expect(complaintsOf(listeners, clock)).toEqual([
      'new: not listed yet (listing new: 403)',
      'silent: silent (watching silent: no answer)',
    ]);
    expect([...agesOf(listeners, clock).values()]).toEqual([1_000, undefined, 190_000, 170_000]);
  });
});
