/** The machine that a command runs on: its clock and its randomness; and where nobody listens. */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Clock, Entropy } from '../base/time.ts';
import type { Log, Metrics } from '../engine/ports.ts';

/** The clock of the machine. */
export const realClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};

/** The time of a command that waits. */
export interface Waiting {
  readonly nowMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

/** The time of the machine. */
export const realTime: Waiting = {
  nowMs: () => Date.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The machine's randomness. */
export const realEntropy: Entropy = { fraction: Math.random, uuid: randomUUID };

/** A log that nobody reads. */
export const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Metrics that nobody collects. */
export const unmeasured: Metrics = { count: () => undefined, gauge: () => undefined, observe: () => undefined };
