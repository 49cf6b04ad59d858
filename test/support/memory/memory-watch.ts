import { WatchInMemory } from '../watch-in-memory.ts';
import {
  KubeError,
  type KubeObject,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../../../src/engine/ports.ts';
import { meets } from './label-selector.ts';
import type { MemoryCluster } from './memory-cluster.ts';

/** A watch that may be late, hear nothing, or end with a failure. */
export class MemoryWatch extends WatchInMemory {
  declare protected readonly cluster: MemoryCluster;
  /** How long what happened takes to be heard. */
  lagMs = 0;
  readonly #happenedAt: number[] = [];
  #isMuted: boolean;
  #missed = false;
  #failure: KubeError | undefined;

  constructor(cluster: MemoryCluster, resource: Resource, options: WatchOptions, isMuted: boolean) {
    super(cluster, resource, options);
    this.#isMuted = isMuted;
  }

  override open(): void {
    if (this.newest < this.cluster.compactedAt) {
      this.push({ type: 'ERROR', code: 410, message: 'too old resource version' });
      this.end();
      return;
    }
    super.open();
    this.atClose(this.cluster.onRestored(() => this.end()));
  }

  /** While muted, events are not delivered; a stream that missed some breaks when unmuted. */
  set isMuted(isMuted: boolean) {
    this.#isMuted = isMuted;
    if (!isMuted && this.#missed) this.end(new KubeError('unavailable', 'the connection was reset'));
  }

  override push(event: WatchEvent): void {
    if (this.#isMuted) {
      this.#missed = true;
      return;
    }
    if (this.isEnded) return;
    this.#happenedAt.push(this.cluster.clock.monotonic());
    super.push(event);
  }

  override end(failure?: KubeError): void {
    if (this.#isMuted && !this.options.signal.aborted) {
      this.#missed = true;
      return;
    }
    if (!this.isEnded) this.#failure = failure;
    super.end();
  }

  override async *events(): AsyncGenerator<WatchEvent, void, void> {
    for await (const event of super.events()) {
      const happenedAt = this.#happenedAt.shift() ?? 0;
      for (;;) {
        const earlyMs = happenedAt + this.lagMs - this.cluster.clock.monotonic();
        if (earlyMs <= 0) break;
        await new Promise<void>((resolve) => void this.cluster.clock.after(earlyMs, resolve));
      }
      yield event;
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  protected override selects(object: KubeObject): boolean {
    return super.selects(object) && meets(object.metadata.labels, this.options.labelSelector);
  }

  /** Skips a bookmark that is not newer than the start of the watch. */
  protected override bookmark(): void {
    const version = this.cluster.knownOf(this.resource);
    const isNews = !this.cluster.isDrowsy || version > Number(this.options.resourceVersion);
    if (version >= this.newest && isNews) super.bookmark(version);
  }
}
