/**
 * One token at one origin: its budget, and whether the service still knows it.
 *
 * After a 401 only one request per growing pause is sent; all others fail without being sent. The first answer that is not
 * a 401 ends that.
 */
import type { Clock, Entropy } from '../base/time.ts';
import type { Metrics, Request, Urgency } from '../engine/ports.ts';
import { Budget } from './budget.ts';
import type { Seen, ExchangeOptions, Transport } from './wire/transport.ts';
import { StateShare } from './mirror/state-share.ts';

const firstPauseMs = 2000;
const longestPauseMs = 300_000;

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
  readonly states = new StateShare();
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

  /** Calls back at each 429; the returned function ends that. */
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
      this.#learn(seen, turn.at);
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

  #learn(seen: Seen, grantedAt: number): void {
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
    const now = this.#clock.monotonic();
    const pauseMs = Math.min((this.#unauthorized?.pauseMs ?? firstPauseMs / 2) * 2, longestPauseMs);
    this.#settle({ since: this.#unauthorized?.since ?? now, pauseMs, nextTryAt: now + pauseMs });
  }

  #settle(next: Unauthorized | undefined): void {
    const turned = (this.#unauthorized === undefined) !== (next === undefined);
    this.#unauthorized = next;
    if (turned) for (const listener of this.#listeners) listener();
  }
}
