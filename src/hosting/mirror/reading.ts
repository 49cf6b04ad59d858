/** One read of the service: its state in the mirror and when it is due, one full list of it, and the items that a list leaves. */
import { sameJson, Secret } from '../../base/json.ts';
import { growingMs } from '../../base/time.ts';
import { groupId, type Read, type ReadProblem, type Request, type Snapshot } from '../../engine/ports.ts';
import { type Answer, problemOf, type Seen } from '../wire/transport.ts';

/** How much earlier than its real start a list is dated. */
export const hairMs = 0.0001;

const hourMs = 3_600_000;
const busyMs = 4000;
const calmAfterMs = 4000;
const firstGapMs = 1000;
const longestGapMs = 2000;

/** One read and all that is remembered of it. */
export interface Reading {
  /** The read as last requested: a spec may ask for another interval of the same read. */
  read: Read;
  followers: number;
  snapshot: Snapshot | undefined;
  problem: ReadProblem | undefined;
  /** Of the newest full list. */
  digest: string | undefined;
  /** Of the newest list, complete or not. */
  pages: number;
  /** The requests per second that its polls were last counted with. */
  planned: number;
  /** In a row. */
  failures: number;
  wantedSince: number;
  /** The greatest urgency among those who want a fresher list. */
  urgency: 'edit' | 'wait';
  pollAt: number;
  /** No list begins earlier, whoever wants it. */
  notBefore: number;
  /** When its newest list began, and how many came before it in quick succession. */
  newest: { readonly at: number; readonly streak: number };
  usedAt: number;
  /** For a followed rate-limited read: the interval that it asks for. */
  wishMs: number | undefined;
  /** For a rate-limited read that is due: when it may be sent. */
  place: number | undefined;
  state: 'idle' | 'queued' | 'reading';
  /** Its id in the queue. */
  ticket: string;
  cancelTimer: () => void;
}

/** A read that was never asked. */
export function newReading(read: Read, now: number): Reading {
  return {
    read,
    followers: 0,
    snapshot: undefined,
    problem: undefined,
    digest: undefined,
    pages: 1,
    planned: 0,
    failures: 0,
    wantedSince: Number.NEGATIVE_INFINITY,
    urgency: 'edit',
    pollAt: Number.NEGATIVE_INFINITY,
    notBefore: Number.NEGATIVE_INFINITY,
    newest: { at: Number.NEGATIVE_INFINITY, streak: 0 },
    usedAt: now,
    wishMs: undefined,
    place: undefined,
    state: 'idle',
    ticket: '',
    cancelTimer: () => undefined,
  };
}

/** True while somebody follows it and its pace is not `onDemand`. */
export function isPolled(reading: Reading): boolean {
  return reading.followers > 0 && reading.read.pace !== 'onDemand';
}

/** True while somebody waits for a fresher list than the newest. */
export function isWanted(reading: Reading): boolean {
  return reading.wantedSince > (reading.snapshot?.begunAt ?? Number.NEGATIVE_INFINITY);
}

/** True while something is under way among its items. */
export function isBusy(reading: Reading): boolean {
  return reading.snapshot !== undefined && (reading.read.busy?.(reading.snapshot.items) ?? false);
}

/** The interval between polls before the budget lengthens it. */
export function baseIntervalMs(reading: Reading, pollMs: number): number {
  if (reading.read.pace === 'hourly') return Math.max(hourMs, pollMs);
  return isBusy(reading) ? Math.min(busyMs, pollMs) : pollMs;
}

/** The requests per second that polling it would take before the budget lengthens the interval. */
export function plannedPerSecond(reading: Reading, pollMs: number): number {
  return isPolled(reading) && reading.read.pace !== 'rateLimited'
    ? (1000 * reading.pages) / baseIntervalMs(reading, pollMs)
    : 0;
}

/** Monotonic time of the next list; infinite when none is needed. */
export function dueAt(reading: Reading): number {
  const polled = isPolled(reading) ? reading.pollAt : Number.POSITIVE_INFINITY;
  const wanted = isWanted(reading) ? Math.max(reading.wantedSince + hairMs, gapEnd(reading)) : Number.POSITIVE_INFINITY;
  return Math.max(Math.min(polled, wanted), reading.notBefore);
}

/** Spaces out wanted lists: the first begins at once, the next one second later, further ones every two seconds. */
function gapEnd(reading: Reading): number {
  const { at, streak } = reading.newest;
  return at + growingMs(streak, { firstMs: firstGapMs, longestMs: longestGapMs });
}

/** Remembers that a list begins. */
export function noteList(reading: Reading, now: number): void {
  const { at, streak } = reading.newest;
  reading.newest = { at: now, streak: now - at < calmAfterMs ? streak + 1 : 0 };
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
