/**
 * Reads that cost a request each and only follow a state: they take turns within a fifth of the budget.
 *
 * The pressing ones (an alert that fires) come round four times as often as the calm ones, and none more often than it asks.
 */
import type { Reading } from './reading.ts';

const share = 0.2;
const pressingTurns = 4;

export class Rounds {
  readonly #readings = new Set<Reading>();

  join(reading: Reading): void {
    if (reading.read.pace === 'rounds') this.#readings.add(reading);
  }

  leave(reading: Reading): void {
    this.#readings.delete(reading);
  }

  get size(): number {
    return this.#readings.size;
  }

  /** The pause between two turns of a calm read, before its own wish is considered. */
  roundMs(requestsPerSecond: number): number {
    let turns = 0;
    for (const reading of this.#readings) turns += isPressing(reading) ? pressingTurns : 1;
    return (1_000 * turns) / (share * requestsPerSecond);
  }

  /** The pause before the next turn of one read. */
  intervalMs(reading: Reading, requestsPerSecond: number): number {
    const round = this.roundMs(requestsPerSecond) / (isPressing(reading) ? pressingTurns : 1);
    return Math.max(reading.read.roundMs ?? 0, round);
  }
}

function isPressing(reading: Reading): boolean {
  return reading.snapshot !== undefined && (reading.read.busy?.(reading.snapshot.items) ?? false);
}
