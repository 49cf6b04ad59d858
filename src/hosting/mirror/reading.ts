/**
 * One list or object that the operator reads from the service again and again: its state, when the next read is due, how all
 * pages are read, and how a new list replaces the old one.
 */
import { sameJson } from '../../base/json.ts';
import { growingMs } from '../../base/time.ts';
import { groupId, type Read, type ReadProblem, type Request, type Snapshot } from '../../engine/ports.ts';
import { type Answer, problemOf, type Seen } from '../wire/transport.ts';

/**
 * The number of ms by which `begunAt` of a snapshot is earlier than the true start of its list. A list that starts in the tick in
 * which a write ends then counts as older than the write, because it may not show the write.
 */
export const hairMs = 0.0001;

const hourMs = 3_600_000;
const busyMs = 4000;
const calmAfterMs = 4000;
const firstGapMs = 1000;
const longestGapMs = 2000;

/** Does nothing; used as the cancel function when no timer is set. */
export const nothing = (): void => undefined;

/** The state of one polled list of the service, and the time at which the list is read next. */
export class Reading {
  /** The newest definition of this read. It is replaced when a changed spec asks for another interval. */
  read: Read;
  followers = 0;
  snapshot: Snapshot | undefined;
  problem: ReadProblem | undefined;
  /** A hash of all pages of the newest complete list. If the next list has the same hash, its items are not parsed again. */
  digest: string | undefined;
  /** The number of pages of the newest list that were read, whether or not the list is complete. */
  pages = 1;
  /** The requests per second that the budget reserves for polling this read. */
  planned = 0;
  /** The number of lists that failed in a row. */
  failures = 0;
  wantedSince = Number.NEGATIVE_INFINITY;
  /** The greatest urgency with which a newer list was asked for. */
  urgency: 'edit' | 'wait' = 'edit';
  pollAt = Number.NEGATIVE_INFINITY;
  /** Monotonic time before which no list begins, even if a Kubernetes object waits for a list. */
  notBefore = Number.NEGATIVE_INFINITY;
  /**
   * The time at which the newest list began, and how many times in a row a list began less than 4 seconds after the one before
   * it.
   */
  newest = { at: Number.NEGATIVE_INFINITY, streak: 0 };
  usedAt: number;
  /** The interval, in ms, at which Kubernetes objects want a rate-limited read to be repeated; undefined for other reads. */
  wishMs: number | undefined;
  /**
   * How much this read counts when rate-limited reads share their part of the request budget; 0 while no Kubernetes object uses
   * the read.
   */
  weight = 0;
  /** The monotonic time that is reserved for a rate-limited read that is due; undefined while no time is reserved. */
  place: number | undefined;
  /** True while a list is being read or waits for its turn in the budget. */
  isUnderWay = false;
  /** Makes a list more urgent while the list waits for its turn in the budget. */
  raise: (urgency: 'edit' | 'wait') => void = nothing;
  cancelTimer = nothing;

  constructor(read: Read, now: number) {
    this.read = read;
    this.usedAt = now;
  }

  /** True while a Kubernetes object needs this read and the read is repeated automatically (its pace is not `onDemand`). */
  get isPolled(): boolean {
    return this.followers > 0 && this.read.pace !== 'onDemand';
  }

  /** True while a Kubernetes object waits for a list that is newer than the snapshot. */
  get isWanted(): boolean {
    return this.wantedSince > (this.snapshot?.begunAt ?? Number.NEGATIVE_INFINITY);
  }

  /** True while an item of the list is in transition, such as an environment that is being deployed. */
  get isBusy(): boolean {
    return this.snapshot !== undefined && (this.read.busy?.(this.snapshot.items) ?? false);
  }

  /** Returns the poll interval, before the budget lengthens it. */
  baseIntervalMs(pollMs: number): number {
    if (this.read.pace === 'hourly') return Math.max(hourMs, pollMs);
    return this.isBusy ? Math.min(busyMs, pollMs) : pollMs;
  }

  /** Monotonic time at which the next list begins; infinite when no list is needed. */
  get dueAt(): number {
    const { at, streak } = this.newest;
    // The first list that a Kubernetes object waits for begins at once, the next list one second later, and further lists every
    // two seconds.
    const gapEnd = at + growingMs(streak, { firstMs: firstGapMs, longestMs: longestGapMs });
    const polled = this.isPolled ? this.pollAt : Number.POSITIVE_INFINITY;
    const wanted = this.isWanted ? Math.max(this.wantedSince + hairMs, gapEnd) : Number.POSITIVE_INFINITY;
    return Math.max(Math.min(polled, wanted), this.notBefore);
  }

  /** Records that the operator begins to read the list now. */
  noteList(now: number): void {
    const { at, streak } = this.newest;
    this.newest = { at: now, streak: now - at < calmAfterMs ? streak + 1 : 0 };
  }
}

const mostPages = 1000;

/** The result of reading a list: all items, or the reason why the list could not be read. */
export type Listed<Item> =
  | {
      readonly complete: true;
      /** All items by id; undefined when every page has the same bytes as in the previous list. */
      readonly items: ReadonlyMap<string, Item> | undefined;
      /** A hash of all pages of the list. Two lists with equal pages have the same hash. */
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

/** Builds the result for a list that could not be read. `pages` is the number of pages that were requested. */
export function failed(
  why: ReadProblem['why'],
  message: string,
  pages: number,
  retryAfterMs?: number,
): Listed<never> & { readonly complete: false } {
  return { complete: false, why, message, pages, retryAfterMs };
}

/**
 * Reads all pages of a list, or fails as a whole. `known` is the digest of the previous list.
 *
 * The list fails when a page is refused, cannot be parsed, or points back to an earlier page. If an item is on two pages,
 * because the list changed between the pages, the later page counts.
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
      return failed('malformed', 'the list has too many pages, or a page points back to an earlier page', pages);
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
    return failed('malformed', "the answer does not have the form that the service's API documents", answers.length);
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
 * Merges a new list into the old list. Unchanged items keep their object identity. `changed` has the ids of items that are new,
 * gone, or different in fields other than `moving`.
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
 * Adds the ids of groups to the ids of changed items. A group contains, for example, all environments of one app. For each
 * changed item, the group to which it belongs now and the group to which it belonged before are added.
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
