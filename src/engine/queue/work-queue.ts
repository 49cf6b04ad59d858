/**
 * The work queue: which object is looked at next.
 *
 * Guarantees: a key is never taken twice at once; a key added while it is being worked on is taken once more afterwards; of
 * two times the earlier wins; a more urgent reason lifts a key that waits for a lesser one; namespaces take turns within an
 * urgency, so that one of them cannot starve the others.
 * Assumes: whoever takes a key calls `done`, whatever happened.
 */
import { retryPauseMs } from '../../base/backoff.ts';
import type { Clock, Entropy } from '../../base/clock.ts';
import { DelayHeap } from './delay-heap.ts';

/** Why a key is looked at; lower goes first, but what is begun and what is new take turns by namespace. */
export const urgencies = { deletion: 0, edit: 1, change: 2, begun: 3, initial: 4, resync: 5 } as const;
export type QueueUrgency = (typeof urgencies)[keyof typeof urgencies];

/** Keys of one urgency; groups take turns, each first in first out, and what was begun before what is new. */
class FairLane {
  readonly #groups = new Map<string, Record<'begun' | 'others', Set<string>>>();

  add(group: string, key: string, isBegun: boolean): void {
    const keys = this.#groups.get(group) ?? { begun: new Set(), others: new Set() };
    this.#groups.set(group, keys);
    keys[isBegun ? 'begun' : 'others'].add(key);
  }

  remove(group: string, key: string): void {
    const keys = this.#groups.get(group);
    if (keys === undefined) return;
    keys.begun.delete(key);
    keys.others.delete(key);
    if (keys.begun.size + keys.others.size === 0) this.#groups.delete(group);
  }

  take(): string | undefined {
    for (const [group, keys] of this.#groups) {
      const [key] = keys.begun.size > 0 ? keys.begun : keys.others;
      if (key === undefined) continue;
      this.remove(group, key);
      // What is left of the group goes to the end of the row.
      if (this.#groups.delete(group)) this.#groups.set(group, keys);
      return key;
    }
    return undefined;
  }
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #groupOf: (key: string) => string;
  readonly #lanes = Object.values(urgencies).map(() => new FairLane());
  readonly #waiting = new Map<string, { readonly urgency: QueueUrgency; readonly since: number }>();
  readonly #running = new Map<string, QueueUrgency | undefined>();
  readonly #failures = new Map<string, number>();
  readonly #delayed = new DelayHeap<string>();
  readonly #delayedUrgency = new Map<string, QueueUrgency>();
  #takers: ((key: string | undefined) => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #closed = false;
  readonly #onTaken: (waitedMs: number) => void;

  /** `onTaken` hears how long each key that is taken has waited for it. */
  constructor(
    clock: Clock,
    entropy: Entropy,
    groupOf: (key: string) => string,
    onTaken: (waitedMs: number) => void = () => undefined,
  ) {
    this.#clock = clock;
    this.#entropy = entropy;
    this.#groupOf = groupOf;
    this.#onTaken = onTaken;
  }

  /** Keys that wait for a worker now. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Keys that wait for their time. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Nothing runs and nothing waits for a worker. */
  get idle(): boolean {
    return this.#waiting.size === 0 && this.#running.size === 0;
  }

  enqueue(key: string, urgency: QueueUrgency, delayMs = 0): void {
    if (this.#closed) return;
    if (delayMs > 0) {
      this.#delay(key, urgency, delayMs);
      return;
    }
    if (this.#running.has(key)) {
      const again = this.#running.get(key);
      this.#running.set(key, again === undefined || urgency < again ? urgency : again);
      return;
    }
    this.#wait(key, urgency);
  }

  /** The next key, as soon as there is one; undefined when the queue is closed. */
  take(): Promise<string | undefined> {
    const key = this.#next();
    if (key !== undefined || this.#closed) return Promise.resolve(key);
    return new Promise((resolve) => {
      this.#takers.push(resolve);
    });
  }

  done(key: string): void {
    const again = this.#running.get(key);
    this.#running.delete(key);
    if (again !== undefined && !this.#closed) this.#wait(key, again);
  }

  /** Looks at the key again after a pause that grows with each failure in a row; returns the pause. */
  retry(key: string, urgency: QueueUrgency): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = retryPauseMs(failures, this.#entropy);
    this.enqueue(key, urgency, delayMs);
    return delayMs;
  }

  /** The key fared well: the next failure starts with the shortest pause. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Forgets a key whose object is gone. */
  drop(key: string): void {
    this.forget(key);
    this.#delayed.remove(key);
    this.#delayedUrgency.delete(key);
  }

  /** No key is given out any more; those being worked on may finish. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #wait(key: string, urgency: QueueUrgency): void {
    const known = this.#waiting.get(key);
    if (known !== undefined && known.urgency <= urgency) return;
    if (known !== undefined) this.#lanes[laneOf(known.urgency)]?.remove(this.#groupOf(key), key);
    this.#waiting.set(key, { urgency, since: known?.since ?? this.#clock.monotonic() });
    this.#lanes[laneOf(urgency)]?.add(this.#groupOf(key), key, urgency === urgencies.begun);
    const taker = this.#takers.shift();
    if (taker !== undefined) taker(this.#next());
  }

  #next(): string | undefined {
    if (this.#closed) return undefined;
    for (const lane of this.#lanes) {
      const key = lane.take();
      if (key === undefined) continue;
      const now = this.#clock.monotonic();
      this.#onTaken(now - (this.#waiting.get(key)?.since ?? now));
      this.#waiting.delete(key);
      this.#running.set(key, undefined);
      return key;
    }
    return undefined;
  }

  #delay(key: string, urgency: QueueUrgency, delayMs: number): void {
    this.#delayed.add(key, this.#clock.monotonic() + delayMs);
    const known = this.#delayedUrgency.get(key);
    this.#delayedUrgency.set(key, known === undefined || urgency < known ? urgency : known);
    this.#arm();
  }

  #arm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const at = this.#delayed.nextAt;
    if (at === undefined || this.#closed) return;
    this.#cancelTimer = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => this.#fire());
  }

  #fire(): void {
    const now = this.#clock.monotonic();
    for (let key = this.#delayed.takeDue(now); key !== undefined; key = this.#delayed.takeDue(now)) {
      const urgency = this.#delayedUrgency.get(key) ?? urgencies.resync;
      this.#delayedUrgency.delete(key);
      this.enqueue(key, urgency);
    }
    this.#arm();
  }
}

/** What is begun waits in the lane of what is new, or one namespace could hold up the new objects of all others. */
function laneOf(urgency: QueueUrgency): QueueUrgency {
  return urgency === urgencies.begun ? urgencies.initial : urgency;
}
