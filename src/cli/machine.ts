/** Gives commands the clock and the random numbers of the machine, a log that writes nothing, and metrics that record nothing. */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Clock, Entropy } from '../base/time.ts';
import type { Log, Metrics } from '../engine/ports.ts';

const longDelayMs = 20_000;

/**
 * The clock of the machine. A delay of more than 20 seconds is rounded up to a quarter of a second: Node keeps one list
 * of timers for each different delay, and thousands of lists take a sixth of the CPU time of all polls. A shorter delay
 * is rounded up to a whole millisecond, because Node would cut off the fraction.
 */
export const realClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, wake) => {
    const stepMs = delayMs > longDelayMs ? 250 : 1;
    const timer = setTimeout(wake, Math.max(0, Math.ceil(delayMs / stepMs) * stepMs));
    return () => clearTimeout(timer);
  },
};

/** The current time and a pause, for commands that wait; tests replace them. */
export interface Waiting {
  readonly nowMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

/** Reads the current time and waits, with the clock of the machine. */
export const realTime: Waiting = {
  nowMs: () => Date.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Random numbers and UUIDs from the machine. */
export const realEntropy: Entropy = { fraction: Math.random, uuid: randomUUID };

const discard = () => undefined;

/** A log that writes nothing. */
export const silent: Log = { debug: discard, info: discard, warn: discard, error: discard };

/** Metrics that record nothing. */
export const unmeasured: Metrics = { count: discard, gauge: discard, observe: discard };
