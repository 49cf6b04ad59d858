/** A wall clock, for times that people read or that other machines send, and a monotonic clock, for waits. */
export interface Clock {
  /** Returns the wall time in milliseconds since the Unix epoch. */
  wall(): number;
  /**
   * Returns the milliseconds since a fixed but arbitrary moment, on a clock that nobody can set and that never goes
   * back.
   */
  monotonic(): number;
  /** Calls `wake` once after `delayMs`. Returns a function that cancels this call. */
  after(delayMs: number, wake: () => void): () => void;
}

/**
 * A moment on the monotonic clock and on the wall clock. Neither clock is enough alone: the monotonic clock stops while
 * the machine sleeps, and people can set the wall clock.
 */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** Reads the monotonic clock and the wall clock at the same moment. */
export function momentOf(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

/** A source of random numbers. Tests pass a source that repeats the same numbers. */
export interface Entropy {
  /** Returns a random number in [0, 1). */
  fraction(): number;
  /** Returns a random UUID of version 4. */
  uuid(): string;
}

/** Formats a time like metav1.Time: in whole seconds. */
export function isoSeconds(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** Formats a time like the Kubernetes type metav1.MicroTime, with six digits for the fraction of the second. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/Z$/, '000Z');
}

/** Formats a time in whole seconds, rounded up, so that a wait is really over at the printed time. */
export function isoSecondsUp(ms: number): string {
  return isoSeconds(ms + 999);
}

/** Computes a pause that doubles with each earlier failure, but is never longer than the longest pause. */
export function growingMs(failures: number, { firstMs, longestMs }: { firstMs: number; longestMs: number }): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures, 30));
}

/** Shortens a pause at random by up to a half, so that callers that failed together do not try again together. */
export function jittered(ms: number, entropy: Entropy): number {
  return ms * (0.5 + entropy.fraction() / 2);
}

/** The longest pause that a `Retry-After` header can cause: 15 minutes. */
export const longestPauseMs = 15 * 60_000;

/**
 * Reads from a `Retry-After` header how long to wait. The header has a number of seconds or a date. A date is compared
 * with `nowMs`, which should be the server's own time if it is known; without `nowMs`, a date is ignored. A past date,
 * zero or a negative number means one second. Any other text is ignored.
 */
export function retryAfterMs(header: string, nowMs = Number.NaN): number | undefined {
  const value = header.trim();
  if (value === '') return undefined;
  const seconds = /^[+-]?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
  const ms = seconds === undefined ? Date.parse(value) - nowMs : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 1000), longestPauseMs);
}

/**
 * Computes how long to wait before an object is reconciled again after its reconcile failed. The wait grows with each
 * further failure, from half a second to five minutes.
 */
export function retryPauseMs(failures: number, entropy: Entropy): number {
  return jittered(growingMs(failures, { firstMs: 1_000, longestMs: 300_000 }), entropy);
}

/** The settings of a `Backoff`: its first pause, its longest pause, and when it forgets earlier failures. */
export interface BackoffShape {
  readonly firstMs: number;
  readonly longestMs: number;
  /**
   * After this long without a failure, earlier failures are forgotten: the pause after the next failure is short again.
   */
  readonly forgetMs: number;
}

/**
 * Computes the pauses between attempts, with jitter. Each failure makes the next pause longer. After a while without a
 * failure, the next pause is short again.
 */
export class Backoff {
  readonly #shape: BackoffShape;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  #failures = 0;
  #lastFailureAt = 0;

  constructor(shape: BackoffShape, clock: Clock, entropy: Entropy) {
    this.#shape = shape;
    this.#clock = clock;
    this.#entropy = entropy;
  }

  /**
   * Returns how many failures have been counted. After a while without a failure, the next failure starts the count
   * anew.
   */
  get failures(): number {
    return this.#failures;
  }

  /** Counts one more failure. Returns how long to wait, which is at least `wishMs`, the wait that the server asked for. */
  next(wishMs = 0): number {
    const now = this.#clock.monotonic();
    if (now - this.#lastFailureAt >= this.#shape.forgetMs) this.#failures = 0;
    this.#lastFailureAt = now;
    const pauseMs = jittered(growingMs(this.#failures, this.#shape), this.#entropy);
    this.#failures += 1;
    return Math.max(pauseMs, wishMs * (1 + this.#entropy.fraction() / 5));
  }
}

/** Returns a signal that is aborted after `inMs`, with the reason that `why` returns, unless `cancel` is called first. */
export function deadline(clock: Clock, inMs: number, why?: () => Error): { signal: AbortSignal; cancel: () => void } {
  const late = new AbortController();
  return { signal: late.signal, cancel: clock.after(inMs, () => late.abort(why?.())) };
}

/**
 * Waits for a promise; returns undefined if the promise takes longer than `deadlineMs`. Throws the signal's reason if the
 * signal is aborted first.
 */
export function inTime<Value>(
  clock: Clock,
  deadlineMs: number,
  promise: Promise<Value>,
  signal?: AbortSignal,
): Promise<{ readonly value: Value } | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', cut);
    };
    const cut = (): void => {
      end();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(deadlineMs, () => {
      end();
      resolve(undefined);
    });
    promise.then((value) => resolve({ value }), reject).finally(end);
    if (signal?.aborted === true) cut();
    else signal?.addEventListener('abort', cut, { once: true });
  });
}

/** Waits for `delayMs` milliseconds, or until the signal is aborted. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise<void>((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}
