import type { KubeObject, Resource, WatchEvent, WatchOptions } from '../../src/engine/ports.ts';
import { type ClusterChange, type ClusterInMemory, keyOf } from './cluster-in-memory.ts';

const bookmarkMs = 60_000;

/** One open watch on a cluster in memory. */
export class WatchInMemory {
  protected readonly cluster: ClusterInMemory;
  protected readonly resource: string;
  protected readonly options: WatchOptions;
  /** The resourceVersion of the newest event, or the one at which the watch started. */
  protected newest: number;
  protected isEnded = false;
  readonly #queue: WatchEvent[] = [];
  readonly #undo: (() => void)[] = [];
  #wake: (() => void) | undefined;

  constructor(cluster: ClusterInMemory, resource: Resource, options: WatchOptions) {
    this.cluster = cluster;
    this.resource = keyOf(resource);
    this.options = options;
    this.newest = Number(options.resourceVersion);
  }

  /** Starts the watch: delivers every change since its resourceVersion, and every new one. */
  open(): void {
    for (const change of this.cluster.changesAfter(this.newest)) this.#see(change);
    const { signal, timeoutSeconds } = this.options;
    const abort = (): void => this.end();
    signal.addEventListener('abort', abort, { once: true });
    this.atClose(
      this.cluster.listen((change) => this.#see(change)),
      this.cluster.clock.after(timeoutSeconds * 1000, abort),
      () => signal.removeEventListener('abort', abort),
    );
    this.#scheduleBookmark();
    if (signal.aborted) this.end();
  }

  push(event: WatchEvent): void {
    if (this.isEnded) return;
    this.#queue.push(event);
    this.#wake?.();
  }

  end(): void {
    this.isEnded = true;
    this.#wake?.();
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  async *events(): AsyncGenerator<WatchEvent, void, void> {
    for (;;) {
      const next = this.#queue.shift();
      if (next !== undefined) yield next;
      else if (this.isEnded) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  protected atClose(...undo: readonly (() => void)[]): void {
    this.#undo.push(...undo);
  }

  /** True if the watch covers the namespace of this object. */
  protected selects({ metadata }: KubeObject): boolean {
    const { namespace } = this.options;
    return namespace === undefined || metadata.namespace === namespace;
  }

  protected bookmark(version: number): void {
    this.newest = version;
    this.push({ type: 'BOOKMARK', resourceVersion: String(version) });
  }

  /** Queues an event for a change that the watch covers. Skips changes up to its resourceVersion, even after a restore. */
  #see(change: ClusterChange): void {
    if (change.resource !== this.resource || change.version <= this.newest) return;
    const was = change.before !== undefined && this.selects(change.before);
    const is = change.after !== undefined && this.selects(change.after);
    if (!was && !is) return;
    this.newest = change.version;
    const type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
    this.push({ type, object: this.options.metadataOnly === true ? onlyMetadata(change.object) : change.object });
  }

  #scheduleBookmark(): void {
    const cancel = this.cluster.clock.after(bookmarkMs, () => {
      if (this.isEnded) return;
      this.bookmark(this.cluster.version);
      this.#scheduleBookmark();
    });
    this.atClose(cancel);
  }
}

/** Reduces an object to its metadata, as lists and watches of metadata show it. */
export function onlyMetadata({ metadata }: KubeObject): KubeObject {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}
