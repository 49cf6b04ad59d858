/** Deadlines for everything that waits for Kubernetes, and outages, which are logged once for all objects. */
import type { Clock } from '../base/time.ts';
import { KubeError, type KubeReason, type Log, type Troubles } from '../engine/ports.ts';

/** Thrown when a promise took longer than its deadline. */
class DeadlineError extends KubeError {
  constructor(what: string, afterMs: number) {
    super('unavailable', `${what}: no end after ${afterMs} ms`);
    this.name = 'DeadlineError';
  }
}

/** Waits for a promise. Throws a `DeadlineError` after `deadlineMs`, or the signal's reason if the signal is aborted first. */
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

/** Thrown when a watch has sent nothing within its deadline. */
export class SilenceError extends KubeError {
  constructor(what: string, afterMs: number) {
    super('unavailable', `${what}: silent for ${afterMs} ms`);
    this.name = 'SilenceError';
  }
}

/** How long a watch may be silent, and how to make the API server send a bookmark. */
interface WatchDeadline {
  readonly clock: Clock;
  readonly what: string;
  readonly idleMs: number;
  /** Makes the API server learn the newest resourceVersion, so that it sends a bookmark. An error here ends the watch. */
  readonly probe: () => Promise<void>;
  /** Ends the watch; the watch then throws the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * Passes on what a watch sends, and throws a `SilenceError` when nothing arrives within the deadline.
 *
 * An API server sends a bookmark about once a minute, if its resourceVersion is newer than the one with which the watch began.
 * While no object of the resource changes, the API server learns a newer version only when somebody lists, since a plain etcd
 * reports it every ten minutes only. So when a new watch has been silent for half of the deadline, the probe lists one object, and
 * a bookmark follows. If a watch is silent for the whole deadline, it is broken, or something on the way holds its data back.
 *
 * Why: docs/design/polling-and-budget.md#a-silent-watch-ends-in-a-list
 */
export async function* withWatchDeadline<Item>(
  items: AsyncIterable<Item>,
  { clock, what, idleMs, probe, signal }: WatchDeadline,
): AsyncGenerator<Item, void, void> {
  const stream = items[Symbol.asyncIterator]();
  let receivedAt = clock.monotonic();
  /** Waits for the next event; undefined when it does not arrive in time. */
  const arriving = (coming: ReturnType<typeof stream.next>, ms: number) =>
    within(clock, Math.max(0, receivedAt + ms - clock.monotonic()), coming, what, signal).catch((error: unknown) => {
      if (!(error instanceof DeadlineError)) throw error;
    });
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
    // Do not await this: a stream that hangs would block here too.
    stream.return?.().catch(() => undefined);
  }
}

/** The kind of an outage: Kubernetes does not answer, or refuses the operator. A failure of a single object is no outage. */
type Trouble = 'silent' | 'refusing';

/** The shortest time between two calls of `askAgain`, while Kubernetes answers some requests and not others. */
const askAgainMs = 10_000;

/** The reasons that make an outage. A 403 makes none, since other objects or verbs may be allowed. */
const troubleOf: Readonly<Partial<Record<KubeReason, Trouble>>> = {
  unavailable: 'silent',
  throttled: 'silent',
  unauthorized: 'refusing',
};

const words = {
  silent: { begins: 'Kubernetes does not answer', ends: 'Kubernetes answers again' },
  refusing: { begins: 'Kubernetes refuses the operator', ends: 'Kubernetes accepts the operator again' },
} as const;

/**
 * Collects failures of Kubernetes as a whole into outages.
 *
 * Guarantees: the log has one line when an outage begins, and one when it ends. After the first success all failed objects are
 * tried again soon, whatever their backoff.
 */
export class Outage implements Troubles {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #askAgain: (who: readonly string[]) => void;
  readonly #open = new Map<Trouble, { readonly since: number; readonly who: Set<string>; askedAt: number }>();

  /** `askAgain` is called with the keys that failed and may now succeed. */
  constructor(clock: Clock, log: Log, askAgain: (who: readonly string[]) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#askAgain = askAgain;
  }

  /** Notes a failure; logs the first one of an outage. True if the failure is part of an outage. */
  failed(who: string, error: KubeError): boolean {
    const trouble = troubleOf[error.reason];
    if (trouble === undefined) return false;
    const open = this.#open.get(trouble);
    if (open !== undefined) {
      open.who.add(who);
      return true;
    }
    const since = this.#clock.monotonic();
    this.#open.set(trouble, { since, who: new Set([who]), askedAt: since });
    this.#log.warn({ first: who }, `${words[trouble].begins}: ${error.message}`);
    return true;
  }

  went(who: string): void {
    const now = this.#clock.monotonic();
    for (const [trouble, open] of this.#open) {
      if (!open.who.delete(who)) continue;
      if (open.who.size === 0) {
        this.#open.delete(trouble);
        this.#log.info({ seconds: Math.round((now - open.since) / 1_000) }, words[trouble].ends);
      } else if (now - open.askedAt >= askAgainMs) {
        open.askedAt = now;
        this.#askAgain([...open.who]);
      }
    }
  }
}
