import type { Clock } from '../../base/clock.ts';

/** The size of the buckets; the keys that were used least recently are forgotten. */
export interface BucketShape {
  readonly burst: number;
  readonly refillMs: number;
  /** How many keys are remembered at most. */
  readonly most: number;
}

/** A token bucket for each key. */
export class TokenBuckets {
  readonly #shape: BucketShape;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(shape: BucketShape, clock: Clock) {
    this.#shape = shape;
    this.#clock = clock;
  }

  /** Takes a token of the key; false when there is none. */
  take(key: string): boolean {
    const now = this.#clock.monotonic();
    const { burst, refillMs, most } = this.#shape;
    const known = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, known.tokens + (now - known.at) / refillMs);
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size > most && oldest.done !== true) this.#buckets.delete(oldest.value);
    return tokens >= 1;
  }
}
