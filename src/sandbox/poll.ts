import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `ask` again and again until it returns a value. Returns undefined if the deadline passes or `over` returns true first.
 */
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

/** How to poll: the pause between two calls, the deadline, and a function that ends the polling early. */
export interface PollOptions {
  readonly everyMs: number;
  readonly deadlineMs: number;
  readonly over?: () => boolean;
}
