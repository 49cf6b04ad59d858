/**
 * Mirrors the service: polls each read that somebody follows and keeps its newest full list.
 *
 * Any number of askers for freshness share one list. The interval is the account's when calm, a few seconds while something
 * is under way, and longer for everybody where polling would take more than half of the budget. A list that fails is tried
 * again after growing pauses, and the snapshot stays; while the token is refused or the service has asked to wait, reads
 * wait in the queue, and none is sent but the one that finds out. `begunAt` is published a hair early, so that a list begun
 * in the very tick in which a write ended never counts as begun after it.
 */
import PQueue from 'p-queue';
import { growingMs, jittered, type Clock, type Entropy } from '../../base/time.ts';
import {
  type Log,
  type Metrics,
  type Read,
  type ReadProblem,
  type Request,
  type Snapshot,
  type Urgency,
  groupId,
} from '../../engine/ports.ts';
import type { Credential } from '../credential.ts';
import { type Seen, problemOf, type Answer } from '../wire/transport.ts';
import { Schedule, dueAt, hairMs, isPolled, isWanted, newReading, noteList, type Reading } from './schedule.ts';
import { sameJson, Secret } from '../../base/json.ts';

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

const nothing = (): void => undefined;
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

  /** The newest failure, when it is newer than the newest full list; a pause that the service asked for is one as long as it lasts. */
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
    if (urgency === 'edit' || !isWanted(reading)) reading.urgency = urgency;
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
      if (!isPolled(reading) || reading.snapshot === undefined) continue;
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
    const reading = newReading(read, this.#now());
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
    const due = dueAt(reading);
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
    if (!isWanted(reading) || reading.problem !== undefined || !this.#around.credential.budget.refusesNow()) return;
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
    if (dueAt(reading) <= begunAt && !isWanted(reading)) {
      reading.pollAt = Math.max(reading.pollAt, this.#schedule.placeOf(reading, begunAt));
    }
    if (dueAt(reading) > begunAt) {
      this.#arm(reading);
      return;
    }
    reading.place = undefined;
    reading.state = 'reading';
    // While the token is refused one read alone finds out whether it still is.
    if (this.#around.credential.unauthorizedSince !== undefined) this.#queue.pause();
    noteList(reading, begunAt);
    const urgency = isWanted(reading) ? reading.urgency : reading.snapshot === undefined ? 'wait' : 'drift';
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
        if (dueAt(reading) === Number.POSITIVE_INFINITY) reading.problem = undefined;
        this.#arm(reading);
      }
    }
    if (!refused) this.#hold();
  }
}

/** Lists that somebody waits for go before those that are merely due. */
function priorityOf(reading: Reading): number {
  return isWanted(reading) ? 1 : 0;
}

/** `alerts` of `alerts/env_1`: a label with few values. */
function collectionOf(key: string): string {
  return key.split('/', 1)[0] ?? key;
}

const mostPages = 1000;

/** The result of a full list. */
export type Listed<Item> =
  | {
      readonly complete: true;
      /** Undefined when every page is, byte for byte, what it was in the list before. */
      readonly items: ReadonlyMap<string, Item> | undefined;
      /** Equal for equal lists. */
      readonly digest: string;
      readonly pages: number;
      readonly dateMs: number | undefined;
    }
  | {
      readonly complete: false;
      readonly why: ReadProblem['why'];
      readonly message: string;
      readonly pages: number;
      readonly retryAfterMs: number | undefined;
    };

function failed(why: ReadProblem['why'], message: string, pages: number, retryAfterMs?: number): Listed<never> {
  return { complete: false, why, message, pages, retryAfterMs };
}

/**
 * One full list of a read: all pages, or nothing. `known` is the digest of the list before.
 *
 * A page that was refused, does not parse, or points back to a page that was seen makes the whole list fail: half a list is
 * no list. A cursor that the service no longer takes is tried again once from the start. An item that shows up on two pages
 * (the list moved meanwhile) counts once, as it was seen last.
 */
export async function fullList<Item>(
  read: Read<Item>,
  ask: (request: Request) => Promise<Seen>,
  known?: string,
): Promise<Listed<Item>> {
  const first = await listOnce(read, ask, known);
  const expired = !first.complete && first.why === 'refused' && first.pages > 1;
  return expired ? listOnce(read, ask, known) : first;
}

async function listOnce<Item>(
  read: Read<Item>,
  ask: (request: Request) => Promise<Seen>,
  known: string | undefined,
): Promise<Listed<Item>> {
  const answers: Answer[] = [];
  const asked = new Set<string>();
  let request: Request | undefined = read.first;
  while (request !== undefined) {
    const pages = answers.length + 1;
    const page = JSON.stringify(request.query ?? {});
    if (asked.has(page) || pages > mostPages) return failed('malformed', 'the pages of the list do not end', pages);
    asked.add(page);
    const seen: Seen = await ask(request);
    if (seen.was === 'answer' && seen.status === 404 && read.absentOn404 && pages === 1) {
      return { complete: true, items: new Map(), digest: 'absent', pages, dateMs: seen.dateMs };
    }
    const why = problemOf(seen);
    if (why !== undefined || seen.was !== 'answer') {
      const retryAfterMs = seen.was === 'answer' ? seen.retryAfterMs : undefined;
      return failed(why ?? 'unreachable', seen.message, pages, retryAfterMs);
    }
    answers.push(seen);
    request = read.next?.(seen.body);
  }
  const digest = answers.map((answer) => answer.digest).join();
  const items = digest === known ? undefined : itemsIn(read, answers);
  if (items === 'malformed')
    return failed('malformed', 'the answer is not what the interface promises', answers.length);
  return { complete: true, items, digest, pages: answers.length, dateMs: answers[0]?.dateMs };
}

function itemsIn<Item>(read: Read<Item>, answers: readonly Answer[]): ReadonlyMap<string, Item> | 'malformed' {
  const items = new Map<string, Item>();
  for (const { body } of answers) {
    const found = read.items(body);
    if (found === undefined) return 'malformed';
    for (const item of found) items.set(read.idOf(item), item);
  }
  return items;
}

/** Freezes a value all the way down, with one copy of each short text. */
function settled(value: unknown, texts: Map<string, string>): unknown {
  if (typeof value === 'string') {
    if (value.length > 64) return value;
    const known = texts.get(value);
    if (known === undefined) texts.set(value, value);
    return known ?? value;
  }
  if (typeof value !== 'object' || value === null || value instanceof Secret || Object.isFrozen(value)) return value;
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    const inner = fields[name];
    const kept = settled(inner, texts);
    if (kept !== inner) fields[name] = kept;
  }
  return Object.freeze(value);
}

/** The items after a list, frozen, lean, and the same object as long as nothing about them differs; and which changed. */
export interface Merged<Item> {
  readonly items: ReadonlyMap<string, Item>;
  /** The ids that came, went, or differ in more than the moving fields. */
  readonly changed: ReadonlySet<string>;
}

/** Takes over the items of a list: what is unchanged keeps its identity, the map itself included. */
export function merged<Item>(
  before: ReadonlyMap<string, Item> | undefined,
  found: ReadonlyMap<string, Item>,
  moving: readonly string[],
): Merged<Item> {
  if (before === found) return { items: found, changed: new Set() };
  const items = new Map<string, Item>();
  const changed = new Set<string>();
  const texts = new Map<string, string>();
  let identical = before !== undefined && before.size === found.size;
  for (const [id, item] of found) {
    const known = before?.get(id);
    if (known !== undefined && sameJson(known, item)) {
      items.set(id, known);
      continue;
    }
    identical = false;
    settled(item, texts);
    items.set(id, item);
    if (known === undefined || !sameJson(known, item, moving)) changed.add(id);
  }
  for (const id of before?.keys() ?? []) if (!found.has(id)) changed.add(id);
  return identical && before !== undefined ? { items: before, changed } : { items, changed };
}

/** The changed ids with the groups that changed items belong to, or belonged to. */
export function withGroups<Item>(
  changed: ReadonlySet<string>,
  read: Pick<Read<Item>, 'groupOf'>,
  snapshots: readonly (ReadonlyMap<string, Item> | undefined)[],
): ReadonlySet<string> {
  if (read.groupOf === undefined || changed.size === 0) return changed;
  const all = new Set(changed);
  for (const id of changed) {
    for (const snapshot of snapshots) {
      const item = snapshot?.get(id);
      const group = item === undefined ? undefined : read.groupOf(item);
      if (group !== undefined) all.add(groupId(group));
    }
  }
  return all;
}
