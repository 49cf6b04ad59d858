/** Deadlines: every wait for Kubernetes ends in time, on the clock that is passed in. */
import type { Clock } from '../base/time.ts';
import { KubeError } from '../engine/ports.ts';

/** Something took longer than its deadline. */
class DeadlineError extends KubeError {
  constructor(what: string, afterMs: number) {
    super('unavailable', `${what}: no end after ${afterMs} ms`);
    this.name = 'DeadlineError';
  }
}

/** Waits for a promise at most `deadlineMs`: throws a `DeadlineError` then, or the signal's reason when that is aborted first. */
export function within<T>(
  clock: Clock,
  deadlineMs: number,
  promise: Promise<T>,
  what: string,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cut = (): void => {
      cancel();
      reject(signal?.reason instanceof Error ? signal.reason : new Error(`${what}: stopped`));
    };
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', cut);
    };
    const cancel = clock.after(deadlineMs, () => {
      signal?.removeEventListener('abort', cut);
      reject(new DeadlineError(what, deadlineMs));
    });
    promise.then(resolve, reject).finally(end);
    if (signal?.aborted === true) cut();
    else signal?.addEventListener('abort', cut, { once: true });
  });
}

/** The result; undefined when a `DeadlineError` was thrown instead. */
async function unlessLate<T>(inTime: Promise<T>): Promise<T | undefined> {
  try {
    return await inTime;
  } catch (error) {
    if (error instanceof DeadlineError) return undefined;
    throw error;
  }
}

/** Waits `delayMs`, or until the signal is aborted. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** A controller that is also aborted with the outer signal; call `release` when it is no longer needed. */
export function linked(outer: AbortSignal): { readonly controller: AbortController; readonly release: () => void } {
  const controller = new AbortController();
  const pass = (): void => controller.abort(outer.reason);
  if (outer.aborted) pass();
  else outer.addEventListener('abort', pass, { once: true });
  return { controller, release: () => outer.removeEventListener('abort', pass) };
}

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

/**
 * The deadline of a watch: passes on what the stream sends, and throws a `SilenceError` when nothing arrives in time.
 *
 * An API server sends a bookmark about once a minute, if its resourceVersion is newer than the one the watch began with. Where nothing
 * of the resource changes, it learns of a newer one only when somebody lists, since a plain etcd tells it every ten minutes. So when
 * a new stream has been silent for half of the deadline, the probe lists one object, and a bookmark follows. A stream that is silent
 * for the whole deadline is broken, or something on the way holds its data back.
 *
 * Why: docs/design/polling-and-budget.md#a-silent-watch-ends-in-a-list
 */
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
