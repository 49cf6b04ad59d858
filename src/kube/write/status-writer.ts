/**
 * The one writer of status.
 *
 * Guarantees: a write carries uid and resourceVersion, so it never lands on a form of the object that the writer did not see,
 * nor on a recreated namesake; a status that is already there is not written; an id that is committed is written until it
 * stands there, whatever happens in between, unless it is not ours to write any more.
 */
import type { Clock, Entropy } from '../../base/clock.ts';
import { type KubeApi, KubeError, type KubeObject, type Log, type Resource } from '../../engine/ports.ts';
import { Backoff } from '../../base/backoff.ts';
import { sameJson } from '../../base/json.ts';
import { pause, within } from '../wait.ts';

const writeMs = 45_000;
const commitPace = { firstMs: 200, longestMs: 10_000, forgetMs: 60_000 };
const mostRefusals = 5;

/** How a write of status ended; what is not listed here is thrown as `KubeError`. */
export type Written =
  | { readonly is: 'written'; readonly object: KubeObject }
  /** It was there already. */
  | { readonly is: 'unchanged' }
  /** Somebody else was first: look again. */
  | { readonly is: 'conflict' }
  /** The object is not there any more. */
  | { readonly is: 'gone' };

/** How the committing of an id ended. */
export type Committed =
  | { readonly is: 'written'; readonly object: KubeObject }
  /** The object, or its journal's attempt, is not the one that the id belongs to. */
  | { readonly is: 'superseded' }
  | { readonly is: 'gone' }
  /** The API server refuses this status for what it says. */
  | { readonly is: 'refused'; readonly message: string }
  /** The process is about to die. */
  | { readonly is: 'abandoned' };

/** What committing an id takes. */
export interface Commit {
  /** The status to write over this form of the object; undefined when the id does not belong to it. */
  readonly statusOver: (live: KubeObject) => unknown;
  readonly signal: AbortSignal;
}

export interface StatusWriterOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #commits = new Set<Promise<Committed>>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Replaces the whole status of the object that was seen. */
  async write(resource: Resource, seen: KubeObject, status: unknown): Promise<Written> {
    if (sameJson(seen.status, status)) return { is: 'unchanged' };
    try {
      return { is: 'written', object: await this.#put(resource, seen, status) };
    } catch (error) {
      if (error instanceof KubeError && error.reason === 'conflict') return { is: 'conflict' };
      if (error instanceof KubeError && error.reason === 'notFound') return { is: 'gone' };
      throw error;
    }
  }

  /** Writes an id that must not be lost, again and again until it is there; `drain` waits for it. */
  commit(resource: Resource, seen: KubeObject, commit: Commit): Promise<Committed> {
    const done = this.#untilWritten(resource, seen, commit).finally(() => this.#commits.delete(done));
    this.#commits.add(done);
    return done;
  }

  /** Commits under way. */
  get open(): number {
    return this.#commits.size;
  }

  /** Waits for all commits, for as long as there is time; returns how many are still open. */
  async drain(deadlineMs: number): Promise<number> {
    const all = Promise.allSettled(this.#commits);
    await within(this.#options.clock, deadlineMs, all, 'committing ids').catch(() => undefined);
    return this.#commits.size;
  }

  async #untilWritten(resource: Resource, seen: KubeObject, { statusOver, signal }: Commit): Promise<Committed> {
    const { clock, entropy, log } = this.#options;
    const backoff = new Backoff(commitPace, clock, entropy);
    let live: KubeObject | undefined = seen;
    let refusals = 0;
    let isTold = false;
    while (!signal.aborted) {
      try {
        live ??= await this.#read(resource, seen);
        if (live?.metadata.uid !== seen.metadata.uid) return { is: 'gone' };
        const status = statusOver(live);
        if (status === undefined) return { is: 'superseded' };
        if (!sameJson(live.status, status)) return { is: 'written', object: await this.#put(resource, live, status) };
        // A write that seemed lost had arrived.
        return { is: 'written', object: live };
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        const { reason } = error;
        if (reason === 'invalid' && ++refusals >= mostRefusals) return { is: 'refused', message: error.message };
        live = undefined;
        const waitMs = backoff.next(error.retryInMs);
        if ((reason === 'conflict' || reason === 'notFound') && backoff.failures === 1) continue;
        log[isTold ? 'debug' : 'warn'](
          { waitMs: Math.round(waitMs), uid: seen.metadata.uid },
          `an id is still to be written: ${error.message}`,
        );
        isTold = true;
        await pause(clock, waitMs, signal);
      }
    }
    return { is: 'abandoned' };
  }

  #read(resource: Resource, { metadata }: KubeObject): Promise<KubeObject | undefined> {
    const { api, clock } = this.#options;
    return within(clock, writeMs, api.get(resource, metadata.namespace, metadata.name), `reading ${metadata.name}`);
  }

  async #put(resource: Resource, { apiVersion, kind, metadata }: KubeObject, status: unknown): Promise<KubeObject> {
    const { api, clock, log } = this.#options;
    const { name, namespace, uid, resourceVersion } = metadata;
    const body = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
    const sent = api.replaceStatus(resource, namespace, name, body);
    const object = await within(clock, writeMs, sent, `writing the status of ${name}`);
    if (!sameJson(object.status, status)) {
      log.warn({ kind, namespace, name }, 'bug: the API server kept something else than the status that was written');
    }
    return object;
  }
}
