/**
 * Mirrors the service: polls each read that somebody follows and keeps its newest full list.
 *
 * Any number of askers for freshness share one list. The interval is the account's when calm, a few seconds while something
 * is under way, and longer for everybody where polling would take more than half of the budget. A list that fails is tried
 * again after growing pauses, and the snapshot stays; while the token is refused or the service has asked to wait, reads
 * wait in the queue, and none is sent except the one that tests the token. `begunAt` is published a hair early, so that a list begun
 * in the very tick in which a write ended never counts as begun after it.
 */
import PQueue from 'p-queue';
import { type Clock, type Entropy, growingMs, jittered } from '../../base/time.ts';
import type { Log, Metrics, Read, ReadProblem, Request, Snapshot, Urgency } from '../../engine/ports.ts';
import type { Credential } from '../credential.ts';
import type { Seen } from '../wire/transport.ts';
import { fullList, hairMs, type Listed, merged, nothing, Reading, withGroups } from './reading.ts';

const idleMs = 600_000;
const longestTimerMs = 86_400_000;

/** The parts of a mirror. */
export interface MirrorSurroundings {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly credential: Credential;
  readonly ask: (request: Request, urgency: Urgency) => Promise<Seen>;
  readonly pollMs: number;
  /** The number of lists at once. */
  readonly listsAtOnce: number;
  readonly onList: (key: string, changed: ReadonlySet<string>, problem: ReadProblem | undefined) => void;
}

const none: ReadonlySet<string> = new Set();

/** Keeps snapshots of the reads of one account. */
export class Mirror {
  readonly #around: MirrorSurroundings;
  readonly #readings = new Map<string, Reading>();
  readonly #leaveCredential: readonly (() => void)[];
  readonly #schedule: Schedule;
  /** Reads that are due; the wanted ones come first. */
  readonly #queue: PQueue;
  #tickets = 0;
  #closed = false;
  #cancelHold: () => void = nothing;

  constructor(around: MirrorSurroundings) {
    this.#around = around;
    this.#queue = new PQueue({ concurrency: around.listsAtOnce });
    this.#schedule = new Schedule(around);
    const { credential } = around;
    this.#leaveCredential = [
      credential.onChange(() => this.#tokenChanged()),
      credential.onThrottled(() => this.#hold()),
    ];
  }

  /** The newest full list. */
  snapshot<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    const reading = this.#readings.get(read.key);
    if (reading !== undefined) reading.usedAt = Math.max(reading.usedAt, this.#now());
    // A key names one kind of item: the reads of one key are built by one function.
    return reading?.snapshot as Snapshot<Item> | undefined;
  }

  /** The newest failure, when it is newer than the newest full list. While a requested pause lasts it counts as a failure. */
  problem(read: Pick<Read, 'key'>): ReadProblem | undefined {
    const problem = this.#readings.get(read.key)?.problem;
    const lasts = problem?.why === 'throttled' && this.#around.credential.budget.refusesNow();
    return lasts ? { ...problem, at: this.#now() } : problem;
  }

  /** Asks for a list begun at or after `since`; the most urgent of those who wait for it counts. */
  want(read: Read, since: number, urgency: 'edit' | 'wait'): void {
    if (this.#closed) return;
    const reading = this.#reading(read);
    reading.usedAt = Math.max(this.#now(), since);
    if (urgency === 'edit' || !reading.isWanted) reading.urgency = urgency;
    reading.wantedSince = Math.max(reading.wantedSince, since);
    if (reading.state === 'queued') this.#queue.setPriority(reading.ticket, priorityOf(reading));
    this.#arm(reading);
  }

  /** Keeps a read polled until the returned function is called. */
  follow(read: Read): () => void {
    if (this.#closed) return nothing;
    const reading = this.#reading(read);
    reading.followers += 1;
    this.#schedule.join(reading);
    this.#arm(reading);
    let following = true;
    return () => {
      if (!following) return;
      following = false;
      reading.followers -= 1;
      if (reading.followers === 0) this.#schedule.leave(reading);
      reading.usedAt = this.#now();
      this.#arm(reading);
    };
  }

  /** The intervals of this account, and the requests that they take. */
  get schedule(): Pick<Schedule, 'pollIntervalMs' | 'forecastPerHour' | 'rateLimitedMs'> {
    return this.#schedule;
  }

  /** The age of the newest lists in ms: the oldest of each collection that is polled. */
  ages(): ReadonlyMap<string, number> {
    const oldest = new Map<string, number>();
    for (const reading of this.#readings.values()) {
      if (!reading.isPolled || reading.snapshot === undefined) continue;
      const collection = collectionOf(reading.read.key);
      oldest.set(collection, Math.max(oldest.get(collection) ?? 0, this.#now() - reading.snapshot.begunAt));
    }
    return oldest;
  }

  /** Ends polling; lists under way end without being heard. */
  close(): void {
    this.#closed = true;
    for (const leave of this.#leaveCredential) leave();
    this.#cancelHold();
    for (const reading of this.#readings.values()) this.#forget(reading);
    this.#queue.clear();
  }

  #now(): number {
    return this.#around.clock.monotonic();
  }

  #reading(read: Read): Reading {
    const known = this.#readings.get(read.key);
    if (known !== undefined) {
      if (known.read.rateLimitedMs !== read.rateLimitedMs) this.#schedule.change(known, read);
      return known;
    }
    const reading = new Reading(read, this.#now());
    this.#readings.set(read.key, reading);
    return reading;
  }

  #forget(reading: Reading): void {
    this.#schedule.leave(reading);
    reading.cancelTimer();
    this.#readings.delete(reading.read.key);
  }

  /** Sets the timer for what the reading needs next. */
  #arm(reading: Reading): void {
    if (this.#closed || reading.state !== 'idle') return;
    reading.cancelTimer();
    const now = this.#now();
    const due = reading.dueAt;
    const forgetAt = reading.followers === 0 ? reading.usedAt + idleMs : Number.POSITIVE_INFINITY;
    const next = Math.min(due, forgetAt);
    if (forgetAt <= now) this.#forget(reading);
    else if (due <= now) this.#enqueue(reading);
    else if (next < Number.POSITIVE_INFINITY) {
      const inMs = Math.min(Math.ceil(next - now), longestTimerMs);
      reading.cancelTimer = this.#around.clock.after(inMs, () => this.#arm(reading));
    }
  }

  #enqueue(reading: Reading): void {
    reading.state = 'queued';
    reading.ticket = `${(this.#tickets += 1)} ${reading.read.key}`;
    this.#hold();
    // Only closing rejects it, which takes it out of the queue.
    this.#queue.add(() => this.#begin(reading), { id: reading.ticket, priority: priorityOf(reading) }).catch(nothing);
  }

  /** Holds the queue while asking is pointless, and lets it go on when it is not. */
  #hold(): void {
    this.#cancelHold();
    this.#cancelHold = nothing;
    const heldUntil = this.#around.credential.heldUntil();
    if (heldUntil === undefined) {
      this.#queue.start();
      return;
    }
    this.#queue.pause();
    if (this.#closed) return;
    this.#cancelHold = this.#around.clock.after(Math.ceil(heldUntil - this.#now()), () => this.#hold());
    for (const reading of this.#readings.values()) if (reading.state === 'queued') this.#tellHeld(reading);
  }

  /** Reports the pause to everybody who waits for this list. */
  #tellHeld(reading: Reading): void {
    if (!reading.isWanted || reading.problem !== undefined || !this.#around.credential.budget.refusesNow()) return;
    reading.problem = { why: 'throttled', message: 'the service asked to wait', at: this.#now() };
    this.#around.onList(reading.read.key, none, reading.problem);
  }

  async #begin(reading: Reading): Promise<void> {
    reading.state = 'idle';
    if (this.#closed) return;
    if (this.#around.credential.heldUntil() !== undefined) {
      this.#enqueue(reading);
      return;
    }
    const begunAt = this.#now();
    if (reading.dueAt <= begunAt && !reading.isWanted) {
      reading.pollAt = Math.max(reading.pollAt, this.#schedule.placeOf(reading, begunAt));
    }
    if (reading.dueAt > begunAt) {
      this.#arm(reading);
      return;
    }
    reading.place = undefined;
    reading.state = 'reading';
    // While the token is refused one read alone finds out whether it still is.
    if (this.#around.credential.unauthorizedSince !== undefined) this.#queue.pause();
    reading.noteList(begunAt);
    const urgency = reading.isWanted ? reading.urgency : reading.snapshot === undefined ? 'wait' : 'drift';
    const listed = await fullList(reading.read, (request) => this.#around.ask(request, urgency), reading.digest).catch(
      (cause: unknown): Listed<unknown> => {
        this.#around.log.error({ err: cause, read: reading.read.key }, 'bug: a read threw');
        return {
          complete: false,
          why: 'malformed',
          message: 'the operator failed by a bug of its own',
          pages: 1,
          retryAfterMs: undefined,
        };
      },
    );
    try {
      this.#ended(reading, begunAt, listed);
    } catch (cause) {
      this.#around.log.error({ err: cause, read: reading.read.key }, 'bug: a listener of the mirror threw');
    }
  }

  #ended(reading: Reading, begunAt: number, listed: Listed<unknown>): void {
    reading.state = 'idle';
    if (this.#closed) return;
    const { changed, problem } = listed.complete
      ? { changed: this.#took(reading, begunAt, listed), problem: undefined }
      : { changed: none, problem: this.#failed(reading, listed) };
    reading.pages = Math.max(listed.pages, 1);
    const collection = collectionOf(reading.read.key);
    this.#around.metrics.count('apphosting_mirror_lists_total', { collection, result: problem?.why ?? 'complete' });
    this.#schedule.plan(reading);
    this.#arm(reading);
    this.#hold();
    this.#around.onList(reading.read.key, changed, problem);
  }

  #took(reading: Reading, begunAt: number, listed: Extract<Listed<unknown>, { complete: true }>): ReadonlySet<string> {
    const before = reading.snapshot?.items;
    const found = listed.items ?? before ?? new Map<string, unknown>();
    const { items, changed: ids } = merged(before, found, reading.read.moving ?? []);
    const changed = withGroups(ids, reading.read, [before, items]);
    reading.digest = listed.digest;
    reading.snapshot = { items, begunAt: begunAt - hairMs, dateMs: listed.dateMs };
    reading.problem = undefined;
    reading.failures = 0;
    reading.notBefore = Number.NEGATIVE_INFINITY;
    reading.pollAt = this.#schedule.nextAt(reading, begunAt);
    return changed;
  }

  #failed(reading: Reading, listed: Extract<Listed<unknown>, { complete: false }>): ReadProblem {
    const now = this.#now();
    reading.failures += 1;
    const longestMs = Math.max(this.#around.pollMs, 5000);
    const backoffMs = jittered(growingMs(reading.failures - 1, { firstMs: 1000, longestMs }), this.#around.entropy);
    const held =
      listed.why === 'unauthorized' || listed.why === 'throttled' ? this.#around.credential.heldUntil() : undefined;
    reading.notBefore = Math.max(held ?? now + backoffMs, now + Math.min(listed.retryAfterMs ?? 0, longestMs));
    reading.pollAt = Math.max(reading.pollAt, reading.notBefore);
    reading.problem = { why: listed.why, message: listed.message, at: now };
    return reading.problem;
  }

  /** Reports a refused token once for each read; when the token is accepted again, everything is read at once. */
  #tokenChanged(): void {
    if (this.#closed) return;
    const refused = this.#around.credential.unauthorizedSince !== undefined;
    for (const reading of this.#readings.values()) {
      if (refused) {
        reading.problem ??= { why: 'unauthorized', message: 'the service does not accept the token', at: this.#now() };
        if (reading.state !== 'reading') this.#around.onList(reading.read.key, none, reading.problem);
      } else if (reading.problem?.why === 'unauthorized') {
        reading.notBefore = Number.NEGATIVE_INFINITY;
        reading.pollAt = Number.NEGATIVE_INFINITY;
        if (reading.dueAt === Number.POSITIVE_INFINITY) reading.problem = undefined;
        this.#arm(reading);
      }
    }
    if (!refused) this.#hold();
  }
}

/** Lists that somebody waits for go before those that are merely due. */
function priorityOf(reading: Reading): number {
  return reading.isWanted ? 1 : 0;
}

/** `alerts` of `alerts/env_1`: a label with few values. */
function collectionOf(key: string): string {
  return key.split('/', 1)[0] ?? key;
}

/**
 * When the polled reads of one account are asked, and how much of the credential's budget that takes.
 *
 * Lists keep the account's interval, or a longer one where all polls together would use more than half of the budget;
 * rate-limited reads share a fifth of it. Sums are kept, so the cost of a query does not depend on the number of reads.
 */
class Schedule {
  readonly #around: MirrorSurroundings;
  #plannedPerSecond = 0;
  /** The number of rate-limited reads by the pause that they wish for. */
  readonly #wishes = new Map<number, number>();

  constructor(around: MirrorSurroundings) {
    this.#around = around;
  }

  /** Somebody follows a read. A rate-limited one starts at a random time, or a thousand new alerts would start together. */
  join(reading: Reading): void {
    this.plan(reading);
    if (reading.read.pace !== 'rateLimited') return;
    this.#wish(reading, wishMs(reading));
    this.#around.credential.rateLimited.count(reading, reading.isBusy);
    if (reading.pollAt === Number.NEGATIVE_INFINITY) reading.pollAt = this.#firstAt(reading);
  }

  /** Nobody follows a read any more. */
  leave(reading: Reading): void {
    this.#count(reading, 0);
    this.#wish(reading, undefined);
    this.#around.credential.rateLimited.leave(reading);
  }

  /** Changes the interval of a read, counted from its newest list. */
  change(reading: Reading, read: Read): void {
    reading.read = read;
    if (reading.wishMs !== undefined) this.#wish(reading, wishMs(reading));
    if (read.pace !== 'rateLimited') return;
    reading.pollAt =
      reading.snapshot === undefined
        ? Math.min(reading.pollAt, this.#firstAt(reading))
        : this.nextAt(reading, reading.newest.at);
  }

  /** Counts how many requests per second the polls of a read need, by the number of pages in its newest list. */
  plan(reading: Reading): void {
    const isCounted = reading.isPolled && reading.read.pace !== 'rateLimited';
    this.#count(reading, isCounted ? (1000 * reading.pages) / reading.baseIntervalMs(this.#around.pollMs) : 0);
  }

  /** When a read that was asked at `begunAt` is due again. */
  nextAt(reading: Reading, begunAt: number): number {
    const { entropy, credential, pollMs } = this.#around;
    const spread = reading.isBusy ? 0.75 + entropy.fraction() / 2 : 0.95 + entropy.fraction() / 10;
    const intervalMs =
      reading.read.pace === 'rateLimited'
        ? this.#rateLimitedMsOf(reading)
        : reading.baseIntervalMs(pollMs) * credential.budget.stretch();
    return begunAt + intervalMs * spread;
  }

  /** When a due read may be sent: at once, or for a rate-limited one at its place in their share. */
  placeOf(reading: Reading, now: number): number {
    if (reading.read.pace !== 'rateLimited') return now;
    const { rateLimited, budget } = this.#around.credential;
    reading.place ??= rateLimited.place(now, budget.requestsPerSecond());
    return reading.place;
  }

  /** The poll interval in effect. */
  pollIntervalMs(): number {
    return Math.round(this.#around.pollMs * this.#around.credential.budget.stretch());
  }

  /** Forecasts the requests an hour of all followed reads. */
  forecastPerHour(): number {
    const { budget, rateLimited } = this.#around.credential;
    const wishes = [...this.#wishes];
    const wished = wishes.reduce((sum, [wish, reads]) => sum + (1_000 * reads) / wish, 0);
    const reads = wishes.reduce((sum, [, count]) => sum + count, 0);
    const allowed = rateLimited.perSecond(reads, budget.requestsPerSecond());
    return Math.round((this.#plannedPerSecond / budget.stretch() + Math.min(allowed, wished)) * 3600);
  }

  /** The interval of rate-limited reads: the shortest that one asks for, or as their share allows; undefined without any. */
  rateLimitedMs(): number | undefined {
    const { rateLimited, budget } = this.#around.credential;
    if (this.#wishes.size === 0) return undefined;
    return Math.max(Math.min(...this.#wishes.keys()), rateLimited.calmMs(budget.requestsPerSecond()));
  }

  /** Not in the first half of the interval: by then a list has shown what else there is to write of a new object. */
  #firstAt(reading: Reading): number {
    const { clock, entropy } = this.#around;
    return clock.monotonic() + this.#rateLimitedMsOf(reading) * (0.5 + entropy.fraction() / 2);
  }

  #rateLimitedMsOf(reading: Reading): number {
    const { rateLimited, budget } = this.#around.credential;
    const allowedMs = rateLimited.intervalMs(reading, reading.isBusy, budget.requestsPerSecond());
    return Math.max(reading.read.rateLimitedMs ?? 0, allowedMs);
  }

  #wish(reading: Reading, wish: number | undefined): void {
    const add = (ms: number | undefined, reads: 1 | -1): void => {
      if (ms === undefined) return;
      const count = (this.#wishes.get(ms) ?? 0) + reads;
      if (count === 0) this.#wishes.delete(ms);
      else this.#wishes.set(ms, count);
    };
    add(reading.wishMs, -1);
    add(wish, 1);
    reading.wishMs = wish;
  }

  #count(reading: Reading, perSecond: number): void {
    this.#plannedPerSecond += perSecond - reading.planned;
    reading.planned = perSecond;
    this.#around.credential.budget.plan(reading, perSecond);
  }
}

/** The interval that a rate-limited read asks for. */
function wishMs({ read }: Reading): number {
  return Math.max(read.rateLimitedMs ?? 0, 1_000);
}
