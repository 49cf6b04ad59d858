/**
 * One list or object that the operator reads from the service again and again: its state, when the next read is due, how all
 * pages are read, and how a new list replaces the old one.
 */
import { sameJson } from '../../base/json.ts';
import { growingMs } from '../../base/time.ts';
import { groupId, type Read, type ReadProblem, type Request, type Snapshot } from '../../engine/ports.ts';
import { type Answer, problemOf, type Seen } from '../wire/transport.ts';

/**
 * The time `begunAt` of a snapshot is this many ms earlier than the time at which its read began. So if the read began
 * in the same tick in which a write ended, the snapshot counts as older than the write: it might not show the write.
 */
const hairMs = 0.0001;

const hourMs = 3_600_000;
const busyMs = 4000;
const calmAfterMs = 4000;
const firstGapMs = 1000;
const longestGapMs = 2000;

/** Does nothing; used as the cancel function when no timer is set. */
export const nothing = (): void => undefined;

/** The state of one polled list of the service, and the time at which the list is read next. */
export class PolledList {
  /** Says how to read the list. Replaced when a changed spec sets another interval for a rate-limited read. */
  read: Read;
  followers = 0;
  snapshot: Snapshot | undefined;
  problem: ReadProblem | undefined;
  /** A hash of all pages of the newest complete list. If the next list has the same hash, its items are not parsed again. */
  digest: string | undefined;
  /** How many pages the last read of the list requested, even if it failed. */
  pages = 1;
  /** The number of requests per second that polls of this list are expected to need. The request budget adds up these numbers. */
  planned = 0;
  /** How many reads of the list have failed since the last complete read. */
  failures = 0;
  /** The greatest urgency of the Kubernetes objects that wait for a newer list. */
  urgency: 'edit' | 'wait' = 'edit';
  /** The monotonic time of the next poll. A Kubernetes object that waits for the list does not wait for this time. */
  pollAt = Number.NEGATIVE_INFINITY;
  /** The monotonic time at which a Kubernetes object last used the list. An unused list is forgotten after a while. */
  usedAt = Number.NEGATIVE_INFINITY;
  /**
   * The weight of a rate-limited read. Such reads share a part of the request budget: a read with four times the weight may be
   * repeated four times as often, but never more often than its own interval allows. The weight is 0 while no Kubernetes object
   * uses the read.
   */
  weight = 0;
  /** The moment that is reserved for a rate-limited read, as a monotonic time. Undefined while no moment is reserved. */
  reservedAt: number | undefined;
  /** True while the list is being read. This includes the time in which its requests wait for the request budget. */
  isUnderWay = false;
  /** Makes the waiting request for this list more urgent. Does nothing if no request waits. */
  raise: (urgency: 'edit' | 'wait') => void = nothing;
  cancelTimer = nothing;
  #wantedSince = Number.NEGATIVE_INFINITY;
  /** The monotonic time before which the list must not be read, even if a Kubernetes object waits for it. */
  #notBefore = Number.NEGATIVE_INFINITY;
  /**
   * `at` is the time at which the last read of the list began. `streak` counts the reads in a row that each began less
   * than 4 seconds after the read before. A longer gap sets `streak` to 0.
   */
  #newest = { at: Number.NEGATIVE_INFINITY, streak: 0 };

  constructor(read: Read) {
    this.read = read;
  }

  /**
   * True while a Kubernetes object uses the list and the operator polls it. A list with the pace `onDemand` is not
   * polled: it is read only when an object asks for a newer list.
   */
  get isPolled(): boolean {
    return this.followers > 0 && this.read.pace !== 'onDemand';
  }

  /** True while a Kubernetes object waits for a list that is newer than the snapshot. */
  get isWanted(): boolean {
    return this.#wantedSince > (this.snapshot?.begunAt ?? Number.NEGATIVE_INFINITY);
  }

  /** True while an item of the list is in transition, such as an environment that is being deployed. */
  get isBusy(): boolean {
    return this.snapshot !== undefined && (this.read.busy?.(this.snapshot.items) ?? false);
  }

  /**
   * Returns the poll interval without regard to the request budget. If polls would use too much of the budget, the real interval
   * is longer.
   */
  baseIntervalMs(pollMs: number): number {
    if (this.read.pace === 'hourly') return Math.max(hourMs, pollMs);
    return this.isBusy ? Math.min(busyMs, pollMs) : pollMs;
  }

  /** The monotonic time at which the list should be read next; infinite when no Kubernetes object needs the list. */
  get dueAt(): number {
    const { at, streak } = this.#newest;
    // If Kubernetes objects ask for a newer read again and again, the list is read at once, then one second later, and after that
    // every two seconds.
    const gapEnd = at + growingMs(streak, { firstMs: firstGapMs, longestMs: longestGapMs });
    const polled = this.isPolled ? this.pollAt : Number.POSITIVE_INFINITY;
    const wanted = this.isWanted ? Math.max(this.#wantedSince + hairMs, gapEnd) : Number.POSITIVE_INFINITY;
    return Math.max(Math.min(polled, wanted), this.#notBefore);
  }

  /** Remembers that a Kubernetes object waits for a read of the list that begins after `since`. */
  want(since: number, urgency: 'edit' | 'wait', now: number): void {
    this.usedAt = Math.max(now, since);
    if (urgency === 'edit' || !this.isWanted) this.urgency = urgency;
    this.#wantedSince = Math.max(this.#wantedSince, since);
    this.raise(this.urgency);
  }

  /** Remembers that a read of the list begins now. */
  begun(now: number): void {
    const { at, streak } = this.#newest;
    this.#newest = { at: now, streak: now - at < calmAfterMs ? streak + 1 : 0 };
  }

  /**
   * Replaces the snapshot by a list whose read began at `begunAt`. Returns the ids of the items that changed, and of their groups.
   */
  took({ items: found, digest, pages, dateMs }: CompleteList<unknown>, begunAt: number): ReadonlySet<string> {
    const before = this.snapshot?.items;
    const { items, changed } = merged(before, found ?? before ?? new Map<string, unknown>(), this.read.moving ?? []);
    this.digest = digest;
    this.pages = pages;
    this.snapshot = { items, begunAt: begunAt - hairMs, dateMs };
    this.problem = undefined;
    this.failures = 0;
    this.#notBefore = Number.NEGATIVE_INFINITY;
    return withGroups(changed, this.read, [before, items]);
  }

  /** Remembers that a read of the list failed. The list is read again at `againAt` at the earliest. */
  failed({ why, message, pages }: FailedList, now: number, againAt: number): void {
    this.failures += 1;
    this.pages = pages;
    this.#notBefore = againAt;
    this.pollAt = Math.max(this.pollAt, againAt);
    this.problem = { why, message, at: now };
  }

  /** If the list had failed because of the token, makes it due at once: the service accepts the token again. */
  tokenAccepted(): void {
    if (this.problem?.why !== 'unauthorized') return;
    this.#notBefore = Number.NEGATIVE_INFINITY;
    this.pollAt = Number.NEGATIVE_INFINITY;
    if (this.dueAt === Number.POSITIVE_INFINITY) this.problem = undefined;
  }
}

const mostPages = 1000;

/** The result of reading a list: all items, or the reason why the list could not be read. */
export type Listed<Item> = CompleteList<Item> | FailedList;

interface CompleteList<Item> {
  readonly complete: true;
  /**
   * All items by their ids. Undefined when all pages are the same, byte for byte, as at the last complete read: then they are not
   * parsed again.
   */
  readonly items: ReadonlyMap<string, Item> | undefined;
  /** A hash of all pages of the list. Two lists with equal pages have the same hash. */
  readonly digest: string;
  readonly pages: number;
  readonly dateMs: number | undefined;
}

/** The reason why a list could not be read. */
export interface FailedList {
  readonly complete: false;
  readonly why: ReadProblem['why'];
  readonly message: string;
  readonly pages: number;
  readonly retryAfterMs: number | undefined;
}

/** Builds the result for a list that could not be read. `pages` is the number of pages that were requested. */
export function failedList(why: ReadProblem['why'], message: string, pages: number, retryAfterMs?: number): FailedList {
  return { complete: false, why, message, pages, retryAfterMs };
}

/**
 * Reads all pages of a list. If one page cannot be read, the whole list fails. `known` is the hash of all pages at the last
 * complete read. If the new hash is the same, the items are not parsed again.
 *
 * A page fails when the service refuses it, when it cannot be parsed, or when it points back to an earlier page. If the list
 * changes while its pages are read, an item may be on two pages; then the item from the later page is kept.
 */
export async function fullList<Item>(
  read: Read<Item>,
  ask: (request: Request) => Promise<Seen>,
  known?: string,
): Promise<Listed<Item>> {
  const answers: Answer[] = [];
  const asked = new Set<string>();
  let request: Request | undefined = read.first;
  while (request !== undefined) {
    const pages = answers.length + 1;
    const page = JSON.stringify(request.query ?? {});
    if (asked.has(page) || pages > mostPages)
      return failedList('malformed', 'the list has too many pages, or a page points back to an earlier page', pages);
    asked.add(page);
    const seen: Seen = await ask(request);
    if (seen.was === 'answer' && seen.status === 404 && read.absentOn404 && pages === 1) {
      return { complete: true, items: new Map(), digest: 'absent', pages, dateMs: seen.dateMs };
    }
    const why = problemOf(seen);
    if (why !== undefined || seen.was !== 'answer') {
      const retryAfterMs = seen.was === 'answer' ? seen.retryAfterMs : undefined;
      return failedList(why ?? 'unreachable', seen.message, pages, retryAfterMs);
    }
    answers.push(seen);
    request = read.next?.(seen.body);
  }
  const digest = answers.map((answer) => answer.digest).join();
  const items = digest === known ? undefined : itemsIn(read, answers);
  if (items === 'malformed')
    return failedList(
      'malformed',
      "the answer does not have the form that the service's API documents",
      answers.length,
    );
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

/**
 * Merges a new list into the old list. An item that did not change stays the same object in memory. The set `changed` has the ids
 * of items that are new, gone, or different. Differences only in the fields that `moving` names are ignored.
 */
export function merged<Item>(
  before: ReadonlyMap<string, Item> | undefined,
  found: ReadonlyMap<string, Item>,
  moving: readonly string[],
): { readonly items: ReadonlyMap<string, Item>; readonly changed: ReadonlySet<string> } {
  if (before === found) return { items: found, changed: new Set() };
  const items = new Map<string, Item>();
  const changed = new Set<string>();
  for (const [id, item] of found) {
    const known = before?.get(id);
    if (known !== undefined && sameJson(known, item)) {
      items.set(id, known);
      continue;
    }
    items.set(id, item);
    if (known === undefined || !sameJson(known, item, moving)) changed.add(id);
  }
  for (const id of before?.keys() ?? []) if (!found.has(id)) changed.add(id);
  return { items, changed };
}

/**
 * Returns the ids of changed items together with the ids of their groups. A group is, for example, all environments of
 * one app. If an item moved from one group to another, the ids of both groups are added.
 */
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
