import { setTimeout as sleep } from 'node:timers/promises';

/** Calls `ask` until it returns a value; undefined if the time is up or `over` says to give up. */
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

/** How often and how long to call `ask`, and when to stop early. */
export interface PollOptions {
  readonly everyMs: number;
  readonly deadlineMs: number;
  readonly over?: () => boolean;
}
