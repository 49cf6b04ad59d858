/**
 * When the polled reads of one account are asked, and how much of the credential's budget that takes.
 *
 * Lists keep the account's interval, or a longer one where all polls together would use more than half of the budget;
 * rate-limited reads share a fifth of it. Sums are kept, so the cost of a query does not depend on the number of reads.
 */
import { type Clock, type Entropy, growingMs } from '../../base/time.ts';
import type { Read, ReadProblem, Snapshot } from '../../engine/ports.ts';
import type { Credential } from '../credential.ts';

/** The parts that a schedule is computed from. */
export interface ScheduleSurroundings {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly credential: Credential;
  readonly pollMs: number;
}

/** The schedule of the reads of one account. */
export class Schedule {
  readonly #around: ScheduleSurroundings;
  #plannedPerSecond = 0;
  /** The number of state reads by the pause that they wish for. */
  readonly #wishes = new Map<number, number>();

  constructor(around: ScheduleSurroundings) {
    this.#around = around;
  }

  /** Somebody follows a read. A rate-limited one starts at a random time, or a thousand new alerts would start together. */
  join(reading: Reading): void {
    this.plan(reading);
    if (reading.read.pace !== 'rateLimited') return;
    this.#wish(reading, wishMs(reading));
    this.#around.credential.states.count(reading, isBusy(reading));
    if (reading.pollAt === Number.NEGATIVE_INFINITY) reading.pollAt = this.#firstAt(reading);
  }

  /** Nobody follows a read any more. */
  leave(reading: Reading): void {
    this.#count(reading, 0);
    this.#wish(reading, undefined);
    this.#around.credential.states.leave(reading);
  }

  /** Changes the interval of a read, counted from its newest list. */
  change(reading: Reading, read: Read): void {
    reading.read = read;
    if (reading.wishMs !== undefined) this.#wish(reading, wishMs(reading));
    if (read.pace !== 'rateLimited') return;
    reading.pollAt =
      reading.snapshot === undefined
        ? Math.min(reading.pollAt, this.#firstAt(reading))
        : this.nextAt(reading, reading.newest.at);
  }

  /** Counts how many requests per second the polls of a read need, by the number of pages in its newest list. */
  plan(reading: Reading): void {
    this.#count(reading, plannedPerSecond(reading, this.#around.pollMs));
  }

  /** When a read that was asked at `begunAt` is due again. */
  nextAt(reading: Reading, begunAt: number): number {
    const { entropy, credential, pollMs } = this.#around;
    const spread = isBusy(reading) ? 0.75 + entropy.fraction() / 2 : 0.95 + entropy.fraction() / 10;
    const intervalMs =
      reading.read.pace === 'rateLimited'
        ? this.#stateMs(reading)
        : baseIntervalMs(reading, pollMs) * credential.budget.stretch();
    return begunAt + intervalMs * spread;
  }

  /** When a due read may be sent: at once, or for a rate-limited one at its place in their share. */
  placeOf(reading: Reading, now: number): number {
    if (reading.read.pace !== 'rateLimited') return now;
    const { states, budget } = this.#around.credential;
    reading.place ??= states.place(now, budget.requestsPerSecond());
    return reading.place;
  }

  /** The poll interval in effect. */
  pollIntervalMs(): number {
    return Math.round(this.#around.pollMs * this.#around.credential.budget.stretch());
  }

  /** Forecasts the requests an hour of all followed reads. */
  forecastPerHour(): number {
    const { budget, states } = this.#around.credential;
    const wishes = [...this.#wishes];
    const wished = wishes.reduce((sum, [wish, reads]) => sum + (1_000 * reads) / wish, 0);
    const reads = wishes.reduce((sum, [, count]) => sum + count, 0);
    const allowed = states.perSecond(reads, budget.requestsPerSecond());
    return Math.round((this.#plannedPerSecond / budget.stretch() + Math.min(allowed, wished)) * 3600);
  }

  /** The interval of rate-limited reads: the shortest that one asks for, or as their share allows; undefined without any. */
  rateLimitedMs(): number | undefined {
    const { states, budget } = this.#around.credential;
    if (this.#wishes.size === 0) return undefined;
    return Math.max(Math.min(...this.#wishes.keys()), states.calmMs(budget.requestsPerSecond()));
  }

  /** Not in the first half of the interval: by then a list has shown what else there is to write of a new object. */
  #firstAt(reading: Reading): number {
    const { clock, entropy } = this.#around;
    return clock.monotonic() + this.#stateMs(reading) * (0.5 + entropy.fraction() / 2);
  }

  #stateMs(reading: Reading): number {
    const { states, budget } = this.#around.credential;
    const allowedMs = states.intervalMs(reading, isBusy(reading), budget.requestsPerSecond());
    return Math.max(reading.read.rateLimitedMs ?? 0, allowedMs);
  }

  #wish(reading: Reading, wish: number | undefined): void {
    const add = (ms: number | undefined, reads: 1 | -1): void => {
      if (ms === undefined) return;
      const count = (this.#wishes.get(ms) ?? 0) + reads;
      if (count === 0) this.#wishes.delete(ms);
      else this.#wishes.set(ms, count);
    };
    add(reading.wishMs, -1);
    add(wish, 1);
    reading.wishMs = wish;
  }

  #count(reading: Reading, perSecond: number): void {
    this.#plannedPerSecond += perSecond - reading.planned;
    reading.planned = perSecond;
    this.#around.credential.budget.plan(reading, perSecond);
  }
}

/** The interval that a rate-limited read asks for. */
function wishMs({ read }: Reading): number {
  return Math.max(read.rateLimitedMs ?? 0, 1_000);
}

/** How much earlier than its real start a list is dated. */
export const hairMs = 0.0001;

const hourMs = 3_600_000;
const busyMs = 4000;
const calmAfterMs = 4000;
const firstGapMs = 1000;
const longestGapMs = 2000;

/** One read and all that is remembered of it. */
export interface Reading {
  /** The read as last requested: a spec may ask for another interval of the same read. */
  read: Read;
  followers: number;
  snapshot: Snapshot | undefined;
  problem: ReadProblem | undefined;
  /** Of the newest full list. */
  digest: string | undefined;
  /** Of the newest list, complete or not. */
  pages: number;
  /** The requests per second that its polls were last counted with. */
  planned: number;
  /** In a row. */
  failures: number;
  wantedSince: number;
  /** The greatest urgency among those who want a fresher list. */
  urgency: 'edit' | 'wait';
  pollAt: number;
  /** No list begins earlier, whoever wants it. */
  notBefore: number;
  /** When its newest list began, and how many came before it in quick succession. */
  newest: { readonly at: number; readonly streak: number };
  usedAt: number;
  /** For a followed rate-limited read: the interval that it asks for. */
  wishMs: number | undefined;
  /** For a rate-limited read that is due: when it may be sent. */
  place: number | undefined;
  state: 'idle' | 'queued' | 'reading';
  /** Its id in the queue. */
  ticket: string;
  cancelTimer: () => void;
}

/** A read that was never asked. */
export function newReading(read: Read, now: number): Reading {
  return {
    read,
    followers: 0,
    snapshot: undefined,
    problem: undefined,
    digest: undefined,
    pages: 1,
    planned: 0,
    failures: 0,
    wantedSince: Number.NEGATIVE_INFINITY,
    urgency: 'edit',
    pollAt: Number.NEGATIVE_INFINITY,
    notBefore: Number.NEGATIVE_INFINITY,
    newest: { at: Number.NEGATIVE_INFINITY, streak: 0 },
    usedAt: now,
    wishMs: undefined,
    place: undefined,
    state: 'idle',
    ticket: '',
    cancelTimer: () => undefined,
  };
}

/** True while somebody follows it and its pace is not `onDemand`. */
export function isPolled(reading: Reading): boolean {
  return reading.followers > 0 && reading.read.pace !== 'onDemand';
}

/** True while somebody waits for a fresher list than the newest. */
export function isWanted(reading: Reading): boolean {
  return reading.wantedSince > (reading.snapshot?.begunAt ?? Number.NEGATIVE_INFINITY);
}

/** True while something is under way among its items. */
function isBusy(reading: Reading): boolean {
  return reading.snapshot !== undefined && (reading.read.busy?.(reading.snapshot.items) ?? false);
}

/** The interval between polls before the budget lengthens it. */
function baseIntervalMs(reading: Reading, pollMs: number): number {
  if (reading.read.pace === 'hourly') return Math.max(hourMs, pollMs);
  return isBusy(reading) ? Math.min(busyMs, pollMs) : pollMs;
}

/** The requests per second that polling it would take before the budget lengthens the interval. */
function plannedPerSecond(reading: Reading, pollMs: number): number {
  return isPolled(reading) && reading.read.pace !== 'rateLimited'
    ? (1000 * reading.pages) / baseIntervalMs(reading, pollMs)
    : 0;
}

/** Monotonic time of the next list; infinite when none is needed. */
export function dueAt(reading: Reading): number {
  const polled = isPolled(reading) ? reading.pollAt : Number.POSITIVE_INFINITY;
  const wanted = isWanted(reading) ? Math.max(reading.wantedSince + hairMs, gapEnd(reading)) : Number.POSITIVE_INFINITY;
  return Math.max(Math.min(polled, wanted), reading.notBefore);
}

/** Spaces out wanted lists: the first begins at once, the next one second later, further ones every two seconds. */
function gapEnd(reading: Reading): number {
  const { at, streak } = reading.newest;
  return at + growingMs(streak, { firstMs: firstGapMs, longestMs: longestGapMs });
}

/** Remembers that a list begins. */
export function noteList(reading: Reading, now: number): void {
  const { at, streak } = reading.newest;
  reading.newest = { at: now, streak: now - at < calmAfterMs ? streak + 1 : 0 };
}
