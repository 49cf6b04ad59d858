/**
 * How many requests one credential may send, shared by every account that uses it.
 *
 * At most `requestsPerSecond` starts in any window of one second, at most `concurrency` at once, the more urgent first; each
 * eighth turn goes to whoever waits longest, so that nobody starves. When the service says 429 everybody waits as long as it
 * asks, and the rate is halved; it grows back by a sixtieth of the full rate each second. All of it runs on the clock that is
 * passed in.
 *
 * Why: docs/design/polling-and-budget.md#one-budget-for-each-credential
 */
import { growingMs, jittered } from '../base/backoff.ts';
import type { Clock, Entropy } from '../base/clock.ts';
import type { Urgency } from '../engine/ports.ts';
import { longestPauseMs } from './wire/retry-after.ts';

/** What the accounts allow. */
export interface Allowance {
  readonly requestsPerSecond: number;
  readonly concurrency: number;
}

/** Leave to send one request, or why not. */
export type Turn =
  | { readonly granted: true; readonly at: number; readonly done: () => void }
  | { readonly granted: false; readonly why: 'throttled' | 'waitedTooLong' | 'stopped' };

interface Waiter {
  readonly urgency: Urgency;
  /** Grows with each who comes. */
  readonly ticket: number;
  readonly answer: (turn: Turn) => void;
}

/** What nobody has asked for more of. */
const alone: Allowance = { requestsPerSecond: 1, concurrency: 1 };
/** The more urgent first. */
const urgencies: readonly Urgency[] = ['dangerous', 'edit', 'wait', 'drift'];
/** A shorter pause is waited out in the queue; a longer one is told to whoever asks. */
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
  readonly #waiting = new Map<Urgency, Waiter[]>(urgencies.map((urgency) => [urgency, []]));
  readonly #announced = new Set<{ readonly urgency: Urgency }>();
  #starts: number[] = [];
  #running = 0;
  #turns = 0;
  #tickets = 0;
  #planned = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #strikes = 0;
  #cut = { at: Number.NEGATIVE_INFINITY, rate: Number.POSITIVE_INFINITY };
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, entropy: Entropy) {
    this.#clock = clock;
    this.#entropy = entropy;
  }

  /** Counts an account in: the smallest allowance of all holds. The returned function counts it out. */
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
    if (this.pauseMs() > shortPauseMs) return Promise.resolve({ granted: false, why: 'throttled' });
    return new Promise((resolve) => {
      const leave = (why: 'waitedTooLong' | 'stopped') => () => waiter.answer({ granted: false, why });
      const stop = leave('stopped');
      const cancel = this.#clock.after(patienceMs, leave('waitedTooLong'));
      const waiter: Waiter = {
        urgency,
        ticket: (this.#tickets += 1),
        answer: (turn) => {
          cancel();
          signal?.removeEventListener('abort', stop);
          const line = this.#line(urgency);
          const place = line.indexOf(waiter);
          if (place >= 0) line.splice(place, 1);
          resolve(turn);
        },
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.#line(urgency).push(waiter);
      this.#pump();
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
    if (this.pauseMs() > shortPauseMs) {
      for (const line of this.#waiting.values()) {
        for (const waiter of line.slice()) waiter.answer({ granted: false, why: 'throttled' });
      }
    }
    this.#pump();
  }

  /** The service took a request granted at `grantedAt`. */
  accepted(grantedAt: number): void {
    if (grantedAt > this.#cut.at) this.#strikes = 0;
  }

  /** How long everybody has to wait now. */
  pauseMs(): number {
    return Math.max(this.#pausedUntil - this.#clock.monotonic(), 0);
  }

  /** Monotonic time until which everybody waits; undefined when nobody has to. */
  throttledUntil(): number | undefined {
    return this.pauseMs() > 0 ? this.#pausedUntil : undefined;
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

  /** Somebody is about to ask for a turn; the returned function says that it is over with. */
  announce(urgency: Urgency): () => void {
    const announced = { urgency };
    this.#announced.add(announced);
    return () => this.#announced.delete(announced);
  }

  /** How long a call that is announced now may have to wait behind what is as urgent: polls leave it half of the budget at least. */
  waitMs(urgency: Urgency): number {
    const rank = urgencies.indexOf(urgency);
    const before = [...this.#announced].filter((other) => urgencies.indexOf(other.urgency) <= rank).length;
    return this.pauseMs() + (1_000 * before) / (this.requestsPerSecond() / 2);
  }

  /** How many turns were given since the beginning. */
  granted(): number {
    return this.#turns;
  }

  /** How many wait for a turn. */
  waiting(): number {
    return [...this.#waiting.values()].reduce((sum, line) => sum + line.length, 0);
  }

  /** Says how many requests per second a poller would like; 0 forgets it. */
  plan(poller: object, perSecond: number): void {
    this.#planned += perSecond - (this.#plans.get(poller) ?? 0);
    if (perSecond === 0) this.#plans.delete(poller);
    else this.#plans.set(poller, perSecond);
    if (this.#plans.size === 0) this.#planned = 0;
  }

  /** By how much polls are to be rarer than they would like, so that they take half of the budget at most. */
  stretch(): number {
    return Math.max(1, this.#planned / (this.requestsPerSecond() / 2));
  }

  #line(urgency: Urgency): Waiter[] {
    const line = this.#waiting.get(urgency);
    if (line === undefined) throw new Error(`no such urgency: ${urgency}`);
    return line;
  }

  #allow(): void {
    const members = [...this.#members];
    const least = (field: keyof Allowance) => Math.min(...members.map((member) => member[field]));
    this.#allowed =
      members.length === 0
        ? alone
        : { requestsPerSecond: least('requestsPerSecond'), concurrency: least('concurrency') };
  }

  #next(): Waiter | undefined {
    const isOldest = this.#turns % 8 === 7;
    let next: Waiter | undefined;
    for (const line of this.#waiting.values()) {
      const [front] = line;
      if (front === undefined) continue;
      if (!isOldest) return front;
      if (next === undefined || front.ticket < next.ticket) next = front;
    }
    return next;
  }

  #waitMs(now: number): number {
    const rate = this.requestsPerSecond();
    const cap = Math.max(1, Math.floor(rate));
    const first = this.#starts.at(-cap);
    const windowMs = first === undefined ? 0 : first + (1000 * cap) / rate - now;
    return Math.max(this.#pausedUntil - now, windowMs, 0);
  }

  #pump(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (let waiter = this.#next(); waiter !== undefined; waiter = this.#next()) {
      if (this.#running >= Math.max(1, this.#allowed.concurrency)) return;
      const now = this.#clock.monotonic();
      const waitMs = this.#waitMs(now);
      if (waitMs > 0) {
        this.#cancelTimer = this.#clock.after(Math.ceil(waitMs), () => this.#pump());
        return;
      }
      this.#grant(waiter, now);
    }
  }

  #grant(waiter: Waiter, now: number): void {
    this.#turns += 1;
    this.#running += 1;
    this.#starts.push(now);
    const kept = Math.max(1, Math.ceil(this.#allowed.requestsPerSecond));
    if (this.#starts.length > 2 * kept) this.#starts = this.#starts.slice(-kept);
    let ended = false;
    const done = (): void => {
      if (ended) return;
      ended = true;
      this.#running -= 1;
      this.#pump();
    };
    waiter.answer({ granted: true, at: now, done });
  }
}
