import type { Clock } from '../../src/base/time.ts';

/** The clocks of one machine on shared time: they may run at another rate, and the machine may sleep. */
export class MachineClock implements Clock {
  readonly #shared: Clock;
  readonly #rate: number;
  readonly #wallAhead: number;
  #sleptMs = 0;
  #asleepSince: number | undefined;
  #held: (() => void)[] = [];

  constructor(shared: Clock, rate = 1, wallAhead = 0) {
    this.#shared = shared;
    this.#rate = rate;
    this.#wallAhead = wallAhead;
  }

  get isAsleep(): boolean {
    return this.#asleepSince !== undefined;
  }

  wall(): number {
    return this.#shared.wall() + this.#wallAhead + this.#shared.monotonic() * (this.#rate - 1);
  }

  /** It stands still while the machine sleeps. */
  monotonic(): number {
    return ((this.#asleepSince ?? this.#shared.monotonic()) - this.#sleptMs) * this.#rate;
  }

  after(delayMs: number, wake: () => void): () => void {
    let cancelled = false;
    const cancel = this.#shared.after(delayMs / this.#rate, () => {
      if (cancelled) return;
      if (this.isAsleep) this.#held.push(() => void (cancelled || wake()));
      else wake();
    });
    return () => {
      cancelled = true;
      cancel();
    };
  }

  sleep(): void {
    this.#asleepSince ??= this.#shared.monotonic();
  }

  /** What was due meanwhile runs when `run` is called: before that, a test can look at the machine as it wakes up. */
  wakeUp(): { readonly run: () => void } {
    this.#sleptMs += this.#shared.monotonic() - (this.#asleepSince ?? this.#shared.monotonic());
    this.#asleepSince = undefined;
    const due = this.#held;
    this.#held = [];
    return { run: () => due.forEach((wake) => wake()) };
  }
}
