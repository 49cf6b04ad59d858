/** One read of the service: its state in the mirror, when it is due, how it is listed, and how a new list replaces the old one. */
import { sameJson } from '../../base/json.ts';
import { growingMs } from '../../base/time.ts';
import { groupId, type Read, type ReadProblem, type Request, type Snapshot } from '../../engine/ports.ts';
import { type Answer, problemOf, type Seen } from '../wire/transport.ts';

/** How much earlier `begunAt` of a snapshot is than the true start of its list. */
export const hairMs = 0.0001;

const hourMs = 3_600_000;
const busyMs = 4000;
const calmAfterMs = 4000;
const firstGapMs = 1000;
const longestGapMs = 2000;

/** Does nothing; serves as the cancel function when nothing is planned. */
export const nothing = (): void => undefined;

/** What the mirror remembers of one read, and when the read is due. */
export class Reading {
  /** The read as it was last requested; a changed spec may ask for another interval. */
  read: Read;
  followers = 0;
  snapshot: Snapshot | undefined;
  problem: ReadProblem | undefined;
  /** The digest of the newest full list. */
  digest: string | undefined;
  /** How many pages the newest list had, complete or not. */
  pages = 1;
  /** The requests per second that the budget reserves for polling this read. */
  planned = 0;
  /** How many lists in a row failed. */
  failures = 0;
  wantedSince = Number.NEGATIVE_INFINITY;
  /** The greatest urgency among the requests for a fresher list. */
  urgency: 'edit' | 'wait' = 'edit';
  pollAt = Number.NEGATIVE_INFINITY;
  /** Monotonic time before which no list begins, even if an object waits for one. */
  notBefore = Number.NEGATIVE_INFINITY;
  /** When the newest list began, and how many lists before it followed closely on each other. */
  newest = { at: Number.NEGATIVE_INFINITY, streak: 0 };
  usedAt: number;
  /** How often a rate-limited read should be repeated while objects follow it; undefined for other reads. */
  wishMs: number | undefined;
  /** The weight of this read in the shared part of the budget for rate-limited reads; 0 while no object follows the read. */
  weight = 0;
  /** The moment reserved for a rate-limited read that is due. */
  place: number | undefined;
  /** True while a list is under way or waits for its turn in the budget. */
  isUnderWay = false;
  /** Makes a list that waits for its turn more urgent. */
  raise: (urgency: 'edit' | 'wait') => void = nothing;
  cancelTimer = nothing;

  constructor(read: Read, now: number) {
    this.read = read;
    this.usedAt = now;
  }

  /** True while an object follows this read and its pace is not `onDemand`. */
  get isPolled(): boolean {
    return this.followers > 0 && this.read.pace !== 'onDemand';
  }

  /** True while an object waits for a list that is newer than the snapshot. */
  get isWanted(): boolean {
    return this.wantedSince > (this.snapshot?.begunAt ?? Number.NEGATIVE_INFINITY);
  }

  /** True while an item changes from one state to another, such as a deployment that runs. */
  get isBusy(): boolean {
    return this.snapshot !== undefined && (this.read.busy?.(this.snapshot.items) ?? false);
  }

  /** Returns the poll interval, before the budget lengthens it. */
  baseIntervalMs(pollMs: number): number {
    if (this.read.pace === 'hourly') return Math.max(hourMs, pollMs);
    return this.isBusy ? Math.min(busyMs, pollMs) : pollMs;
  }

  /** Monotonic time of the next list; infinite when none is needed. */
  get dueAt(): number {
    const { at, streak } = this.newest;
    // The first list that an object waits for begins at once, the next one second later, and further lists every two seconds.
    const gapEnd = at + growingMs(streak, { firstMs: firstGapMs, longestMs: longestGapMs });
    const polled = this.isPolled ? this.pollAt : Number.POSITIVE_INFINITY;
    const wanted = this.isWanted ? Math.max(this.wantedSince + hairMs, gapEnd) : Number.POSITIVE_INFINITY;
    return Math.max(Math.min(polled, wanted), this.notBefore);
  }

  /** Notes that a list begins now. */
  noteList(now: number): void {
    const { at, streak } = this.newest;
    this.newest = { at: now, streak: now - at < calmAfterMs ? streak + 1 : 0 };
  }
}

const mostPages = 1000;

/** The result of a list: all items, or why the list failed. */
export type Listed<Item> =
  | {
      readonly complete: true;
      /** All items by id; undefined when every page has the same bytes as in the previous list. */
      readonly items: ReadonlyMap<string, Item> | undefined;
      /** A hash of all pages: equal lists have equal digests. */
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

/** Builds the result of a list that failed after the given number of pages. */
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
 * The list fails when a page is refused, cannot be parsed, or points back to an earlier page. When the list changes meanwhile and
 * an item is on two pages, the later form of the item counts.
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

/**
 * Merges a new list into the old one. Unchanged items keep their object identity. `changed` has the ids of items that are new,
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

/** Adds the ids of groups to the changed ids: the groups to which the changed items belong now or belonged before. */
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
