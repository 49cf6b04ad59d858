/**
 * The work queue and its workers: they decide which object is reconciled next, and by which worker.
 *
 * Guarantees: two workers never have the same key. A key that is added while a worker has it is taken once more
 * afterwards. If a key is added twice, the earlier of the two times and the greater urgency apply. Among keys of the
 * same urgency, one key of each namespace is taken in turn, so that no namespace has to wait for all keys of another.
 * Keys of an account with too many running calls stay in the queue and keep their order.
 *
 * The package p-queue does not fit, because it runs a task once for each time that the task is added. Here, a key that
 * is added twice before a worker takes it is worked on only once.
 *
 * Assumes: the worker that takes a key always calls `done`, whatever happens.
 */
import { type Clock, type Entropy, retryPauseMs } from '../base/time.ts';
import { KubeError, type Log, type Metrics, type Troubles } from './ports.ts';

/**
 * The urgency with which the key of an object waits in the queue: keys with the lowest number go first. There is one
 * exception: `begun` and `initial` share one lane of the queue, in which namespaces take turns.
 */
export const urgencies = { deletion: 0, edit: 1, change: 2, begun: 3, initial: 4, resync: 5 } as const;
export type QueueUrgency = (typeof urgencies)[keyof typeof urgencies];

/**
 * The namespace and the account of a key in the queue. Namespaces take turns, and the keys of an account with too many
 * running calls wait.
 */
export interface QueueGroup {
  readonly namespace: string;
  readonly account: string;
}

type Keys = Record<'begun' | 'others', Set<string>>;

/**
 * A lane of the queue: the waiting keys of one urgency, or of `begun` and `initial` together. Namespaces take turns,
 * and so do the accounts within a namespace. Among the keys of one account, objects whose creation has begun go before
 * new objects; otherwise the key that was added first goes first.
 */
class FairLane {
  /** The waiting keys, grouped by namespace and then by account. */
  readonly #groups = new Map<string, Map<string, Keys>>();

  add({ namespace, account }: QueueGroup, key: string, isBegun: boolean): void {
    const accounts = this.#groups.get(namespace) ?? new Map<string, Keys>();
    const keys = accounts.get(account) ?? { begun: new Set(), others: new Set() };
    this.#groups.set(namespace, accounts);
    accounts.set(account, keys);
    keys[isBegun ? 'begun' : 'others'].add(key);
  }

  remove({ namespace, account }: QueueGroup, key: string): void {
    const accounts = this.#groups.get(namespace);
    const keys = accounts?.get(account);
    if (accounts === undefined || keys === undefined) return;
    keys.begun.delete(key);
    keys.others.delete(key);
    if (keys.begun.size + keys.others.size === 0) accounts.delete(account);
    if (accounts.size === 0) this.#groups.delete(namespace);
  }

  has(account: string): boolean {
    for (const accounts of this.#groups.values()) if (accounts.has(account)) return true;
    return false;
  }

  take(isBusy: (account: string) => boolean): string | undefined {
    for (const [namespace, accounts] of this.#groups) {
      for (const [account, keys] of accounts) {
        if (isBusy(account)) continue;
        const [key] = keys.begun.size > 0 ? keys.begun : keys.others;
        if (key === undefined) continue;
        this.remove({ namespace, account }, key);
        // Move this account and this namespace to the end, so that other accounts and namespaces go first next time.
        if (accounts.delete(account)) accounts.set(account, keys);
        if (this.#groups.delete(namespace)) this.#groups.set(namespace, accounts);
        return key;
      }
    }
    return undefined;
  }
}

/** The queue's settings and callbacks. */
interface WorkQueueOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly groupOf: (key: string) => QueueGroup;
  /**
   * True while no key of this account may be taken, because too many of its calls are running. When this changes to
   * false, `resume` of the queue must be called.
   */
  readonly isBusy?: (account: string) => boolean;
  /** Called when a worker takes a key, with the time that the key has waited. */
  readonly onTaken?: (waitedMs: number) => void;
}

/** A key that is enqueued at a later time. */
interface Delayed {
  readonly at: number;
  readonly urgency: QueueUrgency;
  readonly cancel: () => void;
}

/** The keys that wait for a worker, and the keys that are enqueued only at a later time. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #lanes = Object.values(urgencies).map(() => new FairLane());
  readonly #waiting = new Map<
    string,
    { readonly urgency: QueueUrgency; readonly group: QueueGroup; readonly since: number }
  >();
  readonly #running = new Map<string, QueueUrgency | undefined>();
  readonly #failures = new Map<string, number>();
  /** The keys that are enqueued at a later time, each with its timer. */
  readonly #delayed = new Map<string, Delayed>();
  #takers: ((key: string | undefined) => void)[] = [];
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** The number of keys that wait for a worker now. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** True while keys of an account wait for a worker; keys that wait only for a resync do not count. */
  waits(account: string): boolean {
    return this.#lanes.some((lane, urgency) => urgency < urgencies.resync && lane.has(account));
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

  /** Waits for the next key and returns it; returns undefined when the queue is closed. */
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

  /** Enqueues a key again after a pause that grows with each consecutive failure; returns the pause. */
  retry(key: string, urgency: QueueUrgency): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = retryPauseMs(failures, this.#options.entropy);
    this.enqueue(key, urgency, delayMs);
    return delayMs;
  }

  /** Forgets the failures of a key, so that its next pause is the shortest one. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Forgets the failures and the timer of a key whose object is gone. */
  drop(key: string): void {
    this.forget(key);
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  /** Closes the queue: no more keys are taken, but running reconciles may finish. */
  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #wait(key: string, urgency: QueueUrgency): void {
    const known = this.#waiting.get(key);
    if (known !== undefined && known.urgency <= urgency) return;
    // The account of a waiting key may have become known since the key was added. So move the key to the account's
    // place in the queue.
    const group = this.#options.groupOf(key);
    if (known !== undefined) this.#lanes[laneOf(known.urgency)]?.remove(known.group, key);
    this.#waiting.set(key, { urgency, group, since: known?.since ?? this.#options.clock.monotonic() });
    this.#lanes[laneOf(urgency)]?.add(group, key, urgency === urgencies.begun);
    this.resume();
  }

  /** Gives keys to the idle workers, except keys of accounts with too many running calls. */
  resume(): void {
    while (this.#takers.length > 0) {
      const key = this.#next();
      if (key === undefined) return;
      this.#takers.shift()?.(key);
    }
  }

  #next(): string | undefined {
    if (this.#closed) return undefined;
    const { clock, isBusy = () => false, onTaken } = this.#options;
    for (const lane of this.#lanes) {
      const key = lane.take(isBusy);
      if (key === undefined) continue;
      const now = clock.monotonic();
      onTaken?.(now - (this.#waiting.get(key)?.since ?? now));
      this.#waiting.delete(key);
      this.#running.set(key, undefined);
      return key;
    }
    return undefined;
  }

  /**
   * Enqueues a key after a delay. If the key has a timer already, the earlier of the two times and the greater urgency
   * apply.
   */
  #delay(key: string, wished: QueueUrgency, delayMs: number): void {
    const { clock } = this.#options;
    const known = this.#delayed.get(key);
    const at = Math.min(known?.at ?? Number.POSITIVE_INFINITY, clock.monotonic() + delayMs);
    const urgency = known !== undefined && known.urgency < wished ? known.urgency : wished;
    known?.cancel();
    const cancel = clock.after(at - clock.monotonic(), () => {
      this.#delayed.delete(key);
      this.enqueue(key, urgency);
    });
    this.#delayed.set(key, { at, urgency, cancel });
  }
}

/**
 * Returns the lane of the queue in which keys of this urgency wait. Objects whose creation has begun (`begun`) share
 * the lane of new objects (`initial`), in which namespaces take turns. In a lane of their own, the begun objects of one
 * namespace would delay the new objects of all other namespaces.
 */
function laneOf(urgency: QueueUrgency): QueueUrgency {
  return urgency === urgencies.begun ? urgencies.initial : urgency;
}

// ---- workers ---------------------------------------------------------------------------------------------------
//
// Each worker takes the next key, reconciles its object, and enqueues the key again if the result of the reconcile
// requires that.
//
// Guarantees: at most as many reconciles run at a time as there are workers. A reconcile that waits for a response of
// the service (`away`) does not count. An object whose reconcile throws an error is enqueued again. The same error of
// an object is logged once.
//
// The package p-queue does not fit: its tasks occupy their places until they end, but a reconcile that waits for the
// service leaves its worker to another reconcile.

/** The result of a reconcile, which decides when the key is enqueued again. */
export type Ended =
  | { readonly is: 'settled'; readonly againInMs: number | undefined }
  /** The last call of the object failed. It will be sent again after a pause. */
  | { readonly is: 'failing'; readonly againInMs: number }
  /**
   * Somebody else wrote the object first, and the watch will deliver that write. Or another object has reserved the
   * name in the service that this object needs.
   */
  | { readonly is: 'overtaken' }
  /** The reconcile reports nothing, so status stays as it is. The key is enqueued again after `againInMs`. */
  | { readonly is: 'quiet'; readonly againInMs: number }
  /**
   * Only values that status copies from the service have changed. They are written to status later, because other
   * objects of the account wait for a worker.
   */
  | { readonly is: 'later' }
  | { readonly is: 'gone' };

const stuckAfterMs = 600_000;

interface WorkersOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly troubles: Troubles;
  readonly queue: WorkQueue;
  readonly reconcile: (key: string) => Promise<Ended>;
  /** Writes to the object's status that its reconcile threw an error. */
  readonly sayFailed: (key: string, error: unknown) => Promise<void>;
  readonly urgencyOf: (key: string) => QueueUrgency;
}

/** Takes keys from the queue and reconciles their objects, at most one at a time for each worker. */
export class Workers {
  readonly #options: WorkersOptions;
  /** The keys that are being reconciled, each with its start time and a promise that resolves at its end. */
  readonly #running = new Map<string, { readonly since: number; readonly work: Promise<void> }>();
  /**
   * Callbacks of everything that waits for a free worker: new keys, and reconciles whose wait for the service is over.
   * When a worker becomes free, one callback is called.
   */
  readonly #entering: (() => void)[] = [];
  #free = 0;
  #taking: Promise<void> = Promise.resolve();
  /**
   * The last error of each object whose last reconcile failed, as text. The errors of an outage of Kubernetes, which
   * concerns all objects, are not stored here. If an object had only such errors, its text is empty.
   */
  readonly #thrown = new Map<string, string>();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  start(count: number): void {
    this.#free = count;
    this.#taking = this.#take();
  }

  /** Resolves when the queue is closed and all reconciles have ended. */
  async ended(): Promise<void> {
    await this.#taking;
    await Promise.all([...this.#running.values()].map(({ work }) => work));
  }

  /** Waits without occupying a worker. Afterwards the reconcile gets the next free worker, ahead of newly queued keys. */
  async away<T>(wait: () => Promise<T>): Promise<T> {
    this.#leave();
    try {
      return await wait();
    } finally {
      await this.#enter('first');
    }
  }

  /** Returns why the process should be restarted; undefined while every reconcile ends in time. */
  stuck(): string | undefined {
    const now = this.#options.clock.monotonic();
    const oldest = [...this.#running].find(([, { since }]) => now - since > stuckAfterMs);
    return oldest === undefined ? undefined : `the reconcile of ${oldest[0]} has not ended for more than ten minutes`;
  }

  /** Forgets the last error of an object after a success, or when the object is gone. */
  went(key: string): void {
    if (this.#thrown.delete(key)) this.#options.troubles.went(key);
  }

  async #take(): Promise<void> {
    const { clock, queue } = this.#options;
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      await this.#enter('last');
      this.#running.set(key, { since: clock.monotonic(), work: this.#work(key) });
    }
  }

  /** Waits until a worker is free, and occupies it. */
  async #enter(where: 'first' | 'last'): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve) => {
      if (where === 'first') this.#entering.unshift(resolve);
      else this.#entering.push(resolve);
    });
  }

  #leave(): void {
    const next = this.#entering.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  async #work(key: string): Promise<void> {
    const { clock, log, metrics, queue, reconcile, sayFailed } = this.#options;
    const [kind = ''] = key.split('/');
    const startedAt = clock.monotonic();
    try {
      const ended = await reconcile(key);
      // A reconcile with the result `quiet` may have sent no request to Kubernetes, so it does not prove that an outage
      // of Kubernetes is over.
      if (ended.is !== 'quiet') this.went(key);
      metrics.count('apphosting_reconciles_total', { kind, result: ended.is });
      this.#giveBack(key, ended);
    } catch (error) {
      metrics.count('apphosting_reconciles_total', { kind, result: 'error' });
      this.#logFailed(key, error);
      const unwritten = 'the failure of a reconcile could not be written to status';
      await sayFailed(key, error).catch((again: unknown) => log.debug({ err: again, object: key }, unwritten));
      queue.retry(key, urgencies.change);
    }
    metrics.observe('apphosting_reconcile_seconds', { kind }, (clock.monotonic() - startedAt) / 1_000);
    this.#running.delete(key);
    this.#leave();
    queue.done(key);
  }

  #giveBack(key: string, ended: Ended): void {
    const { queue, urgencyOf } = this.#options;
    switch (ended.is) {
      case 'gone':
        queue.drop(key);
        break;
      case 'failing':
        queue.forget(key);
        queue.enqueue(key, urgencyOf(key), Math.max(1, ended.againInMs));
        break;
      case 'overtaken':
        queue.retry(key, urgencyOf(key));
        break;
      case 'quiet':
        queue.enqueue(key, urgencyOf(key), ended.againInMs);
        break;
      case 'later':
        queue.forget(key);
        queue.enqueue(key, urgencies.resync);
        break;
      case 'settled':
        queue.forget(key);
        if (ended.againInMs !== undefined) queue.enqueue(key, urgencies.resync, Math.max(1, ended.againInMs));
        break;
    }
  }

  /** Logs the same error of an object only once. An outage of Kubernetes is logged once for all objects. */
  #logFailed(key: string, error: unknown): void {
    const { log, troubles } = this.#options;
    const isShared = error instanceof KubeError && troubles.failed(key, error);
    const text = String(error);
    const isNews = !isShared && this.#thrown.get(key) !== text;
    log[isNews ? 'error' : 'debug']({ err: error, object: key }, 'a reconcile failed');
    this.#thrown.set(key, isShared ? (this.#thrown.get(key) ?? '') : text);
  }
}
