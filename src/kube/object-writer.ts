/**
 * Writes the status and the finalizer of the operator's resources. No other code writes them.
 *
 * Guarantees: every write contains the uid and the resourceVersion of the object. So a write never changes a version of the
 * object that the operator has not seen, nor another object with the same name. A write that would change nothing is not sent.
 * `commitStatus` retries until the service's response is recorded in the status. It gives up in three cases: the object is
 * gone, `render` returns undefined because the journal in the status has changed, or the API server has refused the new status
 * as invalid five times.
 */
import { Backoff, pause } from '../base/time.ts';
import { sameJson } from '../base/json.ts';
import {
  KubeError,
  type KubeObject,
  type ObjectWriter,
  type PatchOperation,
  type Resource,
  type Written,
  finalizer,
} from '../engine/ports.ts';
import type { KubeMeans } from './means.ts';

const commitPace = { firstMs: 200, longestMs: 10_000, forgetMs: 60_000 };
const mostRefusals = 5;

interface ObjectWriterOptions extends KubeMeans {
  readonly resourceOf: (object: KubeObject) => Resource;
}

/** Writes the status of the operator's resources, and adds and removes the operator's finalizer. */
export class KubeObjectWriter implements ObjectWriter {
  readonly #options: ObjectWriterOptions;

  constructor(options: ObjectWriterOptions) {
    this.#options = options;
  }

  readLive(object: KubeObject): Promise<KubeObject | undefined> {
    const { api, resourceOf } = this.#options;
    const { namespace, name } = object.metadata;
    return api.get(resourceOf(object), namespace, name);
  }

  writeStatus(object: KubeObject, status: object): Promise<Written> {
    return written(this.#putStatus(object, status));
  }

  async commitStatus(object: KubeObject, render: (newest: KubeObject) => object | undefined): Promise<Written> {
    const { clock, entropy, log } = this.#options;
    const { uid } = object.metadata;
    const backoff = new Backoff(commitPace, clock, entropy);
    let live: KubeObject | undefined = object;
    let refusals = 0;
    let isTold = false;
    for (;;) {
      try {
        live ??= await this.readLive(object);
        if (live?.metadata.uid !== uid) return { is: 'gone' };
        const status = render(live);
        if (status === undefined) return { is: 'conflict' };
        return { is: 'written', object: await this.#putStatus(live, status) };
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        const { reason, message } = error;
        if (reason === 'invalid' && ++refusals >= mostRefusals) {
          throw new Error(`the answer of the service cannot be written to the status of the object: ${message}`, {
            cause: error,
          });
        }
        live = undefined;
        const waitMs = backoff.next(error.retryInMs);
        if ((reason === 'conflict' || reason === 'notFound') && backoff.failures === 1) continue;
        const fields = { waitMs: Math.round(waitMs), uid };
        log[isTold ? 'debug' : 'warn'](
          fields,
          `the service's answer could not be written to status; the operator tries again: ${message}`,
        );
        isTold = true;
        await pause(clock, waitMs);
      }
    }
  }

  /** Adds our finalizer, which keeps Kubernetes from deleting the object at once. */
  hold(object: KubeObject): Promise<Written> {
    return written(this.#setFinalizers(object, [finalizer]));
  }

  /** Removes our finalizer. Kubernetes then deletes the object if no other finalizer is left. */
  release(object: KubeObject): Promise<Written> {
    return written(this.#setFinalizers(object, []));
  }

  /**
   * Replaces the whole status of an object; sends nothing if the object already has this status. Fails if the object has
   * changed since it was read.
   */
  async #putStatus(object: KubeObject, status: object): Promise<KubeObject> {
    const { api, log, resourceOf } = this.#options;
    if (sameJson(object.status, status)) return object;
    const { apiVersion, kind, metadata } = object;
    const { name, namespace, uid, resourceVersion } = metadata;
    const body = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
    const now = await api.replaceStatus(resourceOf(object), namespace, name, body);
    if (!sameJson(now.status, status)) {
      log.warn(
        { kind, namespace, name },
        'the API server did not store the status as the operator wrote it: the CRDs are of another version (run apphosting doctor), an admission webhook changed the status, or this is a bug',
      );
    }
    return now;
  }

  /**
   * Writes the list of finalizers of an object: keeps the finalizers of other controllers, and replaces the operator's
   * finalizer with `ours`. Fails if the object has changed since it was read.
   */
  async #setFinalizers(object: KubeObject, ours: readonly string[]): Promise<KubeObject> {
    const { api, resourceOf } = this.#options;
    const { uid, resourceVersion, namespace, name, finalizers: now = [] } = object.metadata;
    const finalizers = [...now.filter((one) => one !== finalizer), ...ours];
    if (finalizers.length === now.length) return object;
    const operations: PatchOperation[] = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
      { op: 'add', path: '/metadata/finalizers', value: finalizers },
    ];
    return api.patch(resourceOf(object), namespace, name, operations);
  }
}

/**
 * Waits for a write to the API server. Returns whether the object was written, had changed, or no longer exists. Throws
 * any other failure.
 */
async function written(write: Promise<KubeObject>): Promise<Written> {
  try {
    return { is: 'written', object: await write };
  } catch (error) {
    if (error instanceof KubeError && error.reason === 'conflict') return { is: 'conflict' };
    if (error instanceof KubeError && error.reason === 'notFound') return { is: 'gone' };
    throw error;
  }
}
