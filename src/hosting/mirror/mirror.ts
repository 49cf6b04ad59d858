/**
 * Keeps a copy of lists of the service: polls each list that a Kubernetes object needs, and keeps the newest complete list as a
 * snapshot.
 *
 * When several objects ask for a fresh list, the list is read once for all of them. The account sets the poll interval. The
 * interval is a few seconds while something changes in the service, and longer when polling would use more than half of the
 * request budget. If a read fails, it is repeated after pauses that grow, and the old snapshot stays.
 *
 * While the service asks for a pause, no list is read. While the service refuses the token, only a single request is sent from
 * time to time, to test the token.
 *
 * If a read begins in the same tick in which a write ends, its snapshot counts as older than the write: it might not
 * show the write.
 */
import { type Clock, type Entropy, growingMs, jittered } from '../../base/time.ts';
import type { Log, Metrics, Read, ReadProblem, Request, Snapshot } from '../../engine/ports.ts';
import type { Credential, Passage } from '../credential.ts';
import type { Seen } from '../wire/transport.ts';
import { failedList, type FailedList, fullList, type Listed, nothing, PolledList } from './polled-list.ts';

const idleMs = 600_000;
const longestTimerMs = 86_400_000;
const groupMs = 250;

/** The settings and parts that a `Mirror`, the copy of the service's lists, is built from. */
export interface MirrorOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly credential: Credential;
  readonly ask: (request: Request, passage: Passage) => Promise<Seen>;
  readonly pollMs: number;
  readonly onList: (key: string, changed: ReadonlySet<string>, problem: ReadProblem | undefined) => void;
}

const none: ReadonlySet<string> = new Set();

/** Keeps a snapshot of each list that the operator reads for one account. */
export class Mirror {
  readonly #around: MirrorOptions;
  readonly #lists = new Map<string, PolledList>();
  readonly #leaveCredential: readonly (() => void)[];
  readonly #schedule: Schedule;
  #closed = false;

  constructor(around: MirrorOptions) {
    this.#around = around;
    this.#schedule = new Schedule(around);
    const { credential } = around;
    this.#leaveCredential = [
      credential.onChange(() => this.#tokenChanged()),
      credential.onThrottled(() => this.#throttled()),
    ];
  }

  /** Returns the list from the newest read that was complete; undefined before the first complete read. */
  snapshot<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    const polled = this.#lists.get(read.key);
    if (polled !== undefined) polled.usedAt = Math.max(polled.usedAt, this.#now());
    // The cast is safe: all reads with the same key are built by the same function, so their items have the same type.
    return polled?.snapshot as Snapshot<Item> | undefined;
  }

  /**
   * Returns why there is no newer snapshot of a list; undefined if nothing has prevented one. During a long pause, a
   * `throttled` problem gets the current time, because a read would fail in the same way now.
   */
  problem(read: Pick<Read, 'key'>): ReadProblem | undefined {
    const problem = this.#lists.get(read.key)?.problem;
    const lasts = problem?.why === 'throttled' && this.#around.credential.budget.refusesNow();
    return lasts ? { ...problem, at: this.#now() } : problem;
  }

  /**
   * Asks for a read of a list; the read must begin after `since`. If several objects ask for the same list, the read
   * gets the greatest of their urgencies.
   */
  want(read: Read, since: number, urgency: 'edit' | 'wait'): void {
    if (this.#closed) return;
    const polled = this.#polled(read);
    polled.want(since, urgency, this.#now());
    this.#arm(polled);
  }

  /** Polls a list of the service until the returned function is called. */
  follow(read: Read): () => void {
    if (this.#closed) return nothing;
    const polled = this.#polled(read);
    polled.followers += 1;
    this.#schedule.join(polled);
    this.#arm(polled);
    let following = true;
    return () => {
      if (!following) return;
      following = false;
      polled.followers -= 1;
      if (polled.followers === 0) this.#schedule.leave(polled);
      polled.usedAt = this.#now();
      this.#arm(polled);
    };
  }

  /** Gives access to the poll intervals of this account, and to the number of requests that its polls need. */
  get schedule(): Pick<Schedule, 'pollIntervalMs' | 'forecastPerHour' | 'rateLimitedMs'> {
    return this.#schedule;
  }

  /** Returns, for each collection of polled lists such as `alerts`, the age of its oldest snapshot, in ms. */
  ages(): ReadonlyMap<string, number> {
    const oldest = new Map<string, number>();
    for (const polled of this.#lists.values()) {
      if (!polled.isPolled || polled.snapshot === undefined) continue;
      const collection = collectionOf(polled.read.key);
      oldest.set(collection, Math.max(oldest.get(collection) ?? 0, this.#now() - polled.snapshot.begunAt));
    }
    return oldest;
  }

  /** Ends polling. The results of lists that are still being read are ignored. */
  close(): void {
    this.#closed = true;
    for (const leave of this.#leaveCredential) leave();
    for (const polled of this.#lists.values()) this.#forget(polled);
  }

  #now(): number {
    return this.#around.clock.monotonic();
  }

  #polled(read: Read): PolledList {
    const known = this.#lists.get(read.key);
    if (known !== undefined) {
      if (known.read.rateLimitedMs !== read.rateLimitedMs) this.#schedule.change(known, read);
      return known;
    }
    const polled = new PolledList(read);
    this.#lists.set(read.key, polled);
    return polled;
  }

  #forget(polled: PolledList): void {
    this.#schedule.leave(polled);
    polled.cancelTimer();
    this.#lists.delete(polled.read.key);
  }

  /**
   * Reads a list now if its read is due, or forgets the list if no object has used it for a while. If it is too early
   * for both, sets a timer.
   */
  #arm(polled: PolledList): void {
    if (this.#closed || polled.isUnderWay) return;
    polled.cancelTimer();
    const now = this.#now();
    const heldUntil = this.#around.credential.heldUntil();
    // During a pause, do not reserve a moment for sending a rate-limited read. The moments of many reads would pass
    // before the pause ends, and then all these reads would be sent together.
    if (heldUntil === undefined) this.#schedule.putOff(polled, now);
    else {
      // Drop the moment that was reserved before the pause for sending this read. Otherwise all reads whose moments
      // pass during the pause would be sent together when it ends.
      polled.reservedAt = undefined;
      if (polled.dueAt < heldUntil) this.#tellHeld(polled);
    }
    const due = Math.max(polled.dueAt, heldUntil ?? now);
    const forgetAt = polled.followers === 0 ? polled.usedAt + idleMs : Number.POSITIVE_INFINITY;
    const next = Math.min(due, forgetAt);
    if (forgetAt <= now) this.#forget(polled);
    else if (due <= now) void this.#list(polled);
    else if (next < Number.POSITIVE_INFINITY) {
      const inMs = Math.min(Math.ceil(next - now), longestTimerMs);
      polled.cancelTimer = this.#around.clock.after(inMs, () => this.#arm(polled));
    }
  }

  /** During a long pause, tells the Kubernetes objects that wait for this list that the service asked for the pause. */
  #tellHeld(polled: PolledList): void {
    if (!polled.isWanted || polled.problem !== undefined || !this.#around.credential.budget.refusesNow()) return;
    polled.problem = { why: 'throttled', message: 'the service asked to slow down', at: this.#now() };
    this.#around.onList(polled.read.key, none, polled.problem);
  }

  /**
   * Called when the service asks for a pause. If the pause is long, puts off the reads that Kubernetes objects wait for and that
   * are not under way, and tells these objects about the pause. During a short pause, reads wait in the queue of the request
   * budget.
   */
  #throttled(): void {
    for (const polled of this.#lists.values()) if (polled.isWanted) this.#arm(polled);
  }

  async #list(polled: PolledList): Promise<void> {
    polled.isUnderWay = true;
    polled.reservedAt = undefined;
    let begunAt: number | undefined;
    const passage: Passage = {
      get urgency() {
        // Read the other pages soon after the first page, while the cursor is still valid.
        if (begunAt !== undefined) return 'edit';
        if (polled.isWanted) return polled.urgency;
        return polled.snapshot === undefined ? 'wait' : 'drift';
      },
      onQueued: (raise) => {
        polled.raise = raise;
      },
      mayStart: () => {
        if (begunAt !== undefined) return undefined;
        if (!polled.isPolled && !polled.isWanted) return 'no Kubernetes object needs this list any more';
        begunAt = this.#now();
        polled.begun(begunAt);
        return undefined;
      },
    };
    const { ask, log } = this.#around;
    const listed = await fullList(polled.read, (request) => ask(request, passage), polled.digest).catch(
      (cause: unknown) => {
        log.error({ err: cause, read: polled.read.key }, 'bug: reading a list of the service threw an error');
        return failedList('malformed', 'a bug of the operator prevented the read', 1);
      },
    );
    try {
      this.#ended(polled, begunAt, listed);
    } catch (cause) {
      log.error({ err: cause, read: polled.read.key }, 'bug: a listener for new lists failed');
    }
  }

  #ended(polled: PolledList, begunAt: number | undefined, listed: Listed<unknown>): void {
    polled.isUnderWay = false;
    polled.raise = nothing;
    if (this.#closed) return;
    // Nothing has failed if the first request was never sent for one of two reasons: the service had asked for a pause
    // and no Kubernetes object waits for the list, or no object needs the list any more.
    const isNotBegun = begunAt === undefined && !listed.complete && !polled.isWanted;
    if (isNotBegun && (listed.why === 'throttled' || !polled.isPolled)) {
      this.#arm(polled);
      return;
    }
    let changed = none;
    if (listed.complete) {
      const at = begunAt ?? this.#now();
      changed = polled.took(listed, at);
      polled.pollAt = this.#schedule.nextAt(polled, at);
    } else polled.failed(listed, this.#now(), this.#againAt(polled, listed));
    const { problem } = polled;
    const collection = collectionOf(polled.read.key);
    this.#around.metrics.count('apphosting_mirror_lists_total', { collection, result: problem?.why ?? 'complete' });
    this.#schedule.plan(polled);
    this.#arm(polled);
    this.#around.onList(polled.read.key, changed, problem);
  }

  /** Returns the monotonic time at which a list may be read again after a read that failed. */
  #againAt({ failures }: PolledList, { why, retryAfterMs = 0 }: FailedList): number {
    const { credential, entropy, pollMs } = this.#around;
    const now = this.#now();
    const longestMs = Math.max(pollMs, 5000);
    const backoffMs = jittered(growingMs(failures, { firstMs: 1000, longestMs }), entropy);
    const heldUntil = why === 'unauthorized' || why === 'throttled' ? credential.heldUntil() : undefined;
    return Math.max(heldUntil ?? now + backoffMs, now + Math.min(retryAfterMs, longestMs));
  }

  /**
   * Reacts when the service begins to refuse the token or accepts it again. When it refuses the token, every list reports this
   * problem once. When it accepts the token again, the operator at once reads the needed lists that had failed because of the
   * token.
   */
  #tokenChanged(): void {
    const refused = this.#around.credential.unauthorizedSince !== undefined;
    for (const polled of this.#lists.values()) {
      if (refused) {
        polled.problem ??= { why: 'unauthorized', message: 'the service does not accept the token', at: this.#now() };
        if (!polled.isUnderWay) this.#around.onList(polled.read.key, none, polled.problem);
      } else {
        polled.tokenAccepted();
        this.#arm(polled);
      }
    }
  }
}

/**
 * Returns the first part of the key of a list, such as `alerts` for `alerts/env_1`. It is used as a metric label. A label must
 * have only a few values, so it cannot contain ids.
 */
function collectionOf(key: string): string {
  return key.split('/', 1)[0] ?? key;
}

/**
 * Decides when the lists of one account are polled, and how much of the request budget the polls use.
 *
 * Lists are polled at the account's interval, or at a longer one when all polls together would use more than half of the budget.
 * Rate-limited reads share a fifth of the budget. Running totals keep each calculation cheap, however many reads there are.
 *
 * All polls begin at whole quarters of a second, because waking the process for each read would cost more CPU than the read.
 */
class Schedule {
  readonly #around: MirrorOptions;
  #plannedPerSecond = 0;
  /** Maps each interval that is set for rate-limited reads, in ms, to the number of these reads. */
  readonly #wishes = new Map<number, number>();

  constructor(around: MirrorOptions) {
    this.#around = around;
  }

  /**
   * Adds a list to the schedule when a Kubernetes object begins to use it. If its reads are rate-limited, the first read waits a
   * random time, so that the states of a thousand new alerts are not all read at once.
   */
  join(polled: PolledList): void {
    this.plan(polled);
    if (polled.read.pace !== 'rateLimited') return;
    if (polled.weight === 0) this.#wish(polled, 1);
    this.#around.credential.rateLimited.count(polled, polled.isBusy);
    if (polled.pollAt === Number.NEGATIVE_INFINITY) polled.pollAt = this.#firstAt(polled);
  }

  /** Removes a list from the schedule when no Kubernetes object uses it any more. */
  leave(polled: PolledList): void {
    this.#count(polled, 0);
    if (polled.weight > 0) this.#wish(polled, -1);
    this.#around.credential.rateLimited.leave(polled);
  }

  /** Sets a new interval for a rate-limited read, because a spec changed. */
  change(polled: PolledList, read: Read): void {
    if (polled.weight > 0) this.#wish(polled, -1);
    polled.read = read;
    if (polled.weight > 0) this.#wish(polled, 1);
    polled.pollAt = this.#firstAt(polled);
  }

  /**
   * Updates how many requests per second the polls of a list are expected to need: one request for each page at each poll. The
   * number is zero for a list that is not polled, and for rate-limited reads.
   */
  plan(polled: PolledList): void {
    const isCounted = polled.isPolled && polled.read.pace !== 'rateLimited';
    this.#count(polled, isCounted ? (1000 * polled.pages) / polled.baseIntervalMs(this.#around.pollMs) : 0);
  }

  /**
   * Returns the monotonic time at which a list should be polled next. `begunAt` is the time at which the last read of the list
   * began.
   */
  nextAt(polled: PolledList, begunAt: number): number {
    const { entropy, credential, pollMs } = this.#around;
    const intervalMs =
      polled.read.pace === 'rateLimited'
        ? this.#rateLimitedMsOf(polled)
        : polled.baseIntervalMs(pollMs) * credential.budget.stretch();
    return inGroup(begunAt + intervalMs * (0.95 + entropy.fraction() / 10));
  }

  /**
   * When a rate-limited read is due, reserves a free moment for it and delays the read until that moment. A read that a
   * Kubernetes object waits for is not delayed.
   */
  putOff(polled: PolledList, now: number): void {
    if (polled.read.pace !== 'rateLimited' || polled.isWanted || polled.dueAt > now) return;
    const { rateLimited, budget } = this.#around.credential;
    polled.reservedAt ??= inGroup(rateLimited.place(now, budget.fullPerSecond()));
    polled.pollAt = Math.max(polled.pollAt, polled.reservedAt);
  }

  /**
   * Returns the poll interval that applies now. It is longer than the account's setting if polls would otherwise use more than
   * half of the request budget.
   */
  pollIntervalMs(): number {
    return Math.round(this.#around.pollMs * this.#around.credential.budget.stretch());
  }

  /** Estimates how many requests per hour the polls of this account need. */
  forecastPerHour(): number {
    const { budget, rateLimited } = this.#around.credential;
    let [wished, reads] = [0, 0];
    this.#wishes.forEach((count, wish) => {
      wished += (1_000 * count) / wish;
      reads += count;
    });
    const allowed = rateLimited.perSecond(reads, budget.requestsPerSecond());
    return Math.round((this.#plannedPerSecond / budget.stretch() + Math.min(allowed, wished)) * 3600);
  }

  /**
   * Estimates the shortest interval, in ms, at which a rate-limited read is repeated that is not pressing, such as that of an
   * alert that is not firing. After a 429 or 425, the estimate uses the lowered request rate. Returns undefined while no
   * Kubernetes object uses a rate-limited read of this account.
   */
  rateLimitedMs(): number | undefined {
    const { rateLimited, budget } = this.#around.credential;
    if (this.#wishes.size === 0) return undefined;
    return Math.max(Math.min(...this.#wishes.keys()), rateLimited.calmMs(budget.requestsPerSecond()));
  }

  /**
   * Returns when a rate-limited read is due for the first time, or for the next time after its interval was changed: at
   * a random moment in the second half of the interval. By then all other values in the status of a new Kubernetes
   * object are known, so that one status write is enough.
   */
  #firstAt(polled: PolledList): number {
    const { clock, entropy } = this.#around;
    return inGroup(clock.monotonic() + this.#rateLimitedMsOf(polled) * (0.5 + entropy.fraction() / 2));
  }

  #rateLimitedMsOf(polled: PolledList): number {
    const { rateLimited, budget } = this.#around.credential;
    const allowedMs = rateLimited.intervalMs(polled, polled.isBusy, budget.fullPerSecond());
    return Math.max(polled.read.rateLimitedMs ?? 0, allowedMs);
  }

  /** Adds a rate-limited read to those with its interval, or removes it. An interval counts as at least one second. */
  #wish({ read }: PolledList, reads: 1 | -1): void {
    const ms = Math.max(read.rateLimitedMs ?? 0, 1_000);
    const count = (this.#wishes.get(ms) ?? 0) + reads;
    if (count === 0) this.#wishes.delete(ms);
    else this.#wishes.set(ms, count);
  }

  #count(polled: PolledList, perSecond: number): void {
    this.#plannedPerSecond += perSecond - polled.planned;
    this.#around.credential.budget.plan(perSecond - polled.planned);
    polled.planned = perSecond;
  }
}

/** Rounds the time of a poll up to a whole quarter of a second. */
function inGroup(at: number): number {
  return Math.ceil(at / groupMs) * groupMs;
}
