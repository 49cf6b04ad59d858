import type { Clock, Entropy } from '../engine/ports.ts';

/** How long to wait after failures in a row. */
export interface BackoffShape {
  readonly firstMs: number;
  readonly longestMs: number;
  /** After this long without a failure the next one counts as the first. */
  readonly forgetMs: number;
}

/** Exponential with jitter, without end; it forgets after a healthy while. */
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
    const grown = Math.min(this.#shape.longestMs, this.#shape.firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    const jittered = grown * (0.5 + this.#entropy.fraction() / 2);
    return Math.max(jittered, wishMs * (1 + this.#entropy.fraction() / 5));
  }
}
