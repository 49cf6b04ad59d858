import type { Clock } from '../../../src/engine/ports.ts';

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

/** Time that passes only when told to; timers due in between fire in order. */
export class VirtualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  wall(): number {
    return Date.UTC(2026, 0, 1) + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { at: this.#now + Math.max(delayMs, 0), wake };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets everything run that needs no time. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settle();
    for (let next = this.#first(until); next !== undefined; next = this.#first(until)) {
      this.#now = Math.max(this.#now, next.at);
      this.#timers.delete(next);
      next.wake();
      await this.settle();
    }
    this.#now = until;
  }

  #first(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers)
      if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer;
    return first;
  }
}
