/**
 * Leader election on a Lease of `coordination.k8s.io/v1`.
 *
 * Guarantees
 * - Leadership is a deadline, never a flag: it is counted from before the write that renewed the lease, and `mayAct` compares
 *   it with the monotonic and with the wall clock (a suspended machine stops the former). A stalled process finds out in the
 *   very tick in which it wakes up.
 * - A candidate takes a lease over only after it has itself seen the lease unchanged for its whole duration; no clock of
 *   another machine is trusted. The deadline (10 s) ends well before that (15 s).
 * - A lease that was released is taken at once. One that vanished, or was emptied by somebody's hand, counts as held for its
 *   duration, and a lease that is missing at the first look is looked for once more, so that a living holder can restore it.
 * - A lease that is older than it was seen before came from a backup of the cluster: `onRewind` is called, and the lease
 *   counts as held. Hardly any restore goes unnoticed, since the lease is written every two seconds: it stays as old as the backup
 *   until somebody takes it over, and we read it sooner than that.
 * - Every acquisition says whether the predecessor released the lease, so that the engine can hold back what must not be done twice.
 *
 * The lease is for liveness; what must not happen twice is fenced by the journal. One window stays open: somebody deletes the
 * lease while its holder is cut off from the API server, and a candidate starts within the following ten seconds.
 */
import type { V1Lease, V1LeaseSpec } from '@kubernetes/client-node';
import { type KubeWire, textOf, type Unchecked } from './client/parse.ts';
import { microTime, type Clock, type Entropy, type Moment, momentOf } from '../base/time.ts';
import { KubeError, type KubeObject, type Leadership, type KubeApi, type Log, type Resource } from '../engine/ports.ts';
import { compareVersions, isRecord } from '../base/json.ts';
import { pause, within } from './unavailable.ts';

/** How long things take for a lease of this length, in the proportions of Kubernetes' own components: 15, 10 and 2 seconds. */
export function leasePaceOf(leaseMs: number) {
  const unit = leaseMs / 15;
  return {
    /** How long others wait for a silent holder. */
    leaseMs,
    /** How long a holder acts without a renewal. */
    renewMs: 10 * unit,
    retryMs: 2 * unit,
    /** How long a lease must be missing before it is created, unless it was seen held. */
    missingMs: 2.6 * unit,
  };
}

type LeasePace = Readonly<ReturnType<typeof leasePaceOf>>;

export interface LeaseOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  /** Our name as people read it; a random part is added, so that no two processes share one. */
  readonly identity: string;
  /** `takeOver`: the predecessor did not release it, and may have died during a call, or not know yet that it lost the lease. */
  readonly onAcquired: (acquisition: { readonly takeOver: boolean }) => void;
  readonly onLost: (why: string) => void;
  /** The cluster was restored from a backup. */
  readonly onRewind?: () => void;
  readonly pace?: Partial<LeasePace>;
}

const longestLeaseMs = 300_000;

/** The lease as it was read last, and since when (monotonic) it has not changed. */
interface Observed {
  readonly version: string | undefined;
  readonly since: number;
  readonly spec: LeaseSpec | undefined;
  /** It came back from a backup, so the holder that it names is out of date. */
  readonly rewound: boolean;
}

export class LeaseElection implements Leadership {
  /** The name of this holder in the lease. */
  readonly identity: string;
  readonly #options: LeaseOptions;
  readonly #pace: LeasePace;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #observed: Observed | undefined;
  #lookedAt = 0;
  /** The newest version of the lease that was seen. */
  #newest: string | undefined;
  /** The newest form of the lease that we wrote. */
  #own: KubeObject | undefined;
  #term: Moment | undefined;
  #leading = false;
  /** The last failure, until a round succeeds. */
  #complaint: string | undefined;
  /** Whether our last write took the lease over from a silent holder; the write may have arrived although its answer did not. */
  #takesOver = false;
  #mayBeOurs = false;
  /** Monotonic time before which we do not act, although we hold the lease. */
  #actFrom = 0;
  #cancelWatchdog: (() => void) | undefined;

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

  /** Stops competing and releases the lease: the last thing that a process does. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#cancelWatchdog?.();
    this.#term = undefined;
    this.#leading = false;
    if (!this.#mayBeOurs) return;
    try {
      const held = this.#own ?? (await this.#read());
      const spec = held === undefined ? undefined : leaseSpecOf(held);
      if (spec?.holder !== this.identity) return;
      await this.#write(held, { ...spec, holder: '', durationSeconds: releasedSeconds });
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
        // The last write may or may not have arrived: read before writing again, soon if our term ends or somebody was
        // first.
        this.#own = undefined;
        const raced = error instanceof KubeError && (error.reason === 'conflict' || error.reason === 'exists');
        if (raced || this.#leading) waitMs /= 10;
        if (!this.#stop.signal.aborted) this.#complain(messageOf(error));
      }
      this.#settle();
      await pause(clock, waitMs + (this.#pace.retryMs * entropy.fraction()) / 5, this.#stop.signal);
    }
  }

  /** Logs a failure once, and not every few seconds for as long as it lasts. */
  #complain(why: string | undefined): void {
    if (why !== undefined && why !== this.#complaint)
      this.#options.log.info({ leading: this.#leading }, `the lease: ${why}`);
    this.#complaint = why;
  }

  /** Reads the lease, and writes it if we hold it or may take it; returns in how many milliseconds to do so again. */
  async #round(): Promise<number> {
    const { clock } = this.#options;
    const begun = momentOf(clock);
    const inTerm = this.#leading && this.mayAct() === undefined;
    if (inTerm && this.#own !== undefined && (await this.#renew(this.#own))) return this.#win(begun, false);
    const live = await this.#read(this.#stop.signal);
    const spec = live === undefined ? undefined : leaseSpecOf(live);
    const seen = this.#observe(live, spec);
    const ours = spec?.holder === this.identity && (inTerm || !seen.rewound);
    // Somebody deleted or emptied it while our term lasts. The other candidates wait, so we restore it.
    if (ours || (inTerm && (spec === undefined || spec.holder === ''))) {
      this.#own = await this.#write(live, this.#specAs(spec));
      return this.#win(begun, this.#takesOver);
    }
    this.#lose('another process holds the lease');
    const claim = this.#claimOn(seen, spec);
    if (claim.inMs > 0) return claim.inMs;
    this.#takesOver = claim.takeOver;
    this.#mayBeOurs = true;
    // Another holder may have restored it and lost it again since we last read it; from this write on none can.
    const vanished = spec === undefined && claim.takeOver;
    this.#actFrom = vanished ? clock.monotonic() + this.#patienceMs() + this.#pace.leaseMs : begun.monotonic;
    this.#own = await this.#write(live, this.#specAs(spec));
    return this.#win(begun, claim.takeOver);
  }

  #read(signal?: AbortSignal): Promise<KubeObject | undefined> {
    const { api, clock, namespace, name } = this.#options;
    const read = api.get(leaseResource, namespace, name);
    return within(clock, this.#patienceMs(), read, 'reading the lease', signal);
  }

  /** Renews the lease; false when somebody else has written it. */
  async #renew(own: KubeObject): Promise<boolean> {
    try {
      this.#own = await this.#write(own, this.#specAs(leaseSpecOf(own)));
      return true;
    } catch (error) {
      this.#own = undefined;
      if (error instanceof KubeError && (error.reason === 'conflict' || error.reason === 'notFound')) return false;
      throw error;
    }
  }

  /** Remembers the lease as it was read, and since when it has been like that. */
  #observe(live: KubeObject | undefined, spec: LeaseSpec | undefined): Observed {
    const version = live?.metadata.resourceVersion;
    const now = this.#options.clock.monotonic();
    // When a long time passed between two reads, a missing lease may have existed in between.
    const unwatched = version === undefined && now - this.#lookedAt > this.#pace.retryMs * 2;
    this.#lookedAt = now;
    const rewound = this.#wentBack(live);
    if (this.#observed === undefined || this.#observed.version !== version || unwatched) {
      // A lease that is deleted, or that a backup brings back, is remembered with its last holder.
      const last = rewound ? this.#observed?.spec : undefined;
      this.#observed = { version, since: now, spec: last ?? spec ?? this.#observed?.spec, rewound };
    }
    return this.#observed;
  }

  /** True when the lease is older than it was before, as only a restored backup makes it. */
  #wentBack(live: KubeObject | undefined): boolean {
    if (live === undefined) return false;
    const { resourceVersion } = live.metadata;
    const newest = this.#newest;
    this.#newest = resourceVersion;
    // A lease that was deleted and created again has a newer version as well.
    if (newest === undefined || compareVersions(resourceVersion, newest) >= 0) return false;
    this.#options.log.warn({ seen: newest, now: resourceVersion }, 'the cluster was restored from an older state');
    this.#isolate(() => this.#options.onRewind?.());
    return true;
  }

  /** In how many milliseconds we may take the lease if it does not change, and whether its holder will not have released it. */
  #claimOn(seen: Observed, spec: LeaseSpec | undefined): { readonly inMs: number; readonly takeOver: boolean } {
    if (spec !== undefined && isReleased(spec) && !seen.rewound) return { inMs: 0, takeOver: false };
    const restedMs = this.#options.clock.monotonic() - seen.since;
    if (seen.spec === undefined || isReleased(seen.spec)) {
      return { inMs: this.#pace.missingMs - restedMs, takeOver: false };
    }
    const durationMs = Math.max(this.#pace.leaseMs, Math.min(longestLeaseMs, seen.spec.durationSeconds * 1000));
    return { inMs: durationMs - restedMs, takeOver: true };
  }

  #specAs(old: LeaseSpec | undefined): LeaseSpec {
    const now = microTime(this.#options.clock.wall());
    const same = old?.holder === this.identity;
    return {
      holder: this.identity,
      durationSeconds: Math.ceil(this.#pace.leaseMs / 1000),
      acquireTime: same ? old.acquireTime : now,
      renewTime: now,
      transitions: (old?.transitions ?? 0) + (old === undefined || same ? 0 : 1),
    };
  }

  #write(over: KubeObject | undefined, spec: LeaseSpec): Promise<KubeObject> {
    const { api, clock, namespace, name } = this.#options;
    const body: KubeWire<V1Lease> = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name,
        namespace,
        ...(over !== undefined && { uid: over.metadata.uid, resourceVersion: over.metadata.resourceVersion }),
      },
      spec: {
        ...(spec.holder !== '' && { holderIdentity: spec.holder }),
        leaseDurationSeconds: spec.durationSeconds,
        acquireTime: spec.acquireTime ?? spec.renewTime,
        renewTime: spec.renewTime,
        leaseTransitions: spec.transitions,
      },
    };
    const sent =
      over === undefined
        ? api.create(leaseResource, namespace, body)
        : api.replace(leaseResource, namespace, name, body);
    return within(clock, this.#patienceMs(), sent, 'writing the lease');
  }

  /** Our write arrived: the term counts from before it was sent. Returns in how many milliseconds to renew. */
  #win(begun: Moment, takeOver: boolean): number {
    const { clock, log } = this.#options;
    if (this.#own !== undefined) this.#observe(this.#own, leaseSpecOf(this.#own));
    if (this.#stop.signal.aborted) return 0;
    if (clock.monotonic() < this.#actFrom) return this.#pace.retryMs;
    this.#term = begun;
    this.#cancelWatchdog?.();
    const leftMs = begun.monotonic + this.#pace.renewMs - clock.monotonic();
    this.#cancelWatchdog = clock.after(Math.max(0, leftMs), () => this.#settle());
    if (!this.#leading && this.mayAct() === undefined) {
      this.#leading = true;
      log.info({ identity: this.identity, takeOver }, 'this process leads');
      this.#isolate(() => this.#options.onAcquired({ takeOver }));
    }
    return this.#pace.retryMs;
  }

  /** Reports the loss of the lease as soon as the term has ended. */
  #settle(): void {
    const why = this.mayAct();
    if (why !== undefined) this.#lose(why);
  }

  #lose(why: string): void {
    this.#term = undefined;
    this.#own = undefined;
    if (!this.#leading) return;
    this.#leading = false;
    this.#options.log.warn({ identity: this.identity }, `this process no longer leads: ${why}`);
    this.#isolate(() => this.#options.onLost(why));
  }

  /** The deadline of one request: short enough for a second attempt within the term. */
  #patienceMs(): number {
    return Math.min(this.#pace.renewMs / 2, Math.max(1_000, this.#pace.retryMs * 2));
  }

  #isolate(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ err: error }, 'bug: a listener of the lease threw');
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

/** A released lease has no holder and this duration, as Kubernetes' own components write it. */
const releasedSeconds = 1;

/** A Lease as the election reads and writes it. */
interface LeaseSpec {
  /** Empty when nobody holds it. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  readonly transitions: number;
}

/** Reads the spec of a Lease; values that somebody wrote by hand are brought into bounds. */
export function leaseSpecOf(lease: KubeObject): LeaseSpec {
  const spec: Unchecked<V1LeaseSpec> = isRecord(lease.spec) ? lease.spec : {};
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  return {
    holder: textOf(spec, 'holderIdentity') ?? '',
    durationSeconds: typeof seconds === 'number' && seconds > 0 ? seconds : 0,
    acquireTime: textOf(spec, 'acquireTime'),
    renewTime: textOf(spec, 'renewTime'),
    transitions: typeof transitions === 'number' && transitions >= 0 ? transitions : 0,
  };
}

/** True when nobody holds the lease: the last holder released it, or there never was one. */
function isReleased(spec: LeaseSpec): boolean {
  return spec.holder === '' && (spec.durationSeconds === releasedSeconds || spec.renewTime === undefined);
}
