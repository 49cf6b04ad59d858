/**
 * An outage of Kubernetes: logged once, and ended for all objects by the first success.
 *
 * Guarantees: the log has one line when it begins and one when it ends; after the first success all failed objects are
 * tried again soon, whatever their backoff.
 */
import type { Clock } from '../base/time.ts';
import type { KubeError, Log, Troubles } from '../engine/ports.ts';

/** The kind of an outage. A failure that concerns one object only is none. */
type Trouble = 'silent' | 'refusing';

/** The shortest time between two reports, where Kubernetes answers some requests and not others. */
const askAgainMs = 10_000;

const words = {
  silent: { begins: 'Kubernetes does not answer', ends: 'Kubernetes answers again' },
  refusing: { begins: 'Kubernetes refuses the operator', ends: 'Kubernetes accepts the operator again' },
} as const;

export class Outage implements Troubles {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #askAgain: (who: readonly string[]) => void;
  readonly #open = new Map<Trouble, { readonly since: number; readonly who: Set<string>; askedAt: number }>();

  /** `askAgain` is called with the keys that may succeed now. */
  constructor(clock: Clock, log: Log, askAgain: (who: readonly string[]) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#askAgain = askAgain;
  }

  /** Logs an outage once for all objects, until all of them succeeded again. */
  failed(who: string, error: KubeError): boolean {
    const trouble = troubleOf(error);
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

function troubleOf({ reason }: KubeError): Trouble | undefined {
  switch (reason) {
    case 'unavailable':
    case 'throttled':
      return 'silent';
    case 'unauthorized':
      return 'refusing';
    // Another object, or another verb, may well be allowed.
    case 'forbidden':
    case 'conflict':
    case 'notFound':
    case 'gone':
    case 'exists':
    case 'invalid':
      return undefined;
  }
}
