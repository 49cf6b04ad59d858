/**
 * Leader election on a Lease of `coordination.k8s.io/v1`.
 *
 * Guarantees
 * - A process leads only until a deadline, and then stops by itself. The deadline is counted from before the write that
 *   last renewed the lease. `mayAct` compares the deadline with the monotonic clock and the wall clock, since the
 *   monotonic clock stops while the machine is suspended. A process that stalled notices that it lost the lease in the
 *   same tick in which it wakes up.
 * - A candidate takes a lease over only after it has seen the lease unchanged for 15 s, the whole duration of the
 *   lease. The candidate measures this time with its own clock, and ignores the renewal time in the lease. The holder
 *   stops acting well before that, after 10 s without a renewal.
 * - A released lease can be taken at once. If the lease was deleted, or somebody removed its holder by hand, candidates
 *   wait for the duration of the lease, as if the holder still had it. If a candidate has never seen a lease, it waits
 *   2.6 s before it creates one, so that a holder that is still alive can first restore its own.
 * - A lease that is older than at the last read came from a backup of the cluster: `onRewind` is called, and candidates
 *   treat the lease as still held. Nearly every restore is noticed: the lease is written every two seconds, so a
 *   restored lease is older than the last one that was read, and a process always reads the lease before it takes the
 *   lease over.
 * - `onAcquired` says whether the previous holder released the lease. If not, the engine can delay calls that must not
 *   be made twice.
 *
 * The lease does not guarantee that only one process leads. The journal in the status of each object, not the lease,
 * prevents a call to the service from being made twice. Two processes can lead at the same time in one case: somebody
 * deletes the lease while its holder cannot reach the API server, and a candidate starts within the following ten
 * seconds.
 */
import type { V1Lease } from '@kubernetes/client-node';
import { z } from 'zod';
import { answerInTime } from './client/failure.ts';
import type { KubeWire } from './client/parse.ts';
import { microTime, type Moment, momentOf, pause } from '../base/time.ts';
import { KubeError, type KubeObject, type Leadership, type Resource } from '../engine/ports.ts';
import type { KubeMeans } from './means.ts';
import { isOlderVersion, isRecord } from '../base/json.ts';
import { messageOf } from '../base/text.ts';

/**
 * Returns the time limits of a lease with this duration. They have the same proportions as in Kubernetes' own components: a
 * lease of 15 seconds must be renewed within 10 seconds, and a process tries to do so every 2 seconds.
 */
export function leasePaceOf(leaseMs: number) {
  const unit = leaseMs / 15;
  return {
    /** The time that candidates wait before they take over from a holder that no longer renews the lease. */
    leaseMs,
    /** The time for which the holder of a lease may act after it last renewed the lease. */
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

/** The lease as it was last read. `since` is the monotonic time since which the lease has not changed. */
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
  /** True once this process has tried to write the lease: from then on it may hold the lease. */
  #mayBeOurs = false;
  /** The lease as this process last wrote it. Undefined before the first write and after a write that failed. */
  #own: KubeObject | undefined;
  /**
   * The start of the round in which this process became the leader or last renewed the lease: a time before the write, and
   * before the read of the lease if there was one. Undefined while another process may lead.
   */
  #term: Moment | undefined;
  /** The message of the last failure to read or write the lease; undefined after an attempt without a failure. */
  #complaint: string | undefined;
  /**
   * True if the last holder had not released the lease when this process last tried to take it. The value is kept
   * because the response to the write may be lost. A later read then shows that this process has the lease, but not
   * whether the last holder had released it.
   */
  #takesOver = false;
  /**
   * The monotonic time before which this process must not act as the leader, although it holds the lease: an earlier holder may
   * still act until then.
   */
  #actFrom = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#pace = { ...leasePaceOf(15_000), ...options.pace };
    this.identity = `${options.identity}_${options.entropy.uuid()}`;
  }

  mayAct(): string | undefined {
    if (this.#term === undefined) return 'this process is not the leader';
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

  /**
   * Stops competing for the lease, and releases it if this process holds it. Called shortly before the process exits.
   */
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
        // A failed write may have been carried out all the same, so read the lease before the next write. Read it
        // sooner than usual if this process leads, or if another process wrote the lease first.
        this.#own = undefined;
        const raced = error instanceof KubeError && (error.reason === 'conflict' || error.reason === 'exists');
        if (raced || this.#term !== undefined) waitMs /= 10;
        if (!this.#stop.signal.aborted) this.#complain(messageOf(error));
      }
      this.#loseIfLate();
      await pause(clock, waitMs + (this.#pace.retryMs * entropy.fraction()) / 5, this.#stop.signal);
    }
  }

  /** Logs a failure once, instead of every few seconds while it lasts. */
  #complain(why: string | undefined): void {
    if (why !== undefined && why !== this.#complaint)
      this.#options.log.info({ leading: this.#term !== undefined }, `the lease: ${why}`);
    this.#complaint = why;
  }

  /**
   * Renews the lease if this process holds it. Otherwise reads the lease, and takes it if it was released or its holder has not
   * renewed it for too long. Returns after how many milliseconds to call this function again.
   */
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
    // If somebody deletes the lease or removes its holder while this process leads, write the lease again. Other
    // processes do not take the lease at once: they first wait for the duration of the lease.
    if (ours || (inTerm && spec?.holderIdentity === undefined)) {
      this.#own = await this.#write(live, this.#specAs(spec));
      return this.#win(begun, this.#takesOver);
    }
    this.#lose('this process no longer holds the lease');
    const claim = this.#claimOn(seen, spec);
    if (claim.inMs > 0) return claim.inMs;
    this.#takesOver = claim.takeOver;
    // While the lease was missing, another process may have created it, become the leader and lost the lease again, all between
    // two reads of this process. That process may still act as the leader, but cannot renew the lease once this process has
    // written it. So wait until its time as the leader has surely ended.
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

  /** Remembers the lease that was just read, and the time since which this process has seen the lease unchanged. */
  #observe(live: KubeObject | undefined, spec: LeaseSpec | undefined): Observed {
    const version = live?.metadata.resourceVersion;
    const now = this.#options.clock.monotonic();
    // If the lease is missing and the last read was long ago, count the lease as missing only from now on: it may have
    // existed between the two reads.
    const unwatched = version === undefined && now - this.#lookedAt > this.#pace.retryMs * 2;
    this.#lookedAt = now;
    const rewound = this.#wentBack(live);
    if (this.#observed === undefined || this.#observed.version !== version || unwatched) {
      // If the lease is missing or was restored from a backup, keep the holder that was known before.
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
    // A lease that was deleted and created again has a newer resourceVersion than before. An older resourceVersion
    // means that the cluster was restored from a backup.
    if (newest === undefined || !isOlderVersion(resourceVersion, newest)) return false;
    this.#options.log.warn({ seen: newest, now: resourceVersion }, 'the cluster was restored from a backup');
    this.#isolate(() => this.#options.onRewind?.());
    return true;
  }

  /**
   * Returns when this process may take the lease: after `inMs` milliseconds if the lease does not change until then, or at once
   * if `inMs` is zero or less. `takeOver` is true if the holder has not released the lease.
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

  #patiently<Answer>(what: string, request: Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    return answerInTime(this.#options.clock, this.#patienceMs(), { what, request, signal });
  }

  /**
   * Makes this process the leader, or keeps it the leader, after it has written the lease. The time for which it may lead is
   * counted from `begun`, the start of the round. Returns after how many milliseconds to renew the lease.
   */
  #win(begun: Moment, takeOver: boolean): number {
    const { clock, log } = this.#options;
    if (this.#own !== undefined) this.#observe(this.#own, leaseSpecOf(this.#own));
    if (this.#stop.signal.aborted) return 0;
    if (clock.monotonic() < this.#actFrom) return this.#pace.retryMs;
    const isNews = this.#term === undefined;
    this.#term = begun;
    if (isNews && this.mayAct() !== undefined) {
      // By one of the clocks, at least `renewMs` has passed since `begun`: the process stalled, the machine slept, or a clock
      // was set forward. So this process must not act as the leader yet. Renew the lease before reporting that it leads.
      this.#term = undefined;
    } else if (isNews) {
      log.info({ identity: this.identity, takeOver }, 'this process leads');
      this.#isolate(() => this.#options.onAcquired({ takeOver }));
    }
    return this.#pace.retryMs;
  }

  /** Reports that this process no longer leads, if its deadline for renewing the lease has passed. */
  #loseIfLate(): void {
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

  /**
   * Returns the deadline of one request to read or write the lease. It is short enough for a second attempt before this process
   * loses the lease.
   */
  #patienceMs(): number {
    return Math.min(this.#pace.renewMs / 2, Math.max(1_000, this.#pace.retryMs * 2));
  }

  #isolate(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ err: error }, 'bug: a listener of the leader election failed');
    }
  }
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

/** True when the last holder released the lease. */
function isReleased({ holderIdentity, leaseDurationSeconds }: LeaseSpec): boolean {
  return holderIdentity === undefined && leaseDurationSeconds === releasedSeconds;
}
