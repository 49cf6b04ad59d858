/**
 * The workers: each takes the next object, has a pass made over it, and gives it back with when to look again.
 *
 * Guarantees: whatever a pass throws, its object is given back and looked at again; the same failure of the same object is
 * logged once.
 */
import type { Parts } from '../parts.ts';
import { partsOfKey } from '../objects/names.ts';
import { KubeError } from '../ports.ts';
import { urgencies, type QueueUrgency, type WorkQueue } from './work-queue.ts';
import type { Reconciler } from '../reconcile/reconcile.ts';

const stuckAfterMs = 600_000;

export interface WorkersOptions {
  readonly parts: Parts;
  readonly queue: WorkQueue;
  readonly reconciler: Reconciler;
  readonly urgencyOf: (key: string) => QueueUrgency;
}

export class Workers {
  readonly #parts: Parts;
  readonly #queue: WorkQueue;
  readonly #reconciler: Reconciler;
  readonly #urgencyOf: (key: string) => QueueUrgency;
  readonly #working: Promise<void>[] = [];
  readonly #running = new Map<string, number>();
  /** What the last pass over an object threw. */
  readonly #thrown = new Map<string, string>();

  constructor({ parts, queue, reconciler, urgencyOf }: WorkersOptions) {
    this.#parts = parts;
    this.#queue = queue;
    this.#reconciler = reconciler;
    this.#urgencyOf = urgencyOf;
  }

  start(count: number): void {
    for (let worker = 0; worker < count; worker += 1) this.#working.push(this.#work());
  }

  /** Resolves when the queue is closed and what ran has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#working);
  }

  /** What is wrong with the loop itself; undefined while every pass comes to an end. */
  stuck(): string | undefined {
    const now = this.#parts.clock.monotonic();
    const oldest = [...this.#running].find(([, since]) => now - since > stuckAfterMs);
    return oldest === undefined ? undefined : `a pass over ${oldest[0]} does not come to an end`;
  }

  /** The object of this key gives no trouble, or is gone. */
  went(key: string): void {
    this.#thrown.delete(key);
    this.#parts.troubles.went(key);
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      await this.#workOn(key);
      this.#queue.done(key);
    }
  }

  async #workOn(key: string): Promise<void> {
    const { kind } = partsOfKey(key);
    const startedAt = this.#parts.clock.monotonic();
    this.#running.set(key, startedAt);
    try {
      const ended = await this.#reconciler.pass(key);
      // What is put off has asked Kubernetes nothing.
      if (ended.is !== 'quiet') this.went(key);
      this.#parts.metrics.count('apphosting_passes_total', { kind, result: ended.is });
      switch (ended.is) {
        case 'gone':
          this.#queue.drop(key);
          break;
        case 'failing':
          this.#queue.forget(key);
          this.#queue.enqueue(key, this.#urgencyOf(key), Math.max(1, ended.againInMs));
          break;
        case 'overtaken':
          this.#queue.retry(key, this.#urgencyOf(key));
          break;
        case 'quiet':
          this.#queue.enqueue(key, this.#urgencyOf(key), ended.againInMs);
          break;
        case 'settled':
          this.#queue.forget(key);
          if (ended.againInMs !== undefined) this.#queue.enqueue(key, urgencies.resync, Math.max(1, ended.againInMs));
          break;
      }
    } catch (error) {
      this.#parts.metrics.count('apphosting_passes_total', { kind, result: 'error' });
      this.#logFailed(key, error);
      await this.#sayFailed(key, error);
      this.#queue.retry(key, urgencies.change);
    }
    this.#parts.metrics.observe(
      'apphosting_pass_seconds',
      { kind },
      (this.#parts.clock.monotonic() - startedAt) / 1_000,
    );
  }

  /** The same failure of the same object is news only once, and what Kubernetes as a whole does not do is told by all together. */
  #logFailed(key: string, error: unknown): void {
    const { log, troubles } = this.#parts;
    const isShared = error instanceof KubeError && troubles.failed(key, error);
    const text = String(error);
    const isNews = !isShared && this.#thrown.get(key) !== text;
    log[isNews ? 'error' : 'debug']({ err: error, object: key }, 'a pass failed');
    if (!isShared) this.#thrown.set(key, text);
  }

  async #sayFailed(key: string, error: unknown): Promise<void> {
    try {
      await this.#reconciler.failed(key, error);
    } catch (again) {
      this.#parts.log.debug({ err: again, object: key }, 'that a pass failed cannot be said in status');
    }
  }
}
