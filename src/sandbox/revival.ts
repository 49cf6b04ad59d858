/*
 * Restarts parts of the sandbox as a kubelet restarts a pod: a part that ends by itself is started again, after a longer
 * pause each time, and is given up if it does not stay up.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { described, type Ending } from './control-plane/daemon.ts';
import { CannotStart, reasonOf } from './cannot-start.ts';

const windowMs = 120_000;
const mostInWindow = 6;
const firstPauseMs = 200;

/** Restarts parts that end by themselves, until the signal is aborted. */
export function revival(say: (text: string) => void, signal: AbortSignal, onRevived: () => Promise<void>) {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  const attempts = new Map<string, readonly number[]>();

  async function revive(name: string, how: string, start: () => Promise<void>): Promise<void> {
    say(`${name} ended by itself (${how}): starting it again`);
    for (;;) {
      const now = performance.now();
      const recent = [...(attempts.get(name) ?? []).filter((at) => now - at < windowMs), now];
      attempts.set(name, recent);
      if (recent.length > mostInWindow) throw new CannotStart(`${name} does not stay up (last: ${how})`);
      await sleep(firstPauseMs * 2 ** (recent.length - 1), undefined, { signal });
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
    /** Rejects with `CannotStart` when a part was given up; never resolves. */
    broken: broken.promise,
  };
}
