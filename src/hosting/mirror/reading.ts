/** The state of one read in the mirror, and when it is due. */
import { growingMs } from '../../base/time.ts';
import type { Read, ReadProblem, Snapshot } from '../../engine/ports.ts';

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
