import { setTimeout as sleep } from 'node:timers/promises';

/** The result of waiting: the value in time, or not. */
export async function within<T>(ms: number, work: Promise<T>): Promise<{ readonly value: T } | undefined> {
  const timer = new AbortController();
  try {
    return await Promise.race([
      work.then((value) => ({ value })),
      sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined),
    ]);
  } finally {
    timer.abort();
  }
}

/** Asks again and again until the answer is there; undefined when it is not there in time or `over` says to give up. */
export async function poll<T>(
  ask: () => Promise<T | undefined>,
  { everyMs, deadlineMs, over = () => false }: PollOptions,
): Promise<T | undefined> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (over() || performance.now() >= until) return undefined;
    await sleep(everyMs);
  }
}

/** How often, how long, and when to stop asking early. */
export interface PollOptions {
  readonly everyMs: number;
  readonly deadlineMs: number;
  readonly over?: () => boolean;
}
