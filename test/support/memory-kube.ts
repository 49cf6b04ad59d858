import { KubeInMemory, type KubeCall, type Verb } from '../../src/cli/in-memory/kube.ts';
import type { MemoryWatch } from '../../src/cli/in-memory/watch.ts';
import { KubeError, type KubeReason, type Resource, type WatchEvent } from '../../src/engine/ports.ts';
import type { MemoryCluster } from '../../src/cli/in-memory/cluster.ts';

const deadlineMs = 30_000;

/** One call that was made. */
export interface RecordedCall {
  readonly verb: Verb;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Something that goes wrong with a call. */
export interface Fault {
  /** Only calls of this verb; any unless said. */
  readonly verb?: Verb;
  readonly plural?: string;
  /** Skips so many matching calls first. */
  readonly after?: number;
  /** How many matching calls it hits; one unless said. */
  readonly times?: number;
  /** Whether the call took effect before it failed. */
  readonly effect: 'before' | 'after';
  /** `hang` never answers; `timeout` fails after the deadline that the client over HTTP has. */
  readonly outcome: KubeReason | 'hang' | 'timeout';
  readonly retryInMs?: number;
}

/** A connection to a cluster in memory, with faults of its own; several connections may share one cluster. */
export class MemoryKube extends KubeInMemory {
  readonly calls: RecordedCall[] = [];
  readonly #faults: { fault: Fault; skip: number; left: number }[] = [];
  readonly #watches = new Set<MemoryWatch>();
  readonly #latency: () => number;
  #isCut = false;
  #watchLagMs = 0;
  /** Watches that are opened from now on are accepted, and nothing is heard on them. */
  isDeaf = false;

  /** `latency` says how long each way of each call takes; nothing unless given. */
  constructor(cluster: MemoryCluster, latency: () => number = () => 0) {
    super(cluster);
    this.#latency = latency;
  }

  /** Arranges a fault; faults are looked at in the order in which they were arranged. */
  inject(fault: Fault): void {
    this.#faults.push({ fault, skip: fault.after ?? 0, left: fault.times ?? 1 });
  }

  /** No fault that was arranged happens any more. */
  forgive(): void {
    this.#faults.length = 0;
  }

  /** Cuts or restores the network: calls fail without effect, watches hear nothing. */
  set cut(isCut: boolean) {
    this.#isCut = isCut;
    for (const watch of this.#watches) watch.isMuted = isCut;
  }

  /** How long every watch takes to tell what happened. */
  set watchLagMs(ms: number) {
    this.#watchLagMs = ms;
    for (const watch of this.#watches) watch.lagMs = ms;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Ends all watches: as the server does, or with a failure. */
  endWatches(failure?: KubeError): void {
    for (const watch of this.#watches) watch.end(failure);
  }

  /** The connections of all watches break, also of those on which nothing is heard. */
  breakWatches(): void {
    for (const watch of this.#watches) {
      watch.isMuted = false;
      watch.end(new KubeError('unavailable', 'the connection was reset'));
    }
  }

  /** Says something in all watches that no object said. */
  say(event: WatchEvent): void {
    for (const watch of this.#watches) watch.push(event);
  }

  /** Nothing more is heard on the watches that are open now. */
  mute(): void {
    for (const watch of this.#watches) watch.isMuted = true;
  }

  protected override opened(watch: MemoryWatch): void {
    watch.lagMs = this.#watchLagMs;
    this.#watches.add(watch);
  }

  protected override closed(watch: MemoryWatch): void {
    this.#watches.delete(watch);
  }

  protected override get deaf(): boolean {
    return this.isDeaf;
  }

  protected override async perform<T>({ verb, resource, namespace, name }: KubeCall, act: () => T): Promise<T> {
    this.calls.push({ verb, plural: resource.plural, namespace, name });
    await this.#travel();
    if (this.#isCut) throw new KubeError('unavailable', 'the network is cut');
    const fault = this.#faultFor(verb, resource);
    if (fault === undefined) {
      try {
        return act();
      } finally {
        await this.#travel();
      }
    }
    if (fault.effect === 'after') act();
    if (fault.outcome === 'hang') return new Promise<T>(() => undefined);
    if (fault.outcome === 'timeout') {
      await new Promise<void>((resolve) => void this.cluster.clock.after(deadlineMs, resolve));
      throw new KubeError('unavailable', `${verb} ${resource.plural}: no answer within ${deadlineMs} ms`);
    }
    const retry = fault.retryInMs === undefined ? {} : { retryInMs: fault.retryInMs };
    throw new KubeError(fault.outcome, `${verb} ${resource.plural}: ${fault.outcome}, as arranged`, retry);
  }

  /** Never in the same turn: an answer takes time. */
  #travel(): Promise<void> {
    const ms = this.#latency();
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => void this.cluster.clock.after(ms, resolve));
  }

  #faultFor(verb: Verb, resource: Resource): Fault | undefined {
    for (const arranged of this.#faults) {
      const { fault } = arranged;
      if (
        arranged.left === 0 ||
        (fault.verb ?? verb) !== verb ||
        (fault.plural ?? resource.plural) !== resource.plural
      ) {
        continue;
      }
      if (arranged.skip > 0) {
        arranged.skip -= 1;
        continue;
      }
      arranged.left -= 1;
      return fault;
    }
    return undefined;
  }
}
