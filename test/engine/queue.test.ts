import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { urgencies, WorkQueue } from '../../src/engine/queue.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';

function aQueue(clock = new SuspendableClock()): WorkQueue {
  const groupOf = (key: string) => ({ namespace: key.split('/')[0] ?? '', account: '' });
  return new WorkQueue({ clock, entropy: new SeededEntropy(), groupOf });
}

/** A queue of keys `account/number` of one namespace, and the accounts that are held. */
function aQueueThatHolds(): { readonly queue: WorkQueue; readonly held: Set<string> } {
  const held = new Set<string>();
  const queue = new WorkQueue({
    clock: new SuspendableClock(),
    entropy: new SeededEntropy(),
    groupOf: (key) => ({ namespace: 'team', account: key.split('/')[0] ?? '' }),
    isBusy: (account) => held.has(account),
  });
  return { queue, held };
}

describe('the keys of an account that is held', () => {
  it('stay where they are while those of others are given out', async () => {
    const { queue, held } = aQueueThatHolds();
    held.add('a');
    queue.enqueue('a/1', urgencies.edit);
    queue.enqueue('b/1', urgencies.resync);

    expect(await queue.take()).toBe('b/1');
    expect(queue.depth).toBe(1);
  });

  it('are given to whoever waits as soon as it is held no more', async () => {
    const { queue, held } = aQueueThatHolds();
    held.add('a');
    queue.enqueue('a/1', urgencies.edit);
    const taken = queue.take();

    held.clear();
    queue.resume();

    expect(await taken).toBe('a/1');
  });
});

describe('the work queue', () => {
  it('gives each key once, however often it was enqueued', async () => {
    const queue = aQueue();
    queue.enqueue('a/1', urgencies.edit);
    queue.enqueue('a/1', urgencies.edit);

    expect(await queue.take()).toBe('a/1');
    expect(queue.depth).toBe(0);
  });

  it('does not give a key again while it is being worked on, and exactly once afterwards', async () => {
    const queue = aQueue();
    queue.enqueue('a/1', urgencies.edit);
    await queue.take();
    queue.enqueue('a/1', urgencies.edit);
    queue.enqueue('a/1', urgencies.resync);

    expect(queue.depth).toBe(0);
    queue.done('a/1');
    expect(await queue.take()).toBe('a/1');
    queue.done('a/1');
    expect(queue.depth).toBe(0);
  });

  it('tells how long each key has waited for its turn, and nothing of the time before it was due', async () => {
    const clock = new SuspendableClock();
    const waits: number[] = [];
    const queue = new WorkQueue({
      clock,
      entropy: new SeededEntropy(),
      groupOf: () => ({ namespace: '', account: '' }),
      onTaken: (ms) => waits.push(ms),
    });
    queue.enqueue('a', urgencies.resync);
    queue.enqueue('later', urgencies.resync, 10_000);
    await clock.advance(2_000);
    queue.enqueue('a', urgencies.edit);
    await clock.advance(1_000);
    await queue.take();
    await clock.advance(17_000);
    await queue.take();
    const taking = queue.take();
    queue.enqueue('at once', urgencies.edit);
    await taking;

    expect(waits).toEqual([3_000, 10_000, 0]);
  });

  it('gives deletions before edits before changes before the first list before resyncs', async () => {
    const queue = aQueue();
    queue.enqueue('a/resync', urgencies.resync);
    queue.enqueue('a/initial', urgencies.initial);
    queue.enqueue('a/change', urgencies.change);
    queue.enqueue('a/edit', urgencies.edit);
    queue.enqueue('a/deletion', urgencies.deletion);

    const order = await Promise.all([1, 2, 3, 4, 5].map(() => queue.take()));

    expect(order).toEqual(['a/deletion', 'a/edit', 'a/change', 'a/initial', 'a/resync']);
  });

  it('lifts a waiting key for a more urgent reason', async () => {
    const queue = aQueue();
    queue.enqueue('a/1', urgencies.resync);
    queue.enqueue('a/2', urgencies.change);
    queue.enqueue('a/1', urgencies.edit);

    expect(await queue.take()).toBe('a/1');
    expect(await queue.take()).toBe('a/2');
  });

  it('lets namespaces take turns', async () => {
    const queue = aQueue();
    for (const key of ['big/1', 'big/2', 'big/3', 'small/1']) queue.enqueue(key, urgencies.edit);

    const order = await Promise.all([1, 2, 3, 4].map(() => queue.take()));

    expect(order.indexOf('small/1')).toBeLessThan(2);
  });

  it('goes on with what was begun before it begins more, and still lets namespaces take turns', async () => {
    const queue = aQueue();
    for (const key of ['big/1', 'big/2', 'small/1']) queue.enqueue(key, urgencies.initial);
    for (const key of ['big/3', 'big/4', 'big/5']) queue.enqueue(key, urgencies.begun);

    const order = await Promise.all([1, 2, 3, 4, 5, 6].map(() => queue.take()));

    expect(order.filter((key) => key?.startsWith('big/'))).toEqual(['big/3', 'big/4', 'big/5', 'big/1', 'big/2']);
    expect(order.indexOf('small/1')).toBeLessThan(2);
  });

  it('lets the earlier of two times win', async () => {
    const clock = new SuspendableClock();
    const queue = aQueue(clock);
    queue.enqueue('a/1', urgencies.resync, 60_000);
    queue.enqueue('a/1', urgencies.change, 1_000);

    await clock.advance(1_000);

    expect(queue.depth).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('waits longer with each failure in a row, never more than five minutes, and starts afresh after success', () => {
    const queue = aQueue();

    const pauses = Array.from({ length: 12 }, () => queue.retry('a/1', urgencies.change));
    queue.forget('a/1');
    const afterwards = queue.retry('a/1', urgencies.change);

    expect(pauses[0]).toBeLessThanOrEqual(1_000);
    expect(pauses[3]).toBeGreaterThan(3_900);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(300_000);
    expect(afterwards).toBeLessThanOrEqual(1_000);
  });

  it('hands out nothing after it is closed, and lets waiting workers go', async () => {
    const queue = aQueue();
    const waiting = queue.take();
    queue.close();
    queue.enqueue('a/1', urgencies.edit);

    expect(await waiting).toBeUndefined();
    expect(await queue.take()).toBeUndefined();
  });

  it('loses no key and runs none twice at once, whatever happens in which order', async () => {
    const step = fc.oneof(
      fc.record({
        is: fc.constant('enqueue' as const),
        key: fc.integer({ min: 0, max: 5 }),
        urgency: fc.constantFrom(0, 1, 2, 3, 4),
      }),
      fc.record({ is: fc.constant('take' as const) }),
      fc.record({ is: fc.constant('done' as const), nth: fc.nat(5) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const queue = aQueue();
        const running: string[] = [];
        const wanted = new Set<string>();
        for (const one of steps) {
          if (one.is === 'enqueue') {
            queue.enqueue(`n${one.key % 2}/${one.key}`, one.urgency);
            wanted.add(`n${one.key % 2}/${one.key}`);
          } else if (one.is === 'take' && queue.depth > 0) {
            const key = (await queue.take()) ?? '';
            expect(running).not.toContain(key);
            running.push(key);
            wanted.delete(key);
          } else if (one.is === 'done') {
            const [key] = running.splice(one.nth % Math.max(1, running.length), 1);
            if (key !== undefined) queue.done(key);
          }
        }
        for (const key of running) queue.done(key);
        while (queue.depth > 0) {
          const key = (await queue.take()) ?? '';
          wanted.delete(key);
          queue.done(key);
        }
        expect([...wanted]).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
