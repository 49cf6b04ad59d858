import type { Clock, Entropy } from '../../base/time.ts';

/** A clock for tests and plans, which moves only when `advance` is called. */
export class VirtualClock implements Clock {
  protected now = 0;
  protected wallAhead: number;
  /** The timers that have not fired yet; the timer that fires first comes first. */
  protected readonly timers: { readonly at: number; readonly wake: () => void }[] = [];

  /** Starts the clock at a fixed date by default, so that printed times are the same in every run. */
  constructor(wallStart = Date.UTC(2026, 0, 1)) {
    this.wallAhead = wallStart;
  }

  wall(): number {
    return this.wallAhead + this.now;
  }

  monotonic(): number {
    return this.now;
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { at: this.now + Math.max(0, delayMs), wake };
    this.timers.splice(this.timers.findLastIndex(({ at }) => at <= timer.at) + 1, 0, timer);
    return () => {
      const place = this.timers.indexOf(timer);
      if (place >= 0) this.timers.splice(place, 1);
    };
  }

  /** The time at which the next timer fires, in monotonic milliseconds. */
  get nextAt(): number | undefined {
    return this.timers[0]?.at;
  }

  /** Advances the clock. Timers fire in order, each after all callbacks of the previous timer have run. */
  async advance(ms: number): Promise<void> {
    const until = this.now + ms;
    await settle();
    for (let next = this.timers[0]; next !== undefined && next.at <= until; next = this.timers[0]) {
      this.timers.shift();
      this.now = Math.max(this.now, next.at);
      next.wake();
      await settle();
    }
    this.now = until;
  }
}

/** Resolves after all promise callbacks that can run now have run. */
export async function settle(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Makes random numbers that are the same in every run with the same seed. */
export class SeededEntropy implements Entropy {
  #state: number;

  constructor(seed = 1) {
    this.#state = seed >>> 0;
  }

  /** Returns the next number of the generator mulberry32, at least 0 and below 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  uuid(): string {
    const digit = (): string => Math.floor(this.fraction() * 16).toString(16);
    return 'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', digit);
  }
}
