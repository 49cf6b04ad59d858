/**
 * Limits the requests of one credential, for every account that uses it.
 *
 * At most `requestsPerSecond` starts in any window of one second, at most `concurrency` at once, the more urgent first; each
 * eighth turn goes to whoever waits longest, so that nobody starves. When the service says 429 everybody waits as long as it
 * asks, and the rate is halved; it grows back by a sixtieth of the full rate each second. A p-queue holds who waits; it arms no
 * timer of its own, but is paused and started by the clock that is passed in.
 *
 * Why: docs/design/polling-and-budget.md#one-budget-for-each-credential
 */
import PQueue, { type QueueAddOptions } from 'p-queue';
import { growingMs, jittered, type Clock, type Entropy } from '../base/time.ts';
import type { Urgency } from '../engine/ports.ts';
import { longestPauseMs } from './wire/transport.ts';

/** The limits of an account. */
export interface Allowance {
  readonly requestsPerSecond: number;
  readonly concurrency: number;
}

/** Leave to send one request, or why not. */
export type Turn =
  | { readonly granted: true; readonly at: number; readonly done: () => void }
  | { readonly granted: false; readonly why: 'throttled' | 'waitedTooLong' | 'stopped' };

/** The limits while no account uses the credential. */
const alone: Allowance = { requestsPerSecond: 1, concurrency: 1 };
/** The more urgent first. */
const urgencies: readonly Urgency[] = ['dangerous', 'edit', 'wait', 'drift'];
/** Requests wait in the queue for a shorter pause; during a longer one they fail with `throttled` at once. */
const shortPauseMs = 10_000;
const patienceMs = 120_000;
const recoveryMs = 60_000;
const slowestPerSecond = 0.1;

/** The budget of one credential. */
export class Budget {
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #members = new Set<Allowance>();
  /** The smallest of what the members allow. */
  #allowed: Allowance = alone;
  readonly #plans = new Map<object, number>();
  /** The requests that wait for a turn, by urgency. */
  readonly #queue = new PQueue<ByUrgency>({ concurrency: alone.concurrency, queueClass: ByUrgency });
  /** Aborts requests that wait for a turn, with the reason. */
  readonly #leaving = new Set<AbortController>();
  readonly #announced = new Set<{ readonly urgency: Urgency }>();
  #starts: number[] = [];
  #turns = 0;
  #planned = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #strikes = 0;
  #cut = { at: Number.NEGATIVE_INFINITY, rate: Number.POSITIVE_INFINITY };
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, entropy: Entropy) {
    this.#clock = clock;
    this.#entropy = entropy;
  }

  /** Adds an account: the smallest allowance of all applies. The returned function removes it. */
  join(allowance: Allowance): () => void {
    const own = { ...allowance };
    this.#members.add(own);
    this.#allow();
    return () => {
      this.#members.delete(own);
      this.#allow();
    };
  }

  /** Waits for leave to send one request. */
  turn(urgency: Urgency, signal?: AbortSignal): Promise<Turn> {
    if (signal?.aborted === true) return Promise.resolve({ granted: false, why: 'stopped' });
    if (this.refusesNow()) return Promise.resolve({ granted: false, why: 'throttled' });
    return new Promise((answer) => {
      const leaving = new AbortController();
      const stop = (): void => leaving.abort('stopped');
      const cancel = this.#clock.after(patienceMs, () => leaving.abort('waitedTooLong'));
      const waited = (): void => {
        cancel();
        signal?.removeEventListener('abort', stop);
        this.#leaving.delete(leaving);
      };
      const granted = (): Promise<void> => {
        waited();
        const at = this.#grant();
        return new Promise((done) => answer({ granted: true, at, done }));
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.#leaving.add(leaving);
      this.#queue.add(granted, { priority: priorityOf(urgency), signal: leaving.signal }).catch((why: unknown) => {
        waited();
        answer({ granted: false, why: why === 'throttled' || why === 'waitedTooLong' ? why : 'stopped' });
      });
      this.#pace();
    });
  }

  /** The service said 429 to a request granted at `grantedAt`. */
  throttle(retryAfterMs: number | undefined, grantedAt: number): void {
    const now = this.#clock.monotonic();
    if (grantedAt >= this.#cut.at) {
      this.#cut = { at: now, rate: Math.max(this.requestsPerSecond() / 2, slowestPerSecond) };
      this.#strikes += 1;
    }
    const backoffMs = jittered(growingMs(this.#strikes - 1, { firstMs: 1000, longestMs: 60_000 }), this.#entropy);
    const pauseMs = retryAfterMs === undefined ? backoffMs : retryAfterMs + this.#entropy.fraction() * 250;
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(pauseMs, longestPauseMs));
    this.#pace();
    if (this.refusesNow()) for (const leaving of this.#leaving) leaving.abort('throttled');
  }

  /** The service took a request granted at `grantedAt`. */
  accepted(grantedAt: number): void {
    if (grantedAt > this.#cut.at) this.#strikes = 0;
  }

  /** The rest of the pause for everybody, in ms. */
  pauseMs(): number {
    return Math.max(this.#pausedUntil - this.#clock.monotonic(), 0);
  }

  /** Monotonic time until which everybody waits; undefined when nobody has to. */
  throttledUntil(): number | undefined {
    return this.pauseMs() > 0 ? this.#pausedUntil : undefined;
  }

  /** Monotonic time at which the full rate is reached again after a 429; undefined while it is in effect. */
  slowedUntil(): number | undefined {
    const share = Math.min(this.#cut.rate / this.#allowed.requestsPerSecond, 1);
    const until = Math.max(this.#cut.at, this.#pausedUntil) + recoveryMs * (1 - share);
    return until > this.#clock.monotonic() ? until : undefined;
  }

  /** True while a request would be answered with `throttled` at once. */
  refusesNow(): boolean {
    return this.pauseMs() > shortPauseMs;
  }

  /** The rate in effect. */
  requestsPerSecond(): number {
    const full = this.#allowed.requestsPerSecond;
    const healedMs = Math.max(this.#clock.monotonic() - Math.max(this.#cut.at, this.#pausedUntil), 0);
    return Math.max(Math.min(full, this.#cut.rate + (full * healedMs) / recoveryMs), slowestPerSecond);
  }

  /** Announces a request; the returned function ends the announcement. */
  announce(urgency: Urgency): () => void {
    const announced = { urgency };
    this.#announced.add(announced);
    return () => this.#announced.delete(announced);
  }

  /** The longest wait of a call that is announced now, behind calls as urgent: polls leave it half of the budget at least. */
  waitMs(urgency: Urgency): number {
    const rank = urgencies.indexOf(urgency);
    const before = [...this.#announced].filter((other) => urgencies.indexOf(other.urgency) <= rank).length;
    return this.pauseMs() + (1_000 * before) / (this.requestsPerSecond() / 2);
  }

  /** The number of turns given since the beginning. */
  granted(): number {
    return this.#turns;
  }

  /** The number of requests that wait for a turn. */
  waiting(): number {
    return this.#queue.size;
  }

  /** Sets how many requests per second a poller needs; 0 removes it. */
  plan(poller: object, perSecond: number): void {
    this.#planned += perSecond - (this.#plans.get(poller) ?? 0);
    if (perSecond === 0) this.#plans.delete(poller);
    else this.#plans.set(poller, perSecond);
    if (this.#plans.size === 0) this.#planned = 0;
  }

  /** The factor by which poll intervals are lengthened, so that polls take at most half of the budget. */
  stretch(): number {
    return Math.max(1, this.#planned / (this.requestsPerSecond() / 2));
  }

  #allow(): void {
    const members = [...this.#members];
    const least = (field: keyof Allowance) => Math.min(...members.map((member) => member[field]));
    this.#allowed =
      members.length === 0
        ? alone
        : { requestsPerSecond: least('requestsPerSecond'), concurrency: least('concurrency') };
    // Before the concurrency grows, or a request could start that the smaller rate does not allow.
    this.#pace();
    this.#queue.concurrency = Math.max(1, Math.floor(this.#allowed.concurrency));
  }

  #waitMs(now: number): number {
    const rate = this.requestsPerSecond();
    const cap = Math.max(1, Math.floor(rate));
    const first = this.#starts.at(-cap);
    const windowMs = first === undefined ? 0 : first + (1000 * cap) / rate - now;
    return Math.max(this.#pausedUntil - now, windowMs, 0);
  }

  /** Gives turns now, or once the rate and the pause allow the next one. */
  #pace(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const waitMs = this.#waitMs(this.#clock.monotonic());
    if (waitMs <= 0) {
      this.#queue.start();
      return;
    }
    this.#queue.pause();
    if (this.#queue.size > 0) this.#cancelTimer = this.#clock.after(Math.ceil(waitMs), () => this.#pace());
  }

  /** Grants a turn now; returns the time. */
  #grant(): number {
    const now = this.#clock.monotonic();
    this.#turns += 1;
    this.#starts.push(now);
    const kept = Math.max(1, Math.ceil(this.#allowed.requestsPerSecond));
    if (this.#starts.length > 2 * kept) this.#starts = this.#starts.slice(-kept);
    this.#pace();
    return now;
  }
}

type Run = () => Promise<unknown>;

interface Waiter {
  readonly run: Run;
  readonly id: string | undefined;
  readonly priority: number;
  /** The order of arrival. */
  readonly ticket: number;
}

function priorityOf(urgency: Urgency): number {
  return urgencies.length - urgencies.indexOf(urgency);
}

/** The order of turns: the most urgent first, but each eighth turn goes to the longest waiting. */
class ByUrgency {
  /** By priority, the highest first. */
  readonly #lines = new Map<number, Waiter[]>(urgencies.map((urgency) => [priorityOf(urgency), []]));
  #tickets = 0;
  #turns = 0;

  get size(): number {
    let size = 0;
    for (const line of this.#lines.values()) size += line.length;
    return size;
  }

  enqueue(run: Run, { id, priority = 1 }: Partial<QueueAddOptions> = {}): void {
    const line = this.#lines.get(priority);
    if (line === undefined) throw new Error(`no such priority: ${priority}`);
    line.push({ run, id, priority, ticket: (this.#tickets += 1) });
  }

  dequeue(): Run | undefined {
    const isOldest = this.#turns % 8 === 7;
    const fronts = [...this.#lines.values()].flatMap((line) => line[0] ?? []);
    const oldest = Math.min(...fronts.map(({ ticket }) => ticket));
    const next = isOldest ? fronts.find(({ ticket }) => ticket === oldest) : fronts[0];
    if (next === undefined) return undefined;
    this.#turns += 1;
    this.#lines.get(next.priority)?.shift();
    return next.run;
  }

  remove(id: string): void {
    for (const line of this.#lines.values()) {
      const place = line.findIndex((waiter) => waiter.id === id);
      if (place >= 0) line.splice(place, 1);
    }
  }

  setPriority(id: string, priority: number): void {
    const waiter = [...this.#lines.values()].flat().find((one) => one.id === id);
    if (waiter === undefined) return;
    this.remove(id);
    this.#lines.get(priority)?.push({ ...waiter, priority });
  }

  filter({ priority }: Readonly<Partial<QueueAddOptions>>): Run[] {
    return (this.#lines.get(priority ?? 1) ?? []).map(({ run }) => run);
  }
}
