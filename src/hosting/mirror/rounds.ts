/**
 * Reads that cost a request each and only follow a state: they take turns within a fifth of the budget, which all accounts of a
 * credential share.
 *
 * The pressing ones (an alert that fires) come round four times as often as the calm ones, and none more often than it asks.
 * A read is weighed when it joins and after each of its walks, so that a turn costs the same however many take part. Turns that
 * were set when there were fewer reads would come too close together: each is taken when the share has room for it.
 */
import type { Reading } from './reading.ts';

const share = 0.2;
const pressingTurns = 4;

export class Rounds {
  readonly #turns = new Map<Reading, number>();
  /** Turns that have come, and when the share has room for each. */
  readonly #waiting = new Map<Reading, number>();
  #total = 0;
  #roomAt = Number.NEGATIVE_INFINITY;

  join(reading: Reading): void {
    this.#weigh(reading, turnsOf(reading));
  }

  leave(reading: Reading): void {
    this.#waiting.delete(reading);
    this.#weigh(reading, 0);
  }

  /** The pause between two turns of a calm read, before its own wish is considered. */
  roundMs(requestsPerSecond: number): number {
    return (1_000 * this.#total) / (share * requestsPerSecond);
  }

  /** How many turns a second so many of all reads may have, were they all calm. */
  perSecond(reads: number, requestsPerSecond: number): number {
    return reads === 0 ? 0 : (reads * share * requestsPerSecond) / this.#turns.size;
  }

  /** The pause before the next turn of one read, as it stands now. */
  intervalMs(reading: Reading, requestsPerSecond: number): number {
    const turns = turnsOf(reading);
    if (this.#turns.has(reading)) this.#weigh(reading, turns);
    return Math.max(reading.read.roundMs ?? 0, this.roundMs(requestsPerSecond) / turns);
  }

  /** When a turn that has come may be taken; asked again then, it is taken. */
  takenAt(reading: Reading, now: number, requestsPerSecond: number): number {
    const at = this.#waiting.get(reading) ?? this.#lineUp(reading, now, requestsPerSecond);
    if (at > now) this.#waiting.set(reading, at);
    else this.#waiting.delete(reading);
    return at;
  }

  /** At the end of those that wait, but that a pressing one changes places with the first calm one. */
  #lineUp(reading: Reading, now: number, requestsPerSecond: number): number {
    const last = Math.max(now, this.#roomAt);
    this.#roomAt = last + 1_000 / (share * requestsPerSecond);
    if (last === now || turnsOf(reading) === 1) return last;
    for (const [calm, first] of this.#waiting) {
      if (turnsOf(calm) > 1) continue;
      this.#waiting.delete(calm);
      this.#waiting.set(calm, last);
      return first;
    }
    return last;
  }

  #weigh(reading: Reading, turns: number): void {
    this.#total += turns - (this.#turns.get(reading) ?? 0);
    if (turns === 0) this.#turns.delete(reading);
    else this.#turns.set(reading, turns);
  }
}

function turnsOf(reading: Reading): number {
  const isPressing = reading.snapshot !== undefined && (reading.read.busy?.(reading.snapshot.items) ?? false);
  return isPressing ? pressingTurns : 1;
}
