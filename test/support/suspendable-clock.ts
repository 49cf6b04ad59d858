import { VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';

/** The clock of a machine that may sleep, and of a process that may hang. */
export class SuspendableClock extends VirtualClock {
  /** How many timers have not fired. */
  get pending(): number {
    return this.timers.length;
  }

  /** The machine sleeps: the wall clock goes on, the monotonic clock stops. */
  suspend(ms: number): void {
    this.wallAhead += ms;
  }

  /** The process hangs: both clocks go on, but no timer fires and no code runs. */
  stall(ms: number): void {
    this.now += ms;
  }
}
