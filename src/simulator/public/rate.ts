import type { Readings } from '../store/readings.ts';
import { RequestRefusal } from '../http/refusal.ts';

const windowMs = 1000;

/** Limits the number of requests that each token may send in one second of wall time. */
export class RateLimit {
  readonly #windows = new Map<string, { readonly since: number; readonly taken: number }>();

  /** Counts a request; fails with 429 if the token has reached its limit in the current second. */
  take(token: string, readings: Readings, wallNow: number): void {
    const limit = readings['rate.limit'];
    if (limit === 'off') return;
    const known = this.#windows.get(token);
    const window = known !== undefined && wallNow - known.since < windowMs ? known : { since: wallNow, taken: 0 };
    if (window.taken >= limit) {
      throw new RequestRefusal(429, 'too many requests', {}, retryAfter(readings, window.since + windowMs, wallNow));
    }
    this.#windows.set(token, { since: window.since, taken: window.taken + 1 });
  }

  clear(): void {
    this.#windows.clear();
  }
}

function retryAfter(readings: Readings, again: number, wallNow: number): Readonly<Record<string, string>> {
  const words = {
    seconds: { 'retry-after': String(Math.max(1, Math.ceil((again - wallNow) / 1000))) },
    date: { 'retry-after': new Date(Math.ceil(again / 1000) * 1000).toUTCString() },
    absent: {},
  };
  return words[readings['rate.retryAfter']];
}
