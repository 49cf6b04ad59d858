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

/** Does nothing: what there is to cancel where nothing is planned. */
export const nothing = (): void => undefined;

/** One read: all that is remembered of it, and when it is due. */
export class Reading {
  /** The read as last requested: a spec may ask for another interval of the same read. */
  read: Read;
  followers = 0;
  snapshot: Snapshot | undefined;
  problem: ReadProblem | undefined;
  /** Of the newest full list. */
  digest: string | undefined;
  /** Of the newest list, complete or not. */
  pages = 1;
  /** The requests per second that its polls were last counted with. */
  planned = 0;
  /** In a row. */
  failures = 0;
  wantedSince = Number.NEGATIVE_INFINITY;
  /** The greatest urgency among those who want a fresher list. */
  urgency: 'edit' | 'wait' = 'edit';
  pollAt = Number.NEGATIVE_INFINITY;
  /** No list begins earlier, whoever wants it. */
  notBefore = Number.NEGATIVE_INFINITY;
  /** When its newest list began, and how many came before it in quick succession. */
  newest = { at: Number.NEGATIVE_INFINITY, streak: 0 };
  usedAt: number;
  /** For a followed rate-limited read: the interval that it asks for. */
  wishMs: number | undefined;
  /** For a rate-limited read that is due: when it may be sent. */
  place: number | undefined;
  state: 'idle' | 'queued' | 'reading' = 'idle';
  /** Its id in the queue. */
  ticket = '';
  cancelTimer = nothing;

  constructor(read: Read, now: number) {
    this.read = read;
    this.usedAt = now;
  }

  /** True while somebody follows it and its pace is not `onDemand`. */
  get isPolled(): boolean {
    return this.followers > 0 && this.read.pace !== 'onDemand';
  }

  /** True while somebody waits for a fresher list than the newest. */
  get isWanted(): boolean {
    return this.wantedSince > (this.snapshot?.begunAt ?? Number.NEGATIVE_INFINITY);
  }

  /** True while something is under way among its items. */
  get isBusy(): boolean {
    return this.snapshot !== undefined && (this.read.busy?.(this.snapshot.items) ?? false);
  }

  /** The interval between polls before the budget lengthens it. */
  baseIntervalMs(pollMs: number): number {
    if (this.read.pace === 'hourly') return Math.max(hourMs, pollMs);
    return this.isBusy ? Math.min(busyMs, pollMs) : pollMs;
  }

  /** Monotonic time of the next list; infinite when none is needed. */
  get dueAt(): number {
    const { at, streak } = this.newest;
    // The first wanted list begins at once, the next one second later, further ones every two seconds.
    const gapEnd = at + growingMs(streak, { firstMs: firstGapMs, longestMs: longestGapMs });
    const polled = this.isPolled ? this.pollAt : Number.POSITIVE_INFINITY;
    const wanted = this.isWanted ? Math.max(this.wantedSince + hairMs, gapEnd) : Number.POSITIVE_INFINITY;
    return Math.max(Math.min(polled, wanted), this.notBefore);
  }

  /** Remembers that a list begins. */
  noteList(now: number): void {
    const { at, streak } = this.newest;
    this.newest = { at: now, streak: now - at < calmAfterMs ? streak + 1 : 0 };
  }
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

/**
 * Takes over the items of a list, frozen and lean: what is unchanged keeps its identity, the map itself included. `changed` has
 * the ids that came, went, or differ in more than the moving fields.
 */
export function merged<Item>(
  before: ReadonlyMap<string, Item> | undefined,
  found: ReadonlyMap<string, Item>,
  moving: readonly string[],
): { readonly items: ReadonlyMap<string, Item>; readonly changed: ReadonlySet<string> } {
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
