import { KubeInMemory, type KubeCall, type Verb } from '../../src/cli/in-memory/kube.ts';
import type { MemoryWatch } from '../../src/cli/in-memory/watch.ts';
import { KubeError, type KubeObject, type KubeReason, type Resource, type WatchEvent } from '../../src/engine/ports.ts';
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

  /** Refuses what the API server refuses by rules of its own, which no definition says. */
  override async create(resource: Resource, namespace: string | undefined, object: unknown): Promise<KubeObject> {
    const flaw = flawOf(resource, object);
    if (flaw === undefined) return super.create(resource, namespace, object);
    await this.#travel();
    throw new KubeError('invalid', flaw);
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

const objectName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;
const qualifiedName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/u;

/** Why the API server would refuse to create an object; undefined where it takes it. */
function flawOf(resource: Resource, object: unknown): string | undefined {
  const { metadata, ...fields } = object as Readonly<Record<string, unknown>> & { metadata?: { name?: string } };
  const name = metadata?.name ?? '';
  if (name.length > 253 || (name !== '' && !objectName.test(name))) return `metadata.name: ${name} is no name`;
  return resource.plural === 'events' ? eventFlaw(fields) : undefined;
}

/** The rules for events of `events.k8s.io/v1`, whose texts are counted in bytes. */
function eventFlaw(fields: Readonly<Record<string, unknown>>): string | undefined {
  const text = (field: string) => (typeof fields[field] === 'string' ? fields[field] : '');
  const isWithin = (field: string, least: number, most: number) => {
    const bytes = Buffer.byteLength(text(field));
    return bytes >= least && bytes <= most;
  };
  const bounds = [
    ['note', 0, 1_024],
    ['reason', 1, 128],
    ['action', 1, 128],
    ['reportingInstance', 1, 128],
    ['eventTime', 1, 64],
  ] as const;
  const outside = bounds.find(([field, least, most]) => !isWithin(field, least, most));
  if (outside !== undefined) return `${outside[0]}: can have ${outside[1]} to ${outside[2]} bytes`;
  if (!qualifiedName.test(text('reportingController'))) return 'reportingController: is no qualified name';
  return ['Normal', 'Warning'].includes(text('type')) ? undefined : 'type: is neither Normal nor Warning';
}
