import type { Clock, Entropy } from '../../base/clock.ts';
import type { KubeApi, KubeObject, Log, ObjectWriter, Resource, Written } from '../../engine/ports.ts';
import { hold, release } from './finalizers.ts';
import { within } from '../wait.ts';
import { StatusWriter, type Committed, type Written as StatusWritten } from './status-writer.ts';

const answerMs = 45_000;
const finalizer = 'apphosting.dev/hosting';

export interface ResourceWriterOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly resourceOf: (object: KubeObject) => Resource;
}

/** The writes of the engine, for objects of any of our kinds. */
export class ResourceWriter implements ObjectWriter {
  readonly #options: ResourceWriterOptions;
  readonly #status: StatusWriter;
  readonly #dying = new AbortController();

  constructor(options: ResourceWriterOptions) {
    this.#options = options;
    this.#status = new StatusWriter(options);
  }

  readLive(object: KubeObject): Promise<KubeObject | undefined> {
    const { api, resourceOf } = this.#options;
    const { namespace, name } = object.metadata;
    return this.#inTime(api.get(resourceOf(object), namespace, name), `reading ${name}`);
  }

  async writeStatus(object: KubeObject, status: object): Promise<Written> {
    return asWritten(await this.#status.write(this.#options.resourceOf(object), object, status), object);
  }

  async commitStatus(object: KubeObject, render: (newest: KubeObject) => object | undefined): Promise<Written> {
    const { signal } = this.#dying;
    const committed = await this.#status.commit(this.#options.resourceOf(object), object, {
      statusOver: render,
      signal,
    });
    return asCommitted(committed);
  }

  async hold(object: KubeObject): Promise<Written> {
    const { api, resourceOf } = this.#options;
    const held = hold(api, resourceOf(object), object, finalizer);
    return asWritten(await this.#inTime(held, `holding ${object.metadata.name}`), object);
  }

  async release(object: KubeObject): Promise<Written> {
    const { api, resourceOf } = this.#options;
    const released = release(api, resourceOf(object), object, finalizer);
    return asWritten(await this.#inTime(released, `releasing ${object.metadata.name}`), object);
  }

  #inTime<Result>(answer: Promise<Result>, what: string): Promise<Result> {
    return within(this.#options.clock, answerMs, answer, what);
  }

  /** Waits for ids that are being written; then gives up on them. */
  async drain(deadlineMs: number): Promise<void> {
    await this.#status.drain(deadlineMs);
    this.#dying.abort();
  }
}

function asWritten(written: StatusWritten, object: KubeObject): Written {
  return written.is === 'unchanged' ? { is: 'written', object } : written;
}

function asCommitted(committed: Committed): Written {
  switch (committed.is) {
    case 'written':
    case 'gone':
      return committed;
    case 'superseded':
    case 'abandoned':
      return { is: 'conflict' };
    case 'refused':
      throw new Error(`an id cannot be written to status: ${committed.message}`);
  }
}
