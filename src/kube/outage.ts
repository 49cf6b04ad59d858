/** Detects outages of Kubernetes and logs each outage once, instead of once for each object. */
import type { Clock } from '../base/time.ts';
import type { KubeError, KubeReason, Log, Troubles } from '../engine/ports.ts';

/**
 * The kind of an outage: Kubernetes does not answer, or Kubernetes does not accept its credential. A failure that
 * concerns a single object is not an outage.
 */
type OutageKind = 'silent' | 'refusing';

/**
 * The shortest time from the beginning of an outage to the first call of `askAgain`, and between two calls, while
 * Kubernetes answers only some of the requests.
 */
const askAgainMs = 10_000;

/**
 * Maps the reason of an error to the kind of outage that the error is a sign of. A 403 is not a sign of an outage, since
 * Kubernetes may still allow requests for other objects or verbs.
 */
const troubleOf: Readonly<Partial<Record<KubeReason, OutageKind>>> = {
  unavailable: 'silent',
  throttled: 'silent',
  unauthorized: 'refusing',
};

const words = {
  silent: { begins: 'Kubernetes does not answer', ends: 'Kubernetes answers again' },
  refusing: { begins: 'Kubernetes does not accept the credential', ends: 'Kubernetes accepts the credential again' },
} as const;

/**
 * Recognises when Kubernetes as a whole fails.
 *
 * Guarantees: the log has one line when an outage begins, and one line when it ends. When a request of a failed object
 * succeeds, all other failed objects are tried again without waiting for the end of their backoff, at most every ten
 * seconds.
 */
export class Outage implements Troubles {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #askAgain: (who: readonly string[]) => void;
  readonly #open = new Map<OutageKind, { readonly since: number; readonly who: Set<string>; askedAt: number }>();

  /**
   * `askAgain` is called when Kubernetes answers again after an outage, with the keys of the objects whose requests
   * failed.
   */
  constructor(clock: Clock, log: Log, askAgain: (who: readonly string[]) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#askAgain = askAgain;
  }

  /** Records a failure, and logs the first failure of an outage. Returns true if the failure is part of an outage. */
  failed(who: string, error: KubeError): boolean {
    const trouble = troubleOf[error.reason];
    if (trouble === undefined) return false;
    const open = this.#open.get(trouble);
    if (open !== undefined) {
      open.who.add(who);
      return true;
    }
    const since = this.#clock.monotonic();
    this.#open.set(trouble, { since, who: new Set([who]), askedAt: since });
    this.#log.warn({ first: who }, `${words[trouble].begins}: ${error.message}`);
    return true;
  }

  went(who: string): void {
    const now = this.#clock.monotonic();
    for (const [trouble, open] of this.#open) {
      if (!open.who.delete(who)) continue;
      if (open.who.size === 0) {
        this.#open.delete(trouble);
        this.#log.info({ seconds: Math.round((now - open.since) / 1_000) }, words[trouble].ends);
      } else if (now - open.askedAt >= askAgainMs) {
        open.askedAt = now;
        this.#askAgain([...open.who]);
      }
    }
  }
}
