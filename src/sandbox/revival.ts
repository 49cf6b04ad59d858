/*
 * Restarts parts of the sandbox as a kubelet restarts a pod. A part that ends by itself is started again, after a longer pause
 * each time. A part that has ended too often is not started any more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../base/time.ts';
import { realClock, realEntropy } from '../cli/machine.ts';
import { described, type Ending } from './control-plane/daemon.ts';
import { CannotStart, reasonOf } from './cannot-start.ts';

/**
 * The pauses before a part of the sandbox is started again after a failure. Each failure makes the next pause longer.
 * If the previous failure was at least `forgetMs` ago, the pause is the shortest again. The time between two failures
 * includes the pause and the startup, so a part needs to run for only about 20 seconds.
 */
const pace = { firstMs: 200, longestMs: 6_400, forgetMs: 30_000 };
const mostFailures = 6;

/** Restarts parts of the sandbox that end by themselves, until the signal is aborted. */
export function revival(say: (text: string) => void, signal: AbortSignal, onRevived: () => Promise<void>) {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  const backoffs = new Map<string, Backoff>();

  async function revive(name: string, how: string, start: () => Promise<void>): Promise<void> {
    say(`${name} ended by itself (${how}): starting it again`);
    const backoff = backoffs.get(name) ?? new Backoff(pace, realClock, realEntropy);
    backoffs.set(name, backoff);
    for (;;) {
      const pauseMs = backoff.next();
      if (backoff.failures > mostFailures)
        throw new CannotStart(`${name} ended too often, the last time with ${how}, and is not started again`);
      await sleep(pauseMs, undefined, { signal });
      try {
        await start();
        await onRevived();
        say(`${name} is up again`);
        return;
      } catch (error) {
        if (signal.aborted) return;
        say(reasonOf(error));
      }
    }
  }

  return {
    ended: (name: string, ending: Ending, start: () => Promise<void>): void => {
      if (signal.aborted) return;
      revive(name, described(ending), start).catch((error: unknown) => {
        if (!signal.aborted) broken.reject(error);
      });
    },
    /** Rejects with `CannotStart` when a part of the sandbox has ended too often; never resolves. */
    broken: broken.promise,
  };
}
