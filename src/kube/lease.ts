/**
 * Leader election on a Lease of `coordination.k8s.io/v1`.
 *
 * Guarantees
 * - Leadership is a deadline, never a flag. The deadline counts from before the write that renewed the lease. `mayAct` compares
 *   the deadline with the monotonic clock and the wall clock, since the monotonic clock stops while the machine is suspended. A
 *   process that stalled notices a lost lease in the same tick in which it wakes up.
 * - A candidate takes a lease over only after it has seen the lease unchanged for the whole duration of the lease (15 s). The
 *   candidate trusts no clock of another machine. The holder stops acting after 10 s without a renewal, well before that.
 * - A released lease is taken at once. A lease that was deleted, or emptied by hand, counts as held for its duration. A lease that
 *   is missing at the first look is looked for once more, so that a living holder can restore it.
 * - A lease that is older than before came from a backup of the cluster: `onRewind` is called, and the lease counts as held.
 *   Nearly every restore is noticed. The lease is written every two seconds, so a restored lease is older. The restored lease
 *   stays older until a process takes it over, and this process reads the lease before that.
 * - `onAcquired` says whether the previous holder released the lease, so that the engine can delay what must not happen twice.
 *
 * The lease only makes sure that some process works. The journal in the status of each object prevents that a call to the
 * service is made twice. Two leaders are possible in one case: somebody deletes the lease while its holder is cut off from the
 * API server, and a candidate starts within the following ten seconds.
 */
import type { V1Lease } from '@kubernetes/client-node';
import { z } from 'zod';
import type { KubeWire } from './client/parse.ts';
import { microTime, inTime, type Moment, momentOf, pause } from '../base/time.ts';
import { KubeError, type KubeObject, type Leadership, type Resource } from '../engine/ports.ts';
import type { KubeMeans } from './means.ts';
import { isOlderVersion, isRecord } from '../base/json.ts';

/**
 * Returns the times of a lease with this duration, in the proportions of Kubernetes' own components: for a lease of 15 seconds,
 * renewal within 10 seconds and attempts every 2 seconds.
 */
export function leasePaceOf(leaseMs: number) {
  const unit = leaseMs / 15;
  return {
    /** The time that candidates wait before they take over from a holder that no longer renews the lease. */
    leaseMs,
    /** The time for which a holder may act after its last renewal. */
    renewMs: 10 * unit,
    retryMs: 2 * unit,
    /** The time for which a lease must be missing before a candidate that never saw a holder creates the lease. */
    missingMs: 2.6 * unit,
  };
}

type LeasePace = Readonly<ReturnType<typeof leasePaceOf>>;

export interface LeaseOptions extends KubeMeans {
  readonly namespace: string;
  readonly name: string;
  /** A name by which people recognise this process. A random part is added, so that no two processes have the same name. */
  readonly identity: string;
  /**
   * Called when this process becomes the leader. `takeOver` is true if the previous holder did not release the lease: that
   * process may have died during a call, or may not know yet that it lost the lease.
   */
  readonly onAcquired: (acquisition: { readonly takeOver: boolean }) => void;
  readonly onLost: (why: string) => void;
  /** Called when the lease shows that the cluster was restored from a backup. */
  readonly onRewind?: () => void;
  readonly pace?: Partial<LeasePace>;
}

/** The lease as it was last read, and the monotonic time since which it has not changed. */
interface Observed {
  readonly version: string | undefined;
  readonly since: number;
  readonly spec: LeaseSpec | undefined;
  /** True if the lease was restored from a backup, so that its `holderIdentity` is out of date. */
  readonly rewound: boolean;
}

export class LeaseElection implements Leadership {
  /** The name of this process in the lease. */
  readonly identity: string;
  readonly #options: LeaseOptions;
  readonly #pace: LeasePace;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #observed: Observed | undefined;
  #lookedAt = 0;
  /** The resourceVersion of the lease when it was last read. */
  #newest: string | undefined;
  /** True once this process has tried to write the lease. */
  #mayBeOurs = false;
  /** The lease as this process last wrote it; undefined before the first write and after a failure. */
  #own: KubeObject | undefined;
  /**
   * The moment before the write with which this process became the leader or last renewed the lease; undefined while another
   * process may lead.
   */
  #term: Moment | undefined;
  /** The message of the last failure; undefined after an attempt without a failure. */
  #complaint: string | undefined;
  /**
   * True if this process last tried to take the lease from a holder that had not released it. Kept because the answer to that
   * write may be lost.
   */
  #takesOver = false;
  /** Monotonic time before which this process does not act as the leader, although it holds the lease. */
  #actFrom = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#pace = { ...leasePaceOf(15_000), ...options.pace };
    this.identity = `${options.identity}_${options.entropy.uuid()}`;
  }

  mayAct(): string | undefined {
    if (this.#term === undefined) return 'another process holds the lease';
    const { clock } = this.#options;
    const inTime =
      clock.monotonic() - this.#term.monotonic < this.#pace.renewMs &&
      clock.wall() - this.#term.wall < this.#pace.renewMs;
    return inTime ? undefined : 'the lease was not renewed in time';
  }

  /** Starts to compete for the lease; called once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Stops competing for the lease and releases it. A process calls this last, before it exits. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#term = undefined;
    if (!this.#mayBeOurs) return;
    try {
      const held = this.#own ?? (await this.#read());
      const spec = held === undefined ? undefined : leaseSpecOf(held);
      if (spec?.holderIdentity !== this.identity) return;
      await this.#write(held, { ...spec, holderIdentity: undefined, leaseDurationSeconds: releasedSeconds });
    } catch (error) {
      this.#options.log.info({}, `the lease could not be released: ${messageOf(error)}`);
    }
  }

  async #run(): Promise<void> {
    const { clock, entropy } = this.#options;
    while (!this.#stop.signal.aborted) {
      let waitMs = this.#pace.retryMs;
      try {
        waitMs = Math.min(waitMs, await this.#round());
        this.#complain(undefined);
      } catch (error) {
        // Read the lease before writing again, because the last write may or may not have arrived. Do so soon if this process
        // leads, or if another process wrote the lease first.
        this.#own = undefined;
        const raced = error instanceof KubeError && (error.reason === 'conflict' || error.reason === 'exists');
        if (raced || this.#term !== undefined) waitMs /= 10;
        if (!this.#stop.signal.aborted) this.#complain(messageOf(error));
      }
      this.#settle();
      await pause(clock, waitMs + (this.#pace.retryMs * entropy.fraction()) / 5, this.#stop.signal);
    }
  }

  /** Logs a failure once, instead of every few seconds while it lasts. */
  #complain(why: string | undefined): void {
    if (why !== undefined && why !== this.#complaint)
      this.#options.log.info({ leading: this.#term !== undefined }, `the lease: ${why}`);
    this.#complaint = why;
  }

  /** Renews the lease, or reads the lease and takes it if that is allowed. Returns in how many milliseconds to call this again. */
  async #round(): Promise<number> {
    const { clock } = this.#options;
    const begun = momentOf(clock);
    const inTerm = this.mayAct() === undefined;
    if (inTerm && this.#own !== undefined) {
      this.#own = await this.#write(this.#own, this.#specAs(leaseSpecOf(this.#own)));
      return this.#win(begun, false);
    }
    const live = await this.#read(this.#stop.signal);
    const spec = live === undefined ? undefined : leaseSpecOf(live);
    const seen = this.#observe(live, spec);
    const ours = spec?.holderIdentity === this.identity && (inTerm || !seen.rewound);
    // If somebody deletes or empties the lease while this process leads, write the lease again: the other candidates still
    // wait.
    if (ours || (inTerm && spec?.holderIdentity === undefined)) {
      this.#own = await this.#write(live, this.#specAs(spec));
      return this.#win(begun, this.#takesOver);
    }
    this.#lose('another process holds the lease');
    const claim = this.#claimOn(seen, spec);
    if (claim.inMs > 0) return claim.inMs;
    this.#takesOver = claim.takeOver;
    // Another holder may have restored the missing lease since our last read, and may still act. This write takes the lease
    // from that holder, so wait until the holder's deadline has surely passed.
    const vanished = spec === undefined && claim.takeOver;
    this.#actFrom = vanished ? clock.monotonic() + this.#patienceMs() + this.#pace.leaseMs : begun.monotonic;
    this.#own = await this.#write(live, this.#specAs(spec));
    return this.#win(begun, claim.takeOver);
  }

  #read(signal?: AbortSignal): Promise<KubeObject | undefined> {
    const { api, namespace, name } = this.#options;
    const read = api.get(leaseResource, namespace, name);
    return this.#patiently('reading the lease', read, signal);
  }

  /** Records the lease as it was just read, and since when it has not changed. */
  #observe(live: KubeObject | undefined, spec: LeaseSpec | undefined): Observed {
    const version = live?.metadata.resourceVersion;
    const now = this.#options.clock.monotonic();
    // After a long time between two reads, the missing lease may have existed in between. So count anew for how long the lease
    // has been missing.
    const unwatched = version === undefined && now - this.#lookedAt > this.#pace.retryMs * 2;
    this.#lookedAt = now;
    const rewound = this.#wentBack(live);
    if (this.#observed === undefined || this.#observed.version !== version || unwatched) {
      // If the lease was deleted or restored from a backup, keep the last known holder.
      const last = rewound ? this.#observed?.spec : undefined;
      this.#observed = { version, since: now, spec: last ?? spec ?? this.#observed?.spec, rewound };
    }
    return this.#observed;
  }

  /** True when the lease is older than at the last read, which happens only when the cluster was restored from a backup. */
  #wentBack(live: KubeObject | undefined): boolean {
    if (live === undefined) return false;
    const { resourceVersion } = live.metadata;
    const newest = this.#newest;
    this.#newest = resourceVersion;
    // A lease that was deleted and created again has a newer resourceVersion too, so only a restore makes it older.
    if (newest === undefined || !isOlderVersion(resourceVersion, newest)) return false;
    this.#options.log.warn({ seen: newest, now: resourceVersion }, 'the cluster was restored from a backup');
    this.#isolate(() => this.#options.onRewind?.());
    return true;
  }

  /**
   * Returns after how long this process may take the lease if the lease does not change. `takeOver` is true if the holder has
   * not released the lease.
   */
  #claimOn(seen: Observed, spec: LeaseSpec | undefined): { readonly inMs: number; readonly takeOver: boolean } {
    if (spec !== undefined && isReleased(spec) && !seen.rewound) return { inMs: 0, takeOver: false };
    const restedMs = this.#options.clock.monotonic() - seen.since;
    if (seen.spec === undefined || isReleased(seen.spec)) {
      return { inMs: this.#pace.missingMs - restedMs, takeOver: false };
    }
    const durationMs = Math.max(this.#pace.leaseMs, seen.spec.leaseDurationSeconds * 1000);
    return { inMs: durationMs - restedMs, takeOver: true };
  }

  #specAs(old: LeaseSpec | undefined): LeaseSpec {
    const now = microTime(this.#options.clock.wall());
    const same = old?.holderIdentity === this.identity;
    return {
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.ceil(this.#pace.leaseMs / 1000),
      acquireTime: (same ? old.acquireTime : undefined) ?? now,
      renewTime: now,
      leaseTransitions: (old?.leaseTransitions ?? 0) + (old === undefined || same ? 0 : 1),
    };
  }

  #write(over: KubeObject | undefined, spec: LeaseSpec): Promise<KubeObject> {
    const { api, namespace, name } = this.#options;
    const body: KubeWire<V1Lease> = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name,
        namespace,
        ...(over !== undefined && { uid: over.metadata.uid, resourceVersion: over.metadata.resourceVersion }),
      },
      spec,
    };
    this.#mayBeOurs = true;
    const sent =
      over === undefined
        ? api.create(leaseResource, namespace, body)
        : api.replace(leaseResource, namespace, name, body);
    return this.#patiently('writing the lease', sent);
  }

  async #patiently<Answer>(what: string, request: Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    const patienceMs = this.#patienceMs();
    const answer = await inTime(this.#options.clock, patienceMs, request, signal);
    if (answer === undefined)
      throw new KubeError('unavailable', `${what}: no answer of the API server within ${patienceMs} ms`);
    return answer.value;
  }

  /**
   * Begins or extends the leadership of this process after a successful write. The deadline counts from before the write.
   * Returns in how many milliseconds to renew the lease.
   */
  #win(begun: Moment, takeOver: boolean): number {
    const { clock, log } = this.#options;
    if (this.#own !== undefined) this.#observe(this.#own, leaseSpecOf(this.#own));
    if (this.#stop.signal.aborted) return 0;
    if (clock.monotonic() < this.#actFrom) return this.#pace.retryMs;
    const isNews = this.#term === undefined;
    this.#term = begun;
    if (isNews && this.mayAct() !== undefined) {
      // A clock jumped during the write, so renew the lease before reporting that this process leads.
      this.#term = undefined;
    } else if (isNews) {
      log.info({ identity: this.identity, takeOver }, 'this process leads');
      this.#isolate(() => this.#options.onAcquired({ takeOver }));
    }
    return this.#pace.retryMs;
  }

  /** Reports the lease as lost if the deadline of this process has passed. */
  #settle(): void {
    const why = this.mayAct();
    if (why !== undefined) this.#lose(why);
  }

  #lose(why: string): void {
    this.#own = undefined;
    if (this.#term === undefined) return;
    this.#term = undefined;
    this.#options.log.warn({ identity: this.identity }, `this process no longer leads: ${why}`);
    this.#isolate(() => this.#options.onLost(why));
  }

  /** Returns the deadline of one request, which leaves time for a second attempt before this process loses the lease. */
  #patienceMs(): number {
    return Math.min(this.#pace.renewMs / 2, Math.max(1_000, this.#pace.retryMs * 2));
  }

  #isolate(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ err: error }, 'bug: a leader listener failed');
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown failure';
}

export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespaced: true,
};

/** The duration that is written into a released lease. Kubernetes' own components write the same. */
const releasedSeconds = 1;

const text = z.string().min(1).optional().catch(undefined);

/** The spec of a Lease. A field with an invalid value, which somebody may have written by hand, counts as missing. */
const LeaseSpec = z.object({
  /** The name of the holder; undefined when nobody holds the lease. */
  holderIdentity: text,
  leaseDurationSeconds: z.number().positive().catch(0),
  acquireTime: text,
  renewTime: text,
  leaseTransitions: z.number().nonnegative().catch(0),
});
type LeaseSpec = z.output<typeof LeaseSpec>;

/** Parses the spec of a Lease. */
export function leaseSpecOf({ spec }: KubeObject): LeaseSpec {
  return LeaseSpec.parse(isRecord(spec) ? spec : {});
}

/** True when the last holder released the lease, or nobody ever held the lease. */
function isReleased({ holderIdentity, leaseDurationSeconds, renewTime }: LeaseSpec): boolean {
  return holderIdentity === undefined && (leaseDurationSeconds === releasedSeconds || renewTime === undefined);
}
