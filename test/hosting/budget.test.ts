import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Urgency } from '../../src/engine/ports.ts';
import { Budget, type Turn } from '../../src/hosting/credential.ts';
import { steadyEntropy } from './support/around.ts';
import { settle, VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';

interface Grant {
  readonly name: string;
  readonly at: number;
}

function opened(requestsPerSecond = 5, concurrency = 100) {
  const clock = new VirtualClock();
  const budget = new Budget(clock, steadyEntropy());
  budget.join({ requestsPerSecond, concurrency });
  const grants: Grant[] = [];
  const refusals: string[] = [];
  const load = { now: 0, most: 0 };
  const ask = (name: string, urgency: Urgency = 'edit', lastsMs = 0, signal?: AbortSignal): Promise<Turn> =>
    budget.turn({ urgency, ...(signal && { leaveQueue: signal }) }).then((turn) => {
      if (!turn.granted) {
        refusals.push(`${name}: ${turn.why}`);
        return turn;
      }
      grants.push({ name, at: clock.monotonic() });
      load.now += 1;
      load.most = Math.max(load.most, load.now);
      clock.after(lastsMs, () => {
        load.now -= 1;
        turn.done();
      });
      return turn;
    });
  return { clock, budget, grants, refusals, load, ask };
}

function mostIn(windowMs: number, times: readonly number[]): number {
  return Math.max(0, ...times.map((start) => times.filter((at) => at >= start && at < start + windowMs).length));
}

describe('the budget', () => {
  it('has a call wait for those that are as urgent, and not for the others', () => {
    const { budget } = opened(5);
    const over = Array.from({ length: 40 }, () => budget.announce('edit'));

    const waits = (['dangerous', 'edit', 'wait'] as const).map((urgency) => budget.waitMs(urgency));
    for (const end of over) end();

    expect(waits).toEqual([0, 16_000, 16_000]);
    expect(budget.waitMs('drift')).toBe(0);
  });

  it('starts five requests at once and the sixth a second later', async () => {
    const { clock, ask, grants } = opened(5);

    for (let index = 0; index < 6; index += 1) void ask(`${index}`);
    await clock.advance(2000);

    expect(grants.map(({ at }) => at)).toEqual([0, 0, 0, 0, 0, 1000]);
  });

  it('never starts more in any second than it may, whoever asks whenever', async () => {
    const asks = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: 400 }), lastsMs: fc.integer({ min: 0, max: 900 }) }),
      {
        maxLength: 60,
      },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.double({ min: 0.3, max: 20, noNaN: true }),
        fc.integer({ min: 1, max: 6 }),
        asks,
        async (rate, concurrency, plan) => {
          const { clock, ask, grants, load } = opened(rate, concurrency);

          for (const [index, { afterMs, lastsMs }] of plan.entries()) {
            await clock.advance(afterMs);
            void ask(`${index}`, 'edit', lastsMs);
          }
          await clock.advance(300_000);

          const cap = Math.max(1, Math.floor(rate));
          expect(grants.length).toBeGreaterThanOrEqual(Math.min(plan.length, 30));
          expect(
            mostIn(
              (1000 * cap) / rate,
              grants.map(({ at }) => at),
            ),
          ).toBeLessThanOrEqual(cap);
          expect(load.most).toBeLessThanOrEqual(concurrency);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('lets no more run at once than it may', async () => {
    const { clock, ask, grants } = opened(100, 2);

    for (let index = 0; index < 4; index += 1) void ask(`${index}`, 'edit', 5000);
    await clock.advance(4999);

    expect(grants).toHaveLength(2);
    await clock.advance(1);
    expect(grants).toHaveLength(4);
  });

  it('serves the more urgent first, and the oldest at each eighth turn', async () => {
    const { clock, ask, grants } = opened(1);

    void ask('first');
    void ask('drift', 'drift');
    for (let index = 0; index < 9; index += 1) void ask(`edit ${index}`, 'edit');
    void ask('wait', 'wait');
    void ask('dangerous', 'dangerous');
    await clock.advance(60_000);

    const names = grants.map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['first', 'dangerous', 'edit 0']);
    expect(names.indexOf('drift')).toBe(7);
    expect(names.at(-1)).toBe('wait');
  });

  it('holds to the smallest allowance of the accounts that share it, until that one leaves', async () => {
    const { budget } = opened(10);

    const leave = budget.join({ requestsPerSecond: 2, concurrency: 1 });
    const shared = budget.requestsPerSecond();
    leave();

    expect([shared, budget.requestsPerSecond()]).toEqual([2, 10]);
  });

  it('waits out a short pause in the queue', async () => {
    const { clock, budget, ask, grants } = opened();

    budget.throttle(3000, 0);
    void ask('a');
    await clock.advance(10_000);

    expect(grants[0]?.at).toBeGreaterThanOrEqual(3000);
    expect(grants[0]?.at).toBeLessThanOrEqual(3250);
  });

  it('answers everybody at once when the pause is long, and grants nothing before its end', async () => {
    const { clock, budget, ask, grants, refusals } = opened(1);

    void ask('a', 'edit', 500);
    void ask('b');
    await settle();
    budget.throttle(60_000, 0);
    void ask('c');
    await clock.advance(59_999);
    void ask('d');
    await settle();

    expect(refusals.toSorted()).toEqual(['b: throttled', 'c: throttled']);
    expect(grants).toHaveLength(1);
    await clock.advance(5000);
    expect(grants.map(({ name }) => name)).toEqual(['a', 'd']);
  });

  it.each([
    { retryAfterMs: 36_000_000, because: 'no header may stop it for longer' },
    { retryAfterMs: 900_000, because: 'that is the cap' },
  ])('pauses for 15 minutes at most because $because', ({ retryAfterMs }) => {
    const { budget } = opened();

    budget.throttle(retryAfterMs, 0);

    expect(budget.pauseMs()).toBeLessThanOrEqual(900_000);
  });

  it('halves its rate at each new 429, not at those of one burst, and recovers within a minute or so', async () => {
    const { clock, budget } = opened(8);

    await clock.advance(10);
    budget.throttle(undefined, 5);
    budget.throttle(undefined, 5);
    const once = budget.requestsPerSecond();
    await clock.advance(1);
    budget.throttle(undefined, clock.monotonic());
    const twice = budget.requestsPerSecond();
    await clock.advance(40_000);
    const later = budget.requestsPerSecond();
    await clock.advance(60_000);

    expect([once, twice]).toEqual([4, 2]);
    expect(later).toBeGreaterThan(6);
    expect(budget.requestsPerSecond()).toBe(8);
  });

  it('tells the moment from which on it sends as many requests as it may again', async () => {
    const { clock, budget } = opened(8);
    const before = budget.slowedUntil();
    budget.throttle(10_000, 0);
    const until = budget.slowedUntil() ?? 0;

    await clock.advance(until - 1 - clock.monotonic());
    const shortly = [budget.requestsPerSecond(), budget.slowedUntil()];
    await clock.advance(1);

    expect(before).toBeUndefined();
    expect(shortly).toEqual([expect.closeTo(8, 2), until]);
    expect(shortly[0]).toBeLessThan(8);
    expect([budget.requestsPerSecond(), budget.slowedUntil()]).toEqual([8, undefined]);
  });

  it('backs off longer at each 429 without Retry-After, and starts over after a success', async () => {
    const { clock, budget } = opened();
    const pauses: number[] = [];

    for (let strike = 0; strike < 9; strike += 1) {
      budget.throttle(undefined, clock.monotonic());
      pauses.push(budget.pauseMs());
      await clock.advance(61_000);
    }
    budget.noteAccepted(clock.monotonic());
    budget.throttle(undefined, clock.monotonic());

    expect(pauses.every((pause, index) => index === 0 || pause >= (pauses[index - 1] ?? 0))).toBe(true);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(60_000);
    expect(budget.pauseMs()).toBe(pauses[0]);
  });

  it('pauses as long as at first for a late 429 without Retry-After, also after a success', async () => {
    const { clock, budget } = opened();

    await clock.advance(10);
    budget.throttle(undefined, 5);
    const first = budget.pauseMs();
    await clock.advance(1_000);
    budget.noteAccepted(clock.monotonic());
    budget.throttle(undefined, 5);

    expect(budget.pauseMs()).toBe(first);
  });

  it('lets a waiter become more urgent', async () => {
    const { clock, budget, ask, grants } = opened(1);
    const raises: ((urgency: Urgency) => void)[] = [];

    void ask('a');
    void ask('b');
    void budget.turn({ urgency: 'drift', onQueued: (raise) => raises.push(raise) }).then((turn) => {
      if (turn.granted) grants.push({ name: 'raised', at: turn.at });
    });
    for (const raise of raises) raise('dangerous');
    await clock.advance(5000);

    expect(grants.map(({ name }) => name)).toEqual(['a', 'raised', 'b']);
  });

  it('lets a waiter leave', async () => {
    const { clock, ask, refusals, grants } = opened(1);
    const leaving = new AbortController();

    void ask('a');
    void ask('b', 'edit', 0, leaving.signal);
    await settle();
    leaving.abort();
    void ask('c', 'edit', 0, leaving.signal);
    await clock.advance(5000);

    expect(refusals.toSorted()).toEqual(['b: stopped', 'c: stopped']);
    expect(grants.map(({ name }) => name)).toEqual(['a']);
  });

  it('stretches polls so that they take half of it at most', () => {
    const { budget } = opened(4);

    budget.plan(1);
    const calm = budget.stretch();
    budget.plan(3);
    const full = budget.stretch();
    budget.plan(-4);

    expect([calm, full, budget.stretch()]).toEqual([1, 2, 1]);
  });
});
