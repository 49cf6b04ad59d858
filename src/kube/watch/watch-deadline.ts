/**
 * The words of a watch, each in time.
 *
 * An API server says about once a minute how far it is, when that is further than where the watch began. Where nothing of the
 * resource changes it only knows that when it was asked, since a plain etcd tells it every ten minutes: a stream that has said
 * nothing yet is followed by a look at half of the deadline, which makes the API server ask. So one that has nothing to say
 * speaks all the same, and one that is silent for the whole deadline is broken, or somebody keeps its words.
 *
 * Why: docs/design/polling-and-budget.md#a-silent-watch-ends-in-a-list
 */
import type { Clock } from '../../base/clock.ts';
import { KubeError } from '../../engine/ports.ts';
import { unlessLate, within } from '../wait.ts';

/** A watch that should have said something by now has not. */
export class SilenceError extends KubeError {
  constructor(what: string, afterMs: number) {
    super('unavailable', `${what}: silent for ${afterMs} ms`);
    this.name = 'SilenceError';
  }
}

/** How long a watch may be silent, and what is done meanwhile. */
export interface Hearing {
  readonly clock: Clock;
  readonly what: string;
  readonly idleMs: number;
  /** Makes the API server ask how far it is; what it throws ends the watch. */
  readonly look: () => Promise<void>;
  /** Ends the watch with its reason. */
  readonly signal: AbortSignal;
}

/** Passes the words of a stream on; throws a `SilenceError` when none comes in time. */
export async function* wordsInTime<Word>(
  words: AsyncIterable<Word>,
  { clock, what, idleMs, look, signal }: Hearing,
): AsyncGenerator<Word, void, void> {
  const stream = words[Symbol.asyncIterator]();
  let heardAt = clock.monotonic();
  const comes = (coming: ReturnType<typeof stream.next>, ms: number) =>
    unlessLate(within(clock, Math.max(0, heardAt + ms - clock.monotonic()), coming, what, signal));
  try {
    for (let hasSpoken = false; ; hasSpoken = true) {
      const coming = stream.next();
      const early = hasSpoken ? undefined : await comes(coming, idleMs / 2);
      if (!hasSpoken && early === undefined) await look();
      const next = early ?? (await comes(coming, idleMs));
      if (next === undefined) throw new SilenceError(what, idleMs);
      if (next.done === true) return;
      yield next.value;
      heardAt = clock.monotonic();
    }
  } finally {
    // Not awaited: a stream that hangs would hang here too.
    stream.return?.().catch(() => undefined);
  }
}
