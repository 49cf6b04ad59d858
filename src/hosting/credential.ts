/**
 * Keeps the state of each credential. A credential is one token at one origin of the service. Its state says whether the service
 * accepts the token, and how many requests may be sent now: this is the request budget, which all accounts with the token share.
 *
 * After a 401, single requests test the token, with growing pauses between them. All other requests fail without being
 * sent. This ends with the first response other than a 401, 425 or 429, or when a client is opened with the token.
 *
 * The budget lets at most `requestsPerSecond` requests start in any second, and at most `concurrency` run at once. The most
 * urgent request goes first, but every eighth turn goes to the request that has waited longest, so that no request waits for
 * ever.
 *
 * A 429 or 425 pauses all requests of the credential and halves the number of requests per second for a while; see
 * docs/design/polling-and-budget.md#after-a-429-pause-all-requests-of-the-credential. While more than 10 s of the pause remain,
 * requests fail at once; in its last 10 s they wait.
 *
 * Requests wait in a p-queue. The injected clock pauses and starts the queue, so the queue uses no timers of its own.
 *
 * Rate-limited reads, such as reads of an alert's live state, use at most a fifth of the budget, for all accounts together.
 *
 * Why: docs/design/polling-and-budget.md#one-budget-for-each-credential
 */
import PQueue from 'p-queue';
import { type Clock, type Entropy, growingMs, jittered, longestPauseMs } from '../base/time.ts';
import { type Metrics, type Request, shortPauseMs, type Urgency } from '../engine/ports.ts';
import { type Seen, type ExchangeOptions, type Transport, isThrottled } from './wire/transport.ts';

/**
 * Returns the pause before the next test of a token that the service refuses. A test is a single request, which shows
 * whether the service accepts the token again. The pause grows with each test that fails.
 */
const testPauseMs = (tries: number) => growingMs(tries, { firstMs: 2000, longestMs: 300_000 });

/**
 * The options of a request that waits until the request budget lets it start: how urgent it is, and which signal ends the wait.
 */
export interface Wait {
  readonly urgency: Urgency;
  /** The signal that ends the wait for the request budget. A request that was already sent continues. */
  readonly leaveQueue?: AbortSignal;
  /** Called when the request has to wait for its turn. The argument is a function that makes the request more urgent. */
  readonly onQueued?: (raise: (urgency: Urgency) => void) => void;
}

/** The options of one request: how it waits for the request budget, its deadline, and a last check before it is sent. */
export interface Passage extends Wait, ExchangeOptions {}

interface Unauthorized {
  readonly since: number;
  /** How many tests of the token the service has refused so far (see `testPauseMs`). */
  readonly tries: number;
  readonly nextTryAt: number;
}

/**
 * Why a request is not sent: the service asked for a pause, the service refuses the token, or the operator closed the
 * client of the account.
 */
type Refused = 'throttled' | 'unauthorized' | 'stopped';

/** The reason why a request is not sent after the client of its account was closed. */
export const clientClosed = 'the operator stopped using this account, or now uses it with other settings';

const refusals: Readonly<Record<Refused, Seen>> = {
  unauthorized: { was: 'heldBack', why: 'unauthorized', message: 'the service does not accept the token' },
  throttled: { was: 'heldBack', why: 'throttled', message: 'the service asked to slow down' },
  stopped: { was: 'notSent', hostNotAllowed: false, message: clientClosed },
};

/** Returns the value of the metric label `outcome`. The label has only a few values, such as `2xx`, `404` and `lost`. */
function answerOf(seen: Seen): string {
  if (seen.was !== 'answer') return seen.was;
  return seen.status >= 400 && seen.status < 500 ? String(seen.status) : `${Math.floor(seen.status / 100)}xx`;
}

/** A token for one origin (scheme, host and port) of the service, and the request budget of this token. */
export class Credential {
  readonly budget: Budget;
  /** The part of the request budget that the rate-limited reads of all accounts share. */
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

  /** Monotonic time of the first 401; undefined while the service accepts the token. */
  get unauthorizedSince(): number | undefined {
    return this.#unauthorized?.since;
  }

  /**
   * Returns the monotonic time at which a request can be sent again; undefined if a request can be sent now. During a
   * long pause, and while the service refuses the token, requests fail without being sent.
   */
  heldUntil(): number | undefined {
    const now = this.#clock.monotonic();
    const paused = this.budget.refusesNow() ? this.budget.throttledUntil() : undefined;
    const until = Math.max(paused ?? now, this.#unauthorized?.nextTryAt ?? now);
    return until > now ? until : undefined;
  }

  /**
   * Calls the listener when the service begins to refuse the token or accepts it again. Returns a function that removes
   * the listener.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listener whenever the service responds with 429 or 425. Returns a function that removes the listener. */
  onThrottled(listener: () => void): () => void {
    this.#throttleListeners.add(listener);
    return () => this.#throttleListeners.delete(listener);
  }

  /**
   * Forgets that the service refused the token, because a client was opened with this token: its Secret may have been
   * read again.
   */
  reopen(): void {
    if (this.#unauthorized !== undefined) this.#noteUnauthorized(undefined);
  }

  /** Waits until the request budget lets the request start, then sends it. */
  async exchange(transport: Transport, request: Request, passage: Passage): Promise<Seen> {
    const testsToken = this.#unauthorized !== undefined;
    if (testsToken && !this.#claimTry()) return refusals.unauthorized;
    const turn = await this.budget.turn(passage);
    if (!turn.granted) return refusals[turn.why];
    try {
      const seen = await transport(request, passage);
      this.#learn(seen, turn.at, testsToken);
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

  /** Returns true for the one request that may test a refused token now, and false for all other requests. */
  #claimTry(): boolean {
    const state = this.#unauthorized;
    const now = this.#clock.monotonic();
    if (state === undefined || now < state.nextTryAt) return false;
    this.#unauthorized = { ...state, nextTryAt: now + testPauseMs(state.tries) };
    return true;
  }

  #learn(seen: Seen, grantedAt: number, testsToken: boolean): void {
    if (seen.was !== 'answer') return;
    if (isThrottled(seen)) {
      this.budget.throttle(seen.retryAfterMs, grantedAt);
      this.#metrics.count('apphosting_service_throttled_total');
      for (const listener of this.#throttleListeners) listener();
      return;
    }
    this.budget.noteAccepted(grantedAt);
    if (seen.status !== 401) {
      if (this.#unauthorized !== undefined) this.#noteUnauthorized(undefined);
      return;
    }
    const known = this.#unauthorized;
    // Several requests under way may get a 401 at about the same time. Count only the first 401, so that the others do not make
    // the pause longer.
    if (known !== undefined && !testsToken) return;
    const now = this.#clock.monotonic();
    const tries = known === undefined ? 0 : known.tries + 1;
    this.#noteUnauthorized({ since: known?.since ?? now, tries, nextTryAt: now + testPauseMs(tries) });
  }

  #noteUnauthorized(next: Unauthorized | undefined): void {
    const turned = (this.#unauthorized === undefined) !== (next === undefined);
    this.#unauthorized = next;
    if (turned && next !== undefined) this.budget.endWaits('unauthorized');
    if (turned) for (const listener of this.#listeners) listener();
  }
}

/** The request limits that an account sets in `spec.budget`. */
export interface Allowance {
  readonly requestsPerSecond: number;
  readonly concurrency: number;
}

/** The permission to send one request now, or the reason why the request must not be sent. */
export type Turn =
  | { readonly granted: true; readonly at: number; readonly done: () => void }
  | { readonly granted: false; readonly why: Refused };

/** The request limits that apply while no account uses the credential. */
const alone: Allowance = { requestsPerSecond: 1, concurrency: 1 };
/** The urgencies of requests, from the most to the least urgent. */
const urgencies: readonly Urgency[] = ['dangerous', 'edit', 'wait', 'drift'];
/** The highest priority in the queue. At every eighth turn the request that has waited longest gets this priority. */
const aheadOfAll = urgencies.length + 1;
const recoveryMs = 60_000;
const slowestPerSecond = 0.1;

/** The request budget: limits how many requests with the same token start in a second, and how many run at once. */
export class Budget {
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #members = new Set<Allowance>();
  /** The request limits of the credential: for each limit, the smallest value that any of its accounts sets. */
  #allowed: Allowance = alone;
  /** The requests that wait for a turn, the most urgent first. */
  readonly #queue = new PQueue({ concurrency: alone.concurrency });
  /** The ids of the requests that wait for a turn, the oldest first, each with the signal that ends its wait. */
  readonly #waiting = new Map<string, AbortSignal | undefined>();
  #tickets = 0;
  readonly #announced = new Set<{ readonly urgency: Urgency }>();
  #starts: number[] = [];
  #turns = 0;
  #planned = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /**
   * How many times in succession the rate was halved. A request that begins after the last halving and is not throttled sets this
   * number to 0.
   */
  #strikes = 0;
  /** The time at which the number of requests per second was last halved, and the number right after that. */
  #cut = { at: Number.NEGATIVE_INFINITY, rate: Number.POSITIVE_INFINITY };
  #cancelTimer: (() => void) | undefined;
  /**
   * The reason with which `endWaits` last removed all waiting requests from the queue. Each removed request fails with
   * this reason.
   */
  #endedWhy: Refused = 'throttled';

  constructor(clock: Clock, entropy: Entropy) {
    this.#clock = clock;
    this.#entropy = entropy;
  }

  /**
   * Adds an account to the budget. Each limit is then the smallest value that any account sets. Returns a function that
   * removes the account.
   */
  join(allowance: Allowance): () => void {
    const own = { ...allowance };
    this.#members.add(own);
    this.#allow();
    return () => {
      this.#members.delete(own);
      this.#allow();
    };
  }

  /**
   * Waits until the request budget lets one request start, or until the request fails without being sent, for example because of
   * a long pause.
   */
  turn({ urgency, leaveQueue, onQueued }: Wait): Promise<Turn> {
    if (leaveQueue?.aborted === true) return Promise.resolve({ granted: false, why: 'stopped' });
    if (this.refusesNow()) return Promise.resolve({ granted: false, why: 'throttled' });
    return new Promise((answer) => {
      const granted = (): Promise<void> => {
        const at = this.#grant();
        return new Promise((done) => answer({ granted: true, at, done }));
      };
      const priority = priorityOf(urgency);
      // If the request can start at once, it does not wait, so do not listen for an abort of the wait.
      if (!this.#queue.isPaused && this.#queue.size === 0 && this.#queue.pending < this.#queue.concurrency) {
        void this.#queue.add(granted, { priority });
        return;
      }
      const id = String((this.#tickets += 1));
      // Do not pass `leaveQueue` to the queue. If this signal were aborted, the queue would also count a request that is already
      // under way as ended, and could then start too many requests at once.
      const leaving = new AbortController();
      const leave = (): void => leaving.abort();
      const endWait = (): void => {
        leaveQueue?.removeEventListener('abort', leave);
        this.#waiting.delete(id);
      };
      const start = (): Promise<void> => {
        endWait();
        return granted();
      };
      this.#waiting.set(id, leaveQueue);
      leaveQueue?.addEventListener('abort', leave, { once: true });
      this.#queue.add(start, { id, priority, signal: leaving.signal }).catch(() => {
        endWait();
        answer({ granted: false, why: leaveQueue?.aborted === true ? 'stopped' : this.#endedWhy });
      });
      onQueued?.((raised) => {
        if (this.#waiting.has(id)) this.#queue.setPriority(id, priorityOf(raised));
      });
      this.#pace();
    });
  }

  /**
   * Removes all waiting requests from the queue. Each of them fails with the given reason, because `clear` rejects its
   * promise.
   */
  endWaits(why: Refused): void {
    this.#endedWhy = why;
    this.#waiting.clear();
    this.#queue.clear();
  }

  /**
   * Starts or lengthens a pause, because the service responded with a 429 or 425. Also halves the number of requests per second.
   * `grantedAt` is the time at which the throttled request got its turn; if the number was halved after that time, it is not
   * halved again.
   */
  throttle(retryAfterMs: number | undefined, grantedAt: number): void {
    const now = this.#clock.monotonic();
    if (grantedAt >= this.#cut.at) {
      this.#cut = { at: now, rate: Math.max(this.requestsPerSecond() / 2, slowestPerSecond) };
      this.#strikes += 1;
    }
    const repeats = Math.max(this.#strikes - 1, 0);
    const backoffMs = jittered(growingMs(repeats, { firstMs: 1000, longestMs: 60_000 }), this.#entropy);
    const pauseMs = retryAfterMs === undefined ? backoffMs : retryAfterMs + this.#entropy.fraction() * 250;
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(pauseMs, longestPauseMs));
    this.#pace();
    if (this.refusesNow()) this.endWaits('throttled');
  }

  /**
   * Makes the next growing pause as short as the first, because the service did not throttle a request. `grantedAt` is
   * the time at which this request got its turn. Does nothing if the rate was halved after that time.
   */
  noteAccepted(grantedAt: number): void {
    if (grantedAt > this.#cut.at) this.#strikes = 0;
  }

  /** Returns how long the current pause still lasts, in ms; 0 when there is no pause. */
  pauseMs(): number {
    return Math.max(this.#pausedUntil - this.#clock.monotonic(), 0);
  }

  /** Returns the monotonic time at which the current pause ends; undefined when there is no pause. */
  throttledUntil(): number | undefined {
    return this.pauseMs() > 0 ? this.#pausedUntil : undefined;
  }

  /** Returns the monotonic time at which the full rate applies again after a 429 or 425; undefined if the full rate applies now. */
  slowedUntil(): number | undefined {
    const share = Math.min(this.#cut.rate / this.#allowed.requestsPerSecond, 1);
    const until = Math.max(this.#cut.at, this.#pausedUntil) + recoveryMs * (1 - share);
    return until > this.#clock.monotonic() ? until : undefined;
  }

  /**
   * Returns true during a long pause. The operator then does not let requests wait for the end of the pause: they fail at once
   * with the reason `throttled`.
   */
  refusesNow(): boolean {
    return this.pauseMs() > shortPauseMs;
  }

  /** Returns how many requests may start per second at present. After a 429 or 425 this number is lower for a while. */
  requestsPerSecond(): number {
    const full = this.#allowed.requestsPerSecond;
    const healedMs = Math.max(this.#clock.monotonic() - Math.max(this.#cut.at, this.#pausedUntil), 0);
    return Math.max(Math.min(full, this.#cut.rate + (full * healedMs) / recoveryMs), slowestPerSecond);
  }

  /**
   * Registers a call that will soon be sent, so that estimates of the waiting time (see `waitMs`) include it. The returned
   * function ends the registration.
   */
  announce(urgency: Urgency): () => void {
    const announced = { urgency };
    this.#announced.add(announced);
    return () => this.#announced.delete(announced);
  }

  /**
   * Estimates how long a new call has to wait: first for the end of the current pause, and then for all registered
   * calls that are at least as urgent (see `announce`). Counts on only half of the request budget, because polls may
   * use the other half.
   */
  waitMs(urgency: Urgency): number {
    const rank = urgencies.indexOf(urgency);
    const before = [...this.#announced].filter((other) => urgencies.indexOf(other.urgency) <= rank).length;
    return this.pauseMs() + (1_000 * before) / (this.requestsPerSecond() / 2);
  }

  /** Returns how many requests the budget has let start since it was created. */
  granted(): number {
    return this.#turns;
  }

  /** Returns the number of requests that wait for their turn. */
  waiting(): number {
    return this.#queue.size;
  }

  /** Adds an amount, which may be negative, to the number of requests per second that all polls together are expected to need. */
  plan(perSecond: number): void {
    this.#planned += perSecond;
  }

  /** Returns the factor by which poll intervals are multiplied, so that polls use at most half of the request budget. */
  stretch(): number {
    return Math.max(1, this.#planned / (this.fullPerSecond() / 2));
  }

  /**
   * Returns how many requests per second the settings of the accounts allow. The lower rate that applies for a while after a 429
   * is not considered.
   */
  fullPerSecond(): number {
    return this.#allowed.requestsPerSecond;
  }

  #allow(): void {
    const members = [...this.#members];
    const least = (field: keyof Allowance) => Math.min(...members.map((member) => member[field]));
    this.#allowed =
      members.length === 0
        ? alone
        : { requestsPerSecond: least('requestsPerSecond'), concurrency: least('concurrency') };
    // Apply the new rate before the concurrency. Setting a larger concurrency can at once start a waiting request, and
    // a smaller rate may forbid that.
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

  /**
   * Starts the queue when the rate and the pause allow a request now; otherwise pauses the queue. If requests wait, a timer calls
   * this function again when a request is allowed; if none waits, the next request calls it.
   */
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

  /** Counts a request that starts now. Returns the current monotonic time. */
  #grant(): number {
    const now = this.#clock.monotonic();
    this.#turns += 1;
    this.#starts.push(now);
    const kept = Math.max(1, Math.ceil(this.#allowed.requestsPerSecond));
    if (this.#starts.length > 2 * kept) this.#starts = this.#starts.slice(-kept);
    if (this.#turns % 8 === 7) this.#raiseOldest();
    this.#pace();
    return now;
  }

  #raiseOldest(): void {
    for (const [id, leaveQueue] of this.#waiting) {
      // Skip a request whose signal was just aborted: the queue does not contain this request any more.
      if (leaveQueue?.aborted === true) continue;
      this.#queue.setPriority(id, aheadOfAll);
      return;
    }
  }
}

function priorityOf(urgency: Urgency): number {
  return aheadOfAll - 1 - urgencies.indexOf(urgency);
}

const share = 0.2;
const pressingWeight = 4;

/**
 * The weight of a rate-limited read. Such reads share a part of the request budget: a read with four times the weight may be
 * repeated four times as often, but never more often than its own interval allows. The weight is 0 while no Kubernetes object
 * uses the read.
 */
interface Weighed {
  weight: number;
}

/**
 * Spreads rate-limited reads over time. An example is the live state of alerts, which takes one request for each alert. The
 * rate-limited reads with the same token together use at most a fifth of the request budget.
 *
 * A read can be pressing, for example while its alert is firing. A pressing read may be repeated four times as often as other
 * reads, but never more often than its own interval allows. When it is time for a read, the read gets the next free moment, so
 * that reads stay spread out when their number grows.
 */
export class RateLimitedShare {
  #reads = 0;
  #total = 0;
  #nextAt = Number.NEGATIVE_INFINITY;

  /**
   * Sets the weight of a rate-limited read: 4 for a pressing read, such as that of a firing alert, and 1 for any other. A read
   * with a higher weight may be repeated more often.
   */
  count(reading: Weighed, isPressing: boolean): void {
    if (reading.weight === 0) this.#reads += 1;
    this.#weigh(reading, isPressing ? pressingWeight : 1);
  }

  /** Stops counting a read that is not used any more, so that the other reads share its part of the budget. */
  leave(reading: Weighed): void {
    if (reading.weight > 0) this.#reads -= 1;
    this.#weigh(reading, 0);
  }

  /**
   * Returns the shortest interval at which the budget allows a rate-limited read to be repeated that is not pressing. A
   * pressing read, such as that of a firing alert, may be repeated four times as often. The interval that is set for the
   * read itself may be longer.
   */
  calmMs(requestsPerSecond: number): number {
    return (1_000 * this.#total) / (share * requestsPerSecond);
  }

  /**
   * Returns how many requests per second the budget allows for the given number of rate-limited reads together. Assumes
   * that none of them is pressing, such as the read of a firing alert.
   */
  perSecond(reads: number, requestsPerSecond: number): number {
    return reads === 0 ? 0 : (reads * share * requestsPerSecond) / this.#reads;
  }

  /**
   * Updates the weight of a rate-limited read in use. Returns the shortest interval at which the budget allows the read
   * to be repeated now; a pressing read may be repeated sooner than others. The interval that is set for the read
   * itself may be longer.
   */
  intervalMs(reading: Weighed, isPressing: boolean, requestsPerSecond: number): number {
    if (reading.weight > 0) this.count(reading, isPressing);
    return this.calmMs(requestsPerSecond) / (isPressing ? pressingWeight : 1);
  }

  /**
   * Reserves the next free moment for a rate-limited read, so that such reads are not sent all at once. Returns the monotonic
   * time of this moment.
   */
  place(now: number, requestsPerSecond: number): number {
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + 1_000 / (share * requestsPerSecond);
    return at;
  }

  #weigh(reading: Weighed, weight: number): void {
    this.#total += weight - reading.weight;
    reading.weight = weight;
  }
}
