/**
 * The service as a second watch: one poller per read keeps the newest complete walk.
 *
 * Any number of askers for freshness share one walk. Intervals adapt: as set when calm, a few seconds while something is
 * under way, longer for everybody where polling would take more than half of the budget. A failing walk backs off with jitter
 * and keeps the snapshot; while the token is refused or the service has asked to wait, walks queue up and none is sent but
 * the one that finds out. `begunAt` is published a hair early, so that a walk begun in the very tick in which a write ended
 * never counts as begun after it.
 */
import { growingMs, jittered } from '../../base/backoff.ts';
import type { Clock, Entropy } from '../../base/clock.ts';
import type { Log, Metrics, Read, ReadProblem, Request, Snapshot, Urgency } from '../../engine/ports.ts';
import type { Credential } from '../credential.ts';
import { merged, withGroups } from './items.ts';
import type { Seen } from '../wire/outcome.ts';
import { Pace } from './pace.ts';
import { dueAt, hairMs, isPolled, isWanted, newReading, noteWalk, type Reading } from './reading.ts';
import { walk, type Walked } from './full-list.ts';

const idleMs = 600_000;
const longestTimerMs = 86_400_000;

/** What a mirror needs from around it. */
export interface MirrorSurroundings {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly credential: Credential;
  readonly ask: (request: Request, urgency: Urgency) => Promise<Seen>;
  readonly pollMs: number;
  /** How many walks run at once. */
  readonly walksAtOnce: number;
  readonly onWalk: (key: string, changed: ReadonlySet<string>, problem: ReadProblem | undefined) => void;
}

const nothing = (): void => undefined;
const none: ReadonlySet<string> = new Set();

/** Keeps snapshots of the reads of one account. */
export class Mirror {
  readonly #around: MirrorSurroundings;
  readonly #readings = new Map<string, Reading>();
  readonly #leaveCredential: () => void;
  readonly #pace: Pace;
  #queue: Reading[] = [];
  #walking = 0;
  #closed = false;
  #answeredAt: number | undefined;
  #cancelPump: () => void = nothing;

  constructor(around: MirrorSurroundings) {
    this.#around = around;
    this.#pace = new Pace(around);
    this.#leaveCredential = around.credential.onChange(() => this.#tokenChanged());
  }

  /** The newest complete walk. */
  snapshot<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    const reading = this.#readings.get(read.key);
    if (reading !== undefined) reading.usedAt = Math.max(reading.usedAt, this.#now());
    // A key names one kind of item: the reads of one key are built by one function.
    return reading?.snapshot as Snapshot<Item> | undefined;
  }

  /** The newest failure, when it is newer than the newest full list. */
  problem(read: Pick<Read, 'key'>): ReadProblem | undefined {
    return this.#readings.get(read.key)?.problem;
  }

  /** Asks for a walk begun at or after `since`. */
  want(read: Read, since: number): void {
    if (this.#closed) return;
    const reading = this.#reading(read);
    reading.usedAt = Math.max(this.#now(), since);
    reading.wantedSince = Math.max(reading.wantedSince, since);
    this.#schedule(reading);
  }

  /** Keeps a read polled until the returned function is called. */
  follow(read: Read): () => void {
    if (this.#closed) return nothing;
    const reading = this.#reading(read);
    reading.followers += 1;
    this.#pace.join(reading);
    this.#schedule(reading);
    let following = true;
    return () => {
      if (!following) return;
      following = false;
      reading.followers -= 1;
      if (reading.followers === 0) this.#pace.leave(reading);
      reading.usedAt = this.#now();
      this.#schedule(reading);
    };
  }

  /** How often this account is asked, and what that takes. */
  get pace(): Pick<Pace, 'pollIntervalMs' | 'forecastPerHour' | 'roundMs'> {
    return this.#pace;
  }

  /** When the newest full list of any read began; undefined before the first. */
  get answeredAt(): number | undefined {
    return this.#answeredAt;
  }

  /** How old the newest walks are, in ms: the oldest of each collection that is polled. */
  ages(): ReadonlyMap<string, number> {
    const oldest = new Map<string, number>();
    for (const reading of this.#readings.values()) {
      if (!isPolled(reading) || reading.snapshot === undefined) continue;
      const collection = collectionOf(reading.read.key);
      oldest.set(collection, Math.max(oldest.get(collection) ?? 0, this.#now() - reading.snapshot.begunAt));
    }
    return oldest;
  }

  /** Ends polling; walks under way end without being heard. */
  close(): void {
    this.#closed = true;
    this.#leaveCredential();
    this.#cancelPump();
    for (const reading of this.#readings.values()) this.#forget(reading);
    this.#queue = [];
  }

  #now(): number {
    return this.#around.clock.monotonic();
  }

  #reading(read: Read): Reading {
    const known = this.#readings.get(read.key);
    if (known !== undefined) {
      if (known.read.roundMs !== read.roundMs) this.#pace.change(known, read);
      return known;
    }
    const reading = newReading(read, this.#now());
    this.#readings.set(read.key, reading);
    return reading;
  }

  #forget(reading: Reading): void {
    this.#pace.leave(reading);
    reading.cancelTimer();
    this.#readings.delete(reading.read.key);
  }

  /** Sets the timer for what the reading needs next. */
  #schedule(reading: Reading): void {
    if (this.#closed || reading.state !== 'idle') return;
    reading.cancelTimer();
    const now = this.#now();
    const due = dueAt(reading);
    const forgetAt = reading.followers === 0 ? reading.usedAt + idleMs : Number.POSITIVE_INFINITY;
    const next = Math.min(due, forgetAt);
    if (forgetAt <= now) this.#forget(reading);
    else if (due <= now) this.#enqueue(reading);
    else if (next < Number.POSITIVE_INFINITY) {
      const inMs = Math.min(Math.ceil(next - now), longestTimerMs);
      reading.cancelTimer = this.#around.clock.after(inMs, () => this.#schedule(reading));
    }
  }

  #enqueue(reading: Reading): void {
    reading.state = 'queued';
    this.#queue.push(reading);
    this.#pump();
  }

  /** Starts walks while there is room, the wanted ones first. */
  #pump(): void {
    this.#cancelPump();
    this.#cancelPump = nothing;
    while (!this.#closed && this.#queue.length > 0 && this.#walking < this.#around.walksAtOnce) {
      const heldUntil = this.#around.credential.heldUntil();
      if (heldUntil !== undefined) {
        const inMs = Math.ceil(heldUntil - this.#now());
        this.#cancelPump = this.#around.clock.after(inMs, () => this.#pump());
        return;
      }
      const wanted = this.#queue.findIndex((reading) => isWanted(reading));
      const [reading] = this.#queue.splice(Math.max(wanted, 0), 1);
      if (reading !== undefined) this.#start(reading);
      // While the token is refused one walk alone finds out whether it still is.
      if (this.#around.credential.unauthorizedSince !== undefined) return;
    }
  }

  #start(reading: Reading): void {
    const begunAt = this.#now();
    if (dueAt(reading) <= begunAt && !isWanted(reading)) {
      reading.pollAt = Math.max(reading.pollAt, this.#pace.roomAt(reading, begunAt));
    }
    if (dueAt(reading) > begunAt) {
      reading.state = 'idle';
      this.#schedule(reading);
      return;
    }
    reading.state = 'walking';
    this.#walking += 1;
    noteWalk(reading, begunAt);
    const urgency = isWanted(reading) ? 'edit' : reading.snapshot === undefined ? 'wait' : 'drift';
    walk(reading.read, (request) => this.#around.ask(request, urgency), reading.digest)
      .catch((cause: unknown): Walked<unknown> => {
        this.#around.log.error({ err: cause, read: reading.read.key }, 'a walk failed by a bug');
        return {
          complete: false,
          why: 'malformed',
          message: 'reading failed by a bug',
          pages: 1,
          retryAfterMs: undefined,
        };
      })
      .then((walked) => this.#ended(reading, begunAt, walked))
      .catch((cause: unknown) =>
        this.#around.log.error({ err: cause, read: reading.read.key }, 'hearing of a walk failed'),
      );
  }

  #ended(reading: Reading, begunAt: number, walked: Walked<unknown>): void {
    this.#walking -= 1;
    reading.state = 'idle';
    if (this.#closed) return;
    const { changed, problem } = walked.complete
      ? { changed: this.#took(reading, begunAt, walked), problem: undefined }
      : { changed: none, problem: this.#failed(reading, walked) };
    reading.pages = Math.max(walked.pages, 1);
    const collection = collectionOf(reading.read.key);
    this.#around.metrics.count('apphosting_mirror_walks_total', { collection, result: problem?.why ?? 'complete' });
    this.#pace.plan(reading);
    this.#schedule(reading);
    this.#pump();
    this.#around.onWalk(reading.read.key, changed, problem);
  }

  #took(reading: Reading, begunAt: number, walked: Extract<Walked<unknown>, { complete: true }>): ReadonlySet<string> {
    const before = reading.snapshot?.items;
    const found = walked.items ?? before ?? new Map<string, unknown>();
    const { items, changed: ids } = merged(before, found, reading.read.moving ?? []);
    const changed = withGroups(ids, reading.read, [before, items]);
    reading.digest = walked.digest;
    reading.walks += 1;
    reading.snapshot = { items, begunAt: begunAt - hairMs, walk: reading.walks, dateMs: walked.dateMs };
    this.#answeredAt = Math.max(this.#answeredAt ?? begunAt, begunAt);
    reading.problem = undefined;
    reading.failures = 0;
    reading.notBefore = Number.NEGATIVE_INFINITY;
    reading.pollAt = this.#pace.nextAt(reading, begunAt);
    return changed;
  }

  #failed(reading: Reading, walked: Extract<Walked<unknown>, { complete: false }>): ReadProblem {
    const now = this.#now();
    reading.failures += 1;
    const longestMs = Math.max(this.#around.pollMs, 5000);
    const backoffMs = jittered(growingMs(reading.failures - 1, { firstMs: 1000, longestMs }), this.#around.entropy);
    const held =
      walked.why === 'unauthorized' || walked.why === 'throttled' ? this.#around.credential.heldUntil() : undefined;
    reading.notBefore = Math.max(held ?? now + backoffMs, now + Math.min(walked.retryAfterMs ?? 0, longestMs));
    reading.pollAt = Math.max(reading.pollAt, reading.notBefore);
    reading.problem = { why: walked.why, message: walked.message, at: now };
    return reading.problem;
  }

  /** Everybody hears once that the token is refused; once it is good again everything is read at once. */
  #tokenChanged(): void {
    if (this.#closed) return;
    const refused = this.#around.credential.unauthorizedSince !== undefined;
    for (const reading of this.#readings.values()) {
      if (refused) {
        reading.problem ??= { why: 'unauthorized', message: 'the service does not accept the token', at: this.#now() };
        if (reading.state !== 'walking') this.#around.onWalk(reading.read.key, none, reading.problem);
      } else if (reading.problem?.why === 'unauthorized') {
        reading.notBefore = Number.NEGATIVE_INFINITY;
        reading.pollAt = Number.NEGATIVE_INFINITY;
        if (dueAt(reading) === Number.POSITIVE_INFINITY) reading.problem = undefined;
        this.#schedule(reading);
      }
    }
    if (!refused) this.#pump();
  }
}

/** `alerts` of `alerts/env_1`: a label with few values. */
function collectionOf(key: string): string {
  return key.split('/', 1)[0] ?? key;
}
