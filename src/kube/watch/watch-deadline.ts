/**
 * The deadline of a watch: every event and bookmark must arrive within it.
 *
 * An API server sends a bookmark about once a minute, if its resourceVersion is newer than the one the watch began with. Where nothing
 * of the resource changes, it learns of a newer one only when somebody lists, since a plain etcd tells it every ten minutes. So when
 * a new stream has been silent for half of the deadline, the probe lists one object, and a bookmark follows. A stream that is silent
 * for the whole deadline is broken, or something on the way holds its data back.
 *
 * Why: docs/design/polling-and-budget.md#a-silent-watch-ends-in-a-list
 */
import type { Clock } from '../../base/time.ts';
import { KubeError } from '../../engine/ports.ts';
import { unlessLate, within } from '../deadline.ts';
import { GarbledError } from '../client/failure.ts';

/** A watch has sent nothing within its deadline. */
export class SilenceError extends KubeError {
  constructor(what: string, afterMs: number) {
    super('unavailable', `${what}: silent for ${afterMs} ms`);
    this.name = 'SilenceError';
  }
}

/** How long a watch may be silent, and how the API server is made to send a bookmark. */
interface WatchDeadline {
  readonly clock: Clock;
  readonly what: string;
  readonly idleMs: number;
  /** Makes the API server learn its newest resourceVersion; an error ends the watch. */
  readonly probe: () => Promise<void>;
  /** Ends the watch; the error is the signal's reason. */
  readonly signal: AbortSignal;
}

/** Passes on what a stream sends; throws a `SilenceError` when nothing arrives in time. */
export async function* withWatchDeadline<Item>(
  items: AsyncIterable<Item>,
  { clock, what, idleMs, probe, signal }: WatchDeadline,
): AsyncGenerator<Item, void, void> {
  const stream = items[Symbol.asyncIterator]();
  let receivedAt = clock.monotonic();
  const arriving = (coming: ReturnType<typeof stream.next>, ms: number) =>
    unlessLate(within(clock, Math.max(0, receivedAt + ms - clock.monotonic()), coming, what, signal));
  try {
    for (let hasReceived = false; ; hasReceived = true) {
      const coming = stream.next();
      const early = hasReceived ? undefined : await arriving(coming, idleMs / 2);
      if (!hasReceived && early === undefined) await probe();
      const next = early ?? (await arriving(coming, idleMs));
      if (next === undefined) throw new SilenceError(what, idleMs);
      if (next.done === true) return;
      yield next.value;
      receivedAt = clock.monotonic();
    }
  } finally {
    // Not awaited: a stream that hangs would hang here too.
    stream.return?.().catch(() => undefined);
  }
}

/** The reason for a list of all objects. */
export type ListReason = 'start' | 'gone' | 'garbled' | 'backwards' | 'silent' | 'rewind';

/** Thrown to end a watch, so that every object is listed again. */
export class Relist extends Error {
  readonly reason: ListReason;

  constructor(reason: ListReason) {
    super(`listing again: ${reason}`);
    this.name = 'Relist';
    this.reason = reason;
  }
}

/** The reason to list again after a failure; undefined when it is enough to open the watch again. */
export function listReasonOf(error: unknown): ListReason | undefined {
  if (error instanceof Relist) return error.reason;
  if (error instanceof SilenceError) return 'silent';
  if (error instanceof GarbledError) return 'garbled';
  return error instanceof KubeError && error.reason === 'gone' ? 'gone' : undefined;
}
