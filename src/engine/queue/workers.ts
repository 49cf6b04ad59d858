/**
 * The workers: each takes the next key, reconciles it and enqueues it again when the result says so.
 *
 * Guarantees: no more reconciles run at once than there are workers, those that wait for an answer of the service (`away`)
 * not counted; an object whose reconcile throws is enqueued again; the same failure of an object is logged once.
 *
 * p-queue is not this: a task of it keeps its place until it ends, while a reconcile gives up its place when it waits.
 */
import type { Clock } from '../../base/time.ts';
import { KubeError, type Log, type Metrics, type Troubles } from '../ports.ts';
import { urgencies, type QueueUrgency, type WorkQueue } from './work-queue.ts';

/** The result of a reconcile for the queue. */
export type Ended =
  | { readonly is: 'settled'; readonly againInMs: number | undefined }
  /** The next call failed; it is sent again after a pause. */
  | { readonly is: 'failing'; readonly againInMs: number }
  /** Somebody else wrote first: their change arrives by the watch. */
  | { readonly is: 'overtaken' }
  /** Nothing was done, and status stays as it is. */
  | { readonly is: 'quiet'; readonly againInMs: number }
  /** There are news of no consequence, which are written when nothing else of the account waits for a worker. */
  | { readonly is: 'later' }
  | { readonly is: 'gone' };

const stuckAfterMs = 600_000;

export interface WorkersOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly troubles: Troubles;
  readonly queue: WorkQueue;
  readonly reconcile: (key: string) => Promise<Ended>;
  /** Says in the object's status that its reconcile threw. */
  readonly sayFailed: (key: string, error: unknown) => Promise<void>;
  readonly urgencyOf: (key: string) => QueueUrgency;
}

export class Workers {
  readonly #options: WorkersOptions;
  readonly #working = new Set<Promise<void>>();
  /** Keys and calls that wait for a worker. */
  readonly #entering: (() => void)[] = [];
  #free = 0;
  #taking: Promise<void> = Promise.resolve();
  readonly #running = new Map<string, number>();
  /** What the last reconcile of an object threw. */
  readonly #thrown = new Map<string, string>();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  start(count: number): void {
    this.#free = count;
    this.#taking = this.#take();
  }

  /** Resolves when the queue is closed and what ran has ended. */
  async ended(): Promise<void> {
    await this.#taking;
    await Promise.all(this.#working);
  }

  /** Waits without occupying a worker; afterwards it takes the next free worker before new keys. */
  async away<T>(wait: () => Promise<T>): Promise<T> {
    this.#leave();
    try {
      return await wait();
    } finally {
      await this.#enter('first');
    }
  }

  /** Why the process should be restarted; undefined while every reconcile comes to an end. */
  stuck(): string | undefined {
    const now = this.#options.clock.monotonic();
    const oldest = [...this.#running].find(([, since]) => now - since > stuckAfterMs);
    return oldest === undefined ? undefined : `a reconcile of ${oldest[0]} does not come to an end`;
  }

  /** Forgets the failures of an object after a success, or when it is gone. */
  went(key: string): void {
    this.#thrown.delete(key);
    this.#options.troubles.went(key);
  }

  async #take(): Promise<void> {
    const { queue } = this.#options;
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      await this.#enter('last');
      const work = this.#work(key);
      this.#working.add(work);
      void work.finally(() => this.#working.delete(work));
    }
  }

  async #work(key: string): Promise<void> {
    await this.#workOn(key);
    this.#leave();
    this.#options.queue.done(key);
  }

  /** Resolves when a worker is free for the caller. */
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

  async #workOn(key: string): Promise<void> {
    const { clock, metrics, queue } = this.#options;
    const [kind = ''] = key.split('/');
    const startedAt = clock.monotonic();
    this.#running.set(key, startedAt);
    try {
      const ended = await this.#options.reconcile(key);
      // A reconcile that was put off has asked Kubernetes nothing.
      if (ended.is !== 'quiet') this.went(key);
      metrics.count('apphosting_reconciles_total', { kind, result: ended.is });
      this.#giveBack(key, ended);
    } catch (error) {
      metrics.count('apphosting_reconciles_total', { kind, result: 'error' });
      this.#logFailed(key, error);
      await this.#sayFailed(key, error);
      queue.retry(key, urgencies.change);
    }
    metrics.observe('apphosting_reconcile_seconds', { kind }, (clock.monotonic() - startedAt) / 1_000);
    this.#running.delete(key);
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

  /** Logs a failure of an object once; a failure of Kubernetes as a whole is logged once for all objects. */
  #logFailed(key: string, error: unknown): void {
    const { log, troubles } = this.#options;
    const isShared = error instanceof KubeError && troubles.failed(key, error);
    const text = String(error);
    const isNews = !isShared && this.#thrown.get(key) !== text;
    log[isNews ? 'error' : 'debug']({ err: error, object: key }, 'a reconcile failed');
    if (!isShared) this.#thrown.set(key, text);
  }

  async #sayFailed(key: string, error: unknown): Promise<void> {
    try {
      await this.#options.sayFailed(key, error);
    } catch (again) {
      this.#options.log.debug({ err: again, object: key }, 'status cannot say that a reconcile failed');
    }
  }
}
