/** Time: the wall clock for what people read, the monotonic clock for every decision. */
export interface Clock {
  /** Milliseconds since the epoch. */
  wall(): number;
  /** Milliseconds that never step back and never jump. */
  monotonic(): number;
  /** Runs `wake` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, wake: () => void): () => void;
}

/** A moment on both clocks of a process: the monotonic one stops while the machine sleeps, and the wall clock may be set. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** What both clocks show now. */
export function momentOf(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

/** Randomness, passed in so that a test can repeat it. */
export interface Entropy {
  /** A number in [0, 1). */
  fraction(): number;
  /** A version 4 UUID. */
  uuid(): string;
}

/** A time as metav1.Time has it: whole seconds. */
export function isoSeconds(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** A time as metav1.MicroTime has it: exactly six digits after the second. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/Z$/, '000Z');
}

/** The end of a wait in whole seconds, rounded up: it is over when a clock shows this time. */
export function isoSecondsUp(ms: number): string {
  return isoSeconds(ms + 999);
}

/** Doubles a pause with each failure that came before, up to the longest. */
export function growingMs(failures: number, { firstMs, longestMs }: { firstMs: number; longestMs: number }): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures, 30));
}

/** Shortens a pause by up to a half, so that those who failed together do not come back together. */
export function jittered(ms: number, entropy: Entropy): number {
  return ms * (0.5 + entropy.fraction() / 2);
}

/** The pause before an object that failed so often in a row is tried again: from a second to five minutes. */
export function retryPauseMs(failures: number, entropy: Entropy): number {
  return jittered(growingMs(failures, { firstMs: 1_000, longestMs: 300_000 }), entropy);
}

/** How long to wait after failures in a row. */
export interface BackoffShape {
  readonly firstMs: number;
  readonly longestMs: number;
  /** After this long without a failure the next one counts as the first. */
  readonly forgetMs: number;
}

/** A growing pause with jitter, without end; it forgets after a healthy while. */
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

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** How long to wait after one more failure; a wish of the server is kept in full. */
  next(wishMs = 0): number {
    const now = this.#clock.monotonic();
    if (now - this.#lastFailureAt >= this.#shape.forgetMs) this.#failures = 0;
    this.#lastFailureAt = now;
    const pauseMs = jittered(growingMs(this.#failures, this.#shape), this.#entropy);
    this.#failures += 1;
    return Math.max(pauseMs, wishMs * (1 + this.#entropy.fraction() / 5));
  }
}
