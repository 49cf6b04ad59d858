/**
 * How often the reads of one account are asked, and how much of the credential's budget that takes.
 *
 * Reads that are polled keep the account's interval, or a longer one where all polls together would use more than half of the
 * budget; those that take turns get what `Rounds` leaves them. What is due goes out on the next beat, together with all else that is:
 * waking up for each read by itself costs as much as the reads. Sums are kept, so that a question costs the same however many
 * reads there are.
 */
import type { Clock, Entropy } from '../../base/clock.ts';
import type { Read } from '../../engine/ports.ts';
import type { Credential } from '../credential.ts';
import { baseIntervalMs, isBusy, plannedPerSecond, type Reading } from './reading.ts';

const beatMs = 250;

/** What the pace of an account depends on. */
export interface PaceSurroundings {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly credential: Credential;
  readonly pollMs: number;
}

/** The pace of the reads of one account. */
export class Pace {
  readonly #around: PaceSurroundings;
  /** Those that take turns. */
  readonly #turning = new Set<Reading>();
  #plannedPerSecond = 0;
  /** What those that take turns would take if there were room for all. */
  #wishedPerSecond = 0;
  /** How many of them wish for each pause. */
  readonly #wishes = new Map<number, number>();

  constructor(around: PaceSurroundings) {
    this.#around = around;
  }

  /** Somebody follows a read; one that takes turns does not begin with one: a thousand new alerts would all begin at once. */
  join(reading: Reading): void {
    this.plan(reading);
    if (reading.read.pace !== 'rounds') return;
    if (!this.#turning.has(reading)) this.#wish(reading, 1);
    this.#turning.add(reading);
    this.#around.credential.rounds.join(reading);
    if (reading.pollAt !== Number.NEGATIVE_INFINITY) return;
    reading.pollAt = onBeat(this.#around.clock.monotonic() + this.#turnMs(reading) * this.#around.entropy.fraction());
  }

  /** Nobody follows a read any more. */
  leave(reading: Reading): void {
    this.#count(reading, 0);
    if (this.#turning.delete(reading)) this.#wish(reading, -1);
    if (this.#turning.size === 0) this.#wishedPerSecond = 0;
    this.#around.credential.rounds.leave(reading);
  }

  /** A read is asked for at another pace, which counts from its newest walk. */
  change(reading: Reading, read: Read): void {
    const turns = this.#turning.has(reading);
    if (turns) this.#wish(reading, -1);
    reading.read = read;
    if (turns) this.#wish(reading, 1);
    if (read.pace !== 'rounds') return;
    const { clock, entropy } = this.#around;
    reading.pollAt =
      reading.snapshot === undefined
        ? Math.min(reading.pollAt, onBeat(clock.monotonic() + this.#turnMs(reading) * entropy.fraction()))
        : this.nextAt(reading, reading.newest.at);
  }

  /** Counts the polls of a read by what its newest walk showed. */
  plan(reading: Reading): void {
    this.#count(reading, plannedPerSecond(reading, this.#around.pollMs));
  }

  /** When a read that was walked is due again. */
  nextAt(reading: Reading, begunAt: number): number {
    const { entropy, credential, pollMs } = this.#around;
    const spread = isBusy(reading) ? 0.75 + entropy.fraction() / 2 : 0.95 + entropy.fraction() / 10;
    const intervalMs =
      reading.read.pace === 'rounds'
        ? this.#turnMs(reading)
        : baseIntervalMs(reading, pollMs) * credential.budget.stretch();
    return onBeat(begunAt + intervalMs * spread);
  }

  /** When a read that is due may be walked: at once, but for those that take turns. */
  roomAt(reading: Reading, now: number): number {
    const { rounds, budget } = this.#around.credential;
    if (reading.read.pace !== 'rounds') return now;
    const at = rounds.takenAt(reading, now, budget.requestsPerSecond());
    return at > now ? onBeat(at) : at;
  }

  /** The poll interval in effect. */
  pollIntervalMs(): number {
    return Math.round(this.#around.pollMs * this.#around.credential.budget.stretch());
  }

  /** How many requests an hour the followed reads take. */
  forecastPerHour(): number {
    const { budget, rounds } = this.#around.credential;
    const turns = rounds.perSecond(this.#turning.size, budget.requestsPerSecond());
    return Math.round((this.#plannedPerSecond / budget.stretch() + Math.min(turns, this.#wishedPerSecond)) * 3600);
  }

  /** How often a read that takes turns is asked at most: as often as one of them wishes, or as a round takes; undefined when there are none. */
  roundMs(): number | undefined {
    const { rounds, budget } = this.#around.credential;
    if (this.#turning.size === 0) return undefined;
    return Math.max(Math.min(...this.#wishes.keys()), rounds.roundMs(budget.requestsPerSecond()));
  }

  #wish(reading: Reading, sign: 1 | -1): void {
    const wish = wishMs(reading);
    this.#wishedPerSecond += (sign * 1_000) / wish;
    const count = (this.#wishes.get(wish) ?? 0) + sign;
    if (count === 0) this.#wishes.delete(wish);
    else this.#wishes.set(wish, count);
  }

  #turnMs(reading: Reading): number {
    const { rounds, budget } = this.#around.credential;
    return rounds.intervalMs(reading, budget.requestsPerSecond());
  }

  #count(reading: Reading, perSecond: number): void {
    this.#plannedPerSecond += perSecond - reading.planned;
    reading.planned = perSecond;
    this.#around.credential.budget.plan(reading, perSecond);
  }
}

/** The first beat that is not before this moment. */
function onBeat(at: number): number {
  return Math.ceil(at / beatMs) * beatMs;
}

/** The pause that a read would like between its turns. */
function wishMs({ read }: Reading): number {
  return Math.max(read.roundMs ?? 0, 1_000);
}
