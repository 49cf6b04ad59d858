/**
 * Rate-limited reads, which cost a request each: together they take at most a fifth of a credential's budget, for all its
 * accounts.
 *
 * A pressing one (a firing alert) is read four times as often as a calm one, and none more often than it asks for. A due
 * read takes the next free place in the share, so that reads stay spaced out when their number grows.
 */
const share = 0.2;
const pressingWeight = 4;

export class StateShare {
  readonly #weights = new Map<object, number>();
  #total = 0;
  #nextAt = Number.NEGATIVE_INFINITY;

  /** Counts a read in, by whether it is pressing now. */
  count(reading: object, isPressing: boolean): void {
    this.#set(reading, isPressing ? pressingWeight : 1);
  }

  /** Counts a read out. */
  leave(reading: object): void {
    this.#set(reading, 0);
  }

  /** The pause between two requests of a calm read, before its own wish is considered. */
  calmMs(requestsPerSecond: number): number {
    return (1_000 * this.#total) / (share * requestsPerSecond);
  }

  /** The requests per second of this many reads, if all were calm. */
  perSecond(reads: number, requestsPerSecond: number): number {
    return reads === 0 ? 0 : (reads * share * requestsPerSecond) / this.#weights.size;
  }

  /** The pause before a read is asked again, as things stand now and before its own wish is considered. */
  intervalMs(reading: object, isPressing: boolean, requestsPerSecond: number): number {
    if (this.#weights.has(reading)) this.count(reading, isPressing);
    return this.calmMs(requestsPerSecond) / (isPressing ? pressingWeight : 1);
  }

  /** Takes the next free place in the share, and says when that is. */
  place(now: number, requestsPerSecond: number): number {
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + 1_000 / (share * requestsPerSecond);
    return at;
  }

  #set(reading: object, weight: number): void {
    this.#total += weight - (this.#weights.get(reading) ?? 0);
    if (weight === 0) this.#weights.delete(reading);
    else this.#weights.set(reading, weight);
  }
}
