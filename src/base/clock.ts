/** Time: the wall clock for what people read, the monotonic clock for every decision. */
export interface Clock {
  /** Milliseconds since the epoch. */
  wall(): number;
  /** Milliseconds that never step back and never jump. */
  monotonic(): number;
  /** Runs `wake` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, wake: () => void): () => void;
}

/** Randomness, passed in so that a test can repeat it. */
export interface Entropy {
  /** A number in [0, 1). */
  fraction(): number;
  /** A version 4 UUID. */
  uuid(): string;
}
