import {
  KubeError,
  type KubeObject,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../../../src/engine/ports.ts';
import { meets } from './label-selector.ts';
import { type ClusterChange, keyOf, type MemoryCluster } from './memory-cluster.ts';

const bookmarkMs = 60_000;

/** One open watch on a cluster in memory, which may be late, hear nothing, or end with a failure. */
export class MemoryWatch {
  /** How long what happened takes to be heard. */
  lagMs = 0;
  readonly #cluster: MemoryCluster;
  readonly #resource: string;
  readonly #options: WatchOptions;
  /** The resourceVersion of the newest event, or the one at which the watch started. */
  #newest: number;
  #isEnded = false;
  readonly #queue: { readonly event: WatchEvent; readonly happenedAt: number }[] = [];
  readonly #undo: (() => void)[] = [];
  #wake: (() => void) | undefined;
  #isMuted: boolean;
  #missed = false;
  #failure: KubeError | undefined;

  constructor(cluster: MemoryCluster, resource: Resource, options: WatchOptions, isMuted: boolean) {
    this.#cluster = cluster;
    this.#resource = keyOf(resource);
    this.#options = options;
    this.#newest = Number(options.resourceVersion);
    this.#isMuted = isMuted;
  }

  /** Starts the watch: delivers every change since its resourceVersion, and every new one. */
  open(): void {
    if (this.#newest < this.#cluster.compactedAt) {
      this.push({ type: 'ERROR', code: 410, message: 'too old resource version' });
      this.end();
      return;
    }
    for (const change of this.#cluster.changesAfter(this.#newest)) this.#see(change);
    const { signal, timeoutSeconds } = this.#options;
    const end = (): void => this.end();
    signal.addEventListener('abort', end, { once: true });
    this.#undo.push(
      this.#cluster.listen((change) => this.#see(change)),
      this.#cluster.onRestored(end),
      this.#cluster.clock.after(timeoutSeconds * 1000, end),
      () => signal.removeEventListener('abort', end),
    );
    this.#scheduleBookmark();
    if (signal.aborted) this.end();
  }

  /** While muted, events are not delivered; a stream that missed some breaks when unmuted. */
  set isMuted(isMuted: boolean) {
    this.#isMuted = isMuted;
    if (!isMuted && this.#missed) this.end(new KubeError('unavailable', 'the connection was reset'));
  }

  push(event: WatchEvent): void {
    if (this.#isMuted) {
      this.#missed = true;
      return;
    }
    if (this.#isEnded) return;
    this.#queue.push({ event, happenedAt: this.#cluster.clock.monotonic() });
    this.#wake?.();
  }

  end(failure?: KubeError): void {
    if (this.#isMuted && !this.#options.signal.aborted) {
      this.#missed = true;
      return;
    }
    if (!this.#isEnded) this.#failure = failure;
    this.#isEnded = true;
    this.#wake?.();
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  async *events(): AsyncGenerator<WatchEvent, void, void> {
    for (;;) {
      const next = this.#queue.shift();
      if (next !== undefined) {
        await this.#late(next.happenedAt);
        yield next.event;
      } else if (!this.#isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if (this.#failure !== undefined) throw this.#failure;
      else return;
    }
  }

  /** Waits until what happened then is heard; the lag may change meanwhile. */
  async #late(happenedAt: number): Promise<void> {
    const { clock } = this.#cluster;
    for (;;) {
      const earlyMs = happenedAt + this.lagMs - clock.monotonic();
      if (earlyMs <= 0) return;
      await new Promise<void>((resolve) => void clock.after(earlyMs, resolve));
    }
  }

  /** True if the watch covers the namespace and the labels of this object. */
  #selects({ metadata }: KubeObject): boolean {
    const { namespace, labelSelector } = this.#options;
    return (namespace === undefined || metadata.namespace === namespace) && meets(metadata.labels, labelSelector);
  }

  /** Queues an event for a change that the watch covers. Skips changes up to its resourceVersion, even after a restore. */
  #see(change: ClusterChange): void {
    if (change.resource !== this.#resource || change.version <= this.#newest) return;
    const was = change.before !== undefined && this.#selects(change.before);
    const is = change.after !== undefined && this.#selects(change.after);
    if (!was && !is) return;
    this.#newest = change.version;
    const type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
    this.push({ type, object: this.#options.metadataOnly === true ? onlyMetadata(change.object) : change.object });
  }

  /** Sends a bookmark each minute, unless it would not be newer than the start of the watch. */
  #scheduleBookmark(): void {
    const cancel = this.#cluster.clock.after(bookmarkMs, () => {
      if (this.#isEnded) return;
      const version = this.#cluster.knownOf(this.#resource);
      const isNews = !this.#cluster.isDrowsy || version > Number(this.#options.resourceVersion);
      if (version >= this.#newest && isNews) {
        this.#newest = version;
        this.push({ type: 'BOOKMARK', resourceVersion: String(version) });
      }
      this.#scheduleBookmark();
    });
    this.#undo.push(cancel);
  }
}

/** Reduces an object to its metadata, as lists and watches of metadata show it. */
export function onlyMetadata({ metadata }: KubeObject): KubeObject {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}
