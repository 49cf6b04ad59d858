/**
 * One token at one origin: whether the service still knows it, and its budget, which all accounts of the token share.
 *
 * After a 401 only one request per growing pause is sent; all others fail without being sent. The first answer that is not
 * a 401 ends that.
 *
 * Of the budget at most `requestsPerSecond` requests start in any window of one second, at most `concurrency` at once, the more
 * urgent first; each eighth turn goes to whoever waits longest, so that nobody starves. When the service says 429 or 425 nothing
 * is sent for as long as it asks, 15 minutes at most: during a pause of up to 10 s requests wait, during a longer one they fail.
 * The rate is halved, and grows back by a sixtieth of the full rate each second. A p-queue holds who waits; it arms no timer of
 * its own, but is paused and started by the clock that is passed in.
 *
 * Rate-limited reads take at most a fifth of the budget, for all accounts of the token together.
 *
 * Why: docs/design/polling-and-budget.md#one-budget-for-each-credential
 */
import PQueue, { type QueueAddOptions } from 'p-queue';
import { type Clock, type Entropy, growingMs, jittered } from '../base/time.ts';
import type { Metrics, Request, Urgency } from '../engine/ports.ts';
import { type Seen, type ExchangeOptions, type Transport, longestPauseMs } from './wire/transport.ts';

/** The pauses between requests that try a refused token again. */
const firstTryMs = 2000;
const longestTryMs = 300_000;

/** How urgent an exchange is, and what ends its wait for a turn. */
export interface Passage extends ExchangeOptions {
  readonly urgency: Urgency;
  /** Aborts the wait for a turn, but not an exchange that has begun. */
  readonly leaveQueue?: AbortSignal;
}

interface Unauthorized {
  readonly since: number;
  readonly pauseMs: number;
  readonly nextTryAt: number;
}

const unauthorized: Seen = { was: 'heldBack', why: 'unauthorized', message: 'the service does not accept the token' };

/** A metric label with few values: the class of the answer. */
function answerOf(seen: Seen): string {
  if (seen.was !== 'answer') return seen.was;
  return seen.status >= 400 && seen.status < 500 ? String(seen.status) : `${Math.floor(seen.status / 100)}xx`;
}

/** One token at one origin. */
export class Credential {
  readonly budget: Budget;
  /** The share of the budget for rate-limited reads, for all accounts of the credential. */
  readonly rateLimited = new RateLimitedShare();
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #listeners = new Set<() => void>();
  readonly #throttleListeners = new Set<() => void>();
  #unauthorized: Unauthorized | undefined;

  constructor(clock: Clock, entropy: Entropy, metrics: Metrics) {
    this.budget = new Budget(clock, entropy);
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Monotonic time of the first 401; undefined while the token is good. */
  get unauthorizedSince(): number | undefined {
    return this.#unauthorized?.since;
  }

  /** Monotonic time before which asking is pointless; undefined when it is not. */
  heldUntil(): number | undefined {
    const now = this.#clock.monotonic();
    const paused = this.budget.refusesNow() ? this.budget.throttledUntil() : undefined;
    const held = Math.max(paused ?? now, this.#unauthorized?.nextTryAt ?? now);
    return held > now ? held : undefined;
  }

  /** Calls back whenever the token turns bad or good; the returned function ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back at each 429 and 425; the returned function ends that. */
  onThrottled(listener: () => void): () => void {
    this.#throttleListeners.add(listener);
    return () => this.#throttleListeners.delete(listener);
  }

  /** The token may be tried again at once: its Secret was read again. */
  reopen(): void {
    if (this.#unauthorized !== undefined) this.#settle(undefined);
  }

  /** Sends one request when its turn comes. */
  async exchange(transport: Transport, request: Request, passage: Passage): Promise<Seen> {
    const finding = this.#unauthorized !== undefined;
    if (finding && !this.#claimTry()) return unauthorized;
    const turn = await this.budget.turn(passage.urgency, passage.leaveQueue);
    if (!turn.granted) {
      if (turn.why === 'throttled') return { was: 'heldBack', why: 'throttled', message: 'the service asked to wait' };
      const message =
        turn.why === 'stopped' ? 'the account is being closed' : 'the request budget had no room for two minutes';
      return { was: 'notSent', hostNotAllowed: false, message };
    }
    // The token may have been refused while this request waited.
    if (!finding && this.#unauthorized !== undefined) {
      turn.done();
      return unauthorized;
    }
    try {
      const seen = await transport(request, passage);
      this.#learn(seen, turn.at, finding);
      this.#metrics.count('apphosting_service_requests_total', { endpoint: request.endpoint, outcome: answerOf(seen) });
      this.#metrics.observe(
        'apphosting_service_request_seconds',
        { endpoint: request.endpoint },
        (this.#clock.monotonic() - turn.at) / 1000,
      );
      return seen;
    } finally {
      turn.done();
    }
  }

  /** True for the one request that may test whether the token is accepted again. */
  #claimTry(): boolean {
    const state = this.#unauthorized;
    const now = this.#clock.monotonic();
    if (state === undefined || now < state.nextTryAt) return false;
    this.#unauthorized = { ...state, nextTryAt: now + state.pauseMs };
    return true;
  }

  #learn(seen: Seen, grantedAt: number, finding: boolean): void {
    if (seen.was !== 'answer') return;
    if (seen.status === 429 || seen.status === 425) {
      this.budget.throttle(seen.retryAfterMs, grantedAt);
      this.#metrics.count('apphosting_service_throttled_total');
      for (const listener of this.#throttleListeners) listener();
      return;
    }
    this.budget.accepted(grantedAt);
    if (seen.status !== 401) {
      if (this.#unauthorized !== undefined) this.#settle(undefined);
      return;
    }
    const known = this.#unauthorized;
    // Of the requests that were under way together only the first is news.
    if (known !== undefined && !finding) return;
    const now = this.#clock.monotonic();
    const pauseMs = known === undefined ? firstTryMs : Math.min(known.pauseMs * 2, longestTryMs);
    this.#settle({ since: known?.since ?? now, pauseMs, nextTryAt: now + pauseMs });
  }

  #settle(next: Unauthorized | undefined): void {
    const turned = (this.#unauthorized === undefined) !== (next === undefined);
    this.#unauthorized = next;
    if (turned) for (const listener of this.#listeners) listener();
  }
}

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

  /** The service said 429 or 425 to a request granted at `grantedAt`. */
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

const share = 0.2;
const pressingWeight = 4;

/**
 * Rate-limited reads, which cost a request each: together they take at most a fifth of a credential's budget, for all its
 * accounts.
 *
 * A pressing one (a firing alert) is read four times as often as a calm one, and none more often than it asks for. A due
 * read takes the next free place in the share, so that reads stay spaced out when their number grows.
 */
export class RateLimitedShare {
  readonly #weights = new Map<object, number>();
  #total = 0;
  #nextAt = Number.NEGATIVE_INFINITY;

  /** Adds a read to the share; a pressing one (a firing alert) weighs four times as much as a calm one. */
  count(reading: object, isPressing: boolean): void {
    this.#set(reading, isPressing ? pressingWeight : 1);
  }

  /** Takes a read out of the share. */
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
