/** Gives commands the real clock and randomness of the machine, and a log and metrics that discard everything. */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Clock, Entropy } from '../base/time.ts';
import type { Log, Metrics } from '../engine/ports.ts';

const longDelayMs = 20_000;

/**
 * The clock of the machine. A long delay is rounded up to a quarter of a second: Node keeps a list for each length of a timer,
 * and thousands of lists cost a sixth of the CPU that the polls take. Any other delay is rounded up to a millisecond: Node would
 * cut the fraction.
 */
export const realClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, wake) => {
    const stepMs = delayMs > longDelayMs ? 250 : 1;
    const timer = setTimeout(wake, Math.ceil(delayMs / stepMs) * stepMs);
    return () => clearTimeout(timer);
  },
};

/** The current time and a pause, for commands that wait; tests replace them. */
export interface Waiting {
  readonly nowMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

/** The real time and pauses of the machine. */
export const realTime: Waiting = {
  nowMs: () => Date.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The real randomness of the machine. */
export const realEntropy: Entropy = { fraction: Math.random, uuid: randomUUID };

const discard = () => undefined;

/** A log that discards everything. */
export const silent: Log = { debug: discard, info: discard, warn: discard, error: discard };

/** Metrics that discard everything. */
export const unmeasured: Metrics = { count: discard, gauge: discard, observe: discard };
