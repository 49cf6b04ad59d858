import { KubeError, type KubeObject, type Resource, type WatchEvent, type WatchOptions } from '../../engine/ports.ts';
import { meets } from './label-selector.ts';
import { type ClusterChange, keyOf, type MemoryCluster } from './cluster.ts';

const bookmarkMs = 60_000;

/** One open watch on a cluster in memory. */
export class MemoryWatch {
  readonly #cluster: MemoryCluster;
  readonly #resource: string;
  readonly #options: WatchOptions;
  readonly #queue: { readonly event: WatchEvent; readonly at: number }[] = [];
  readonly #undo: (() => void)[] = [];
  /** How long what happened takes to be heard. */
  lagMs = 0;
  #newest: number;
  #isMuted = false;
  #missed = false;
  #ended: { readonly failure: KubeError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(cluster: MemoryCluster, resource: Resource, options: WatchOptions, isMuted = false) {
    this.#isMuted = isMuted;
    this.#cluster = cluster;
    this.#resource = keyOf(resource);
    this.#options = options;
    this.#newest = Number(options.resourceVersion);
    if (this.#newest < cluster.compactedAt) {
      this.push({ type: 'ERROR', code: 410, message: 'too old resource version' });
      this.end();
      return;
    }
    for (const change of cluster.changesAfter(this.#newest)) this.#see(change);
    this.#undo.push(cluster.listen((change) => (change === 'restored' ? this.end() : this.#see(change))));
    const timeout = cluster.clock.after(options.timeoutSeconds * 1000, () => this.end());
    this.#undo.push(timeout);
    this.#scheduleBookmark();
    const abort = (): void => this.end();
    options.signal.addEventListener('abort', abort, { once: true });
    this.#undo.push(() => options.signal.removeEventListener('abort', abort));
    if (options.signal.aborted) this.end();
  }

  /** While muted, events are not delivered; a stream that missed some breaks when unmuted. */
  set isMuted(isMuted: boolean) {
    this.#isMuted = isMuted;
    if (!isMuted && this.#missed) this.end(new KubeError('unavailable', 'the connection was reset'));
  }

  push(event: WatchEvent): void {
    if (this.#ended !== undefined) return;
    if (this.#isMuted) {
      this.#missed = true;
      return;
    }
    this.#queue.push({ event, at: this.#cluster.clock.monotonic() });
    this.#wake?.();
  }

  end(failure?: KubeError): void {
    if (this.#isMuted && !this.#options.signal.aborted) {
      this.#missed = true;
      return;
    }
    this.#ended ??= { failure };
    this.#wake?.();
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  async *events(): AsyncGenerator<WatchEvent, void, void> {
    for (;;) {
      const next = this.#queue[0];
      const earlyMs = next === undefined ? 0 : next.at + this.lagMs - this.#cluster.clock.monotonic();
      if (earlyMs > 0) await new Promise<void>((resolve) => void this.#cluster.clock.after(earlyMs, resolve));
      else if (next !== undefined) {
        this.#queue.shift();
        yield next.event;
      } else if (this.#ended !== undefined) {
        if (this.#ended.failure !== undefined) throw this.#ended.failure;
        return;
      } else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** A watch from a version that the cluster has not reached (again) waits, and says nothing. */
  #see(change: ClusterChange): void {
    if (change.resource !== this.#resource || change.version <= this.#newest) return;
    const was = change.before !== undefined && this.#selects(change.before);
    const is = change.after !== undefined && this.#selects(change.after);
    if (!was && !is) return;
    this.#newest = change.version;
    const type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
    this.push({ type, object: this.#options.metadataOnly === true ? onlyMetadata(change.object) : change.object });
  }

  #selects({ metadata }: KubeObject): boolean {
    const { namespace, labelSelector } = this.#options;
    return (namespace === undefined || metadata.namespace === namespace) && meets(metadata.labels, labelSelector);
  }

  #scheduleBookmark(): void {
    const cancel = this.#cluster.clock.after(bookmarkMs, () => {
      if (this.#ended !== undefined) return;
      const version = this.#cluster.knownOf(this.#resource);
      // Skip a bookmark that is not newer than the start of the watch.
      if (version >= this.#newest && (!this.#cluster.isDrowsy || version > Number(this.#options.resourceVersion))) {
        this.#newest = version;
        this.push({ type: 'BOOKMARK', resourceVersion: String(version) });
      }
      this.#scheduleBookmark();
    });
    this.#undo.push(cancel);
  }
}

/** An object as lists and watches of metadata show it. */
export function onlyMetadata({ metadata }: KubeObject): KubeObject {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}
