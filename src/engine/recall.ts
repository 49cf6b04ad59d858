import type { JournalEntry, Notes, Verdict } from './kind/step.ts';
import type { Json } from './ports.ts';

/** What this process remembers of one object between passes. Losing all of it only costs time. */
export interface Recall {
  notes: Notes;
  wrote: { readonly at: number; readonly fields: Readonly<Record<string, Json>> } | undefined;
  journalSeen: { readonly entry: string; readonly monotonic: number; readonly wall: number } | undefined;
  /** The open entry as it was written last: it counts even when somebody wipes the status. */
  journal: JournalEntry | undefined;
  /** When the object first asked for what it is waiting to read. */
  askedAt: number | undefined;
  /** A request that the service refused, so that the same one is not sent again at every wake. */
  refused: { readonly digest: string; readonly at: number; readonly verdict: Verdict<unknown> } | undefined;
  /** When each field was corrected because somebody had changed it. */
  corrections: ReadonlyMap<string, readonly number[]>;
  /** The token of `apphosting.dev/reconcile-at` that is being honoured, and since when. */
  forced: { readonly token: string; readonly since: number } | undefined;
}

const contestWindowMs = 600_000;
const contestLimit = 5;

/** Recalls by uid, so that a recreated object starts afresh. */
export class Recalls {
  readonly #byUid = new Map<string, Recall>();

  of(uid: string): Recall {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const fresh: Recall = {
      notes: {},
      wrote: undefined,
      journalSeen: undefined,
      journal: undefined,
      askedAt: undefined,
      refused: undefined,
      corrections: new Map(),
      forced: undefined,
    };
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}

/** When this process first saw an open journal entry. */
export function seenJournal(
  recall: Recall,
  entry: JournalEntry | undefined,
  now: { readonly monotonic: number; readonly wall: number },
): { readonly monotonic: number; readonly wall: number } {
  if (entry === undefined) {
    recall.journalSeen = undefined;
    return now;
  }
  const name = `${entry.operation}/${entry.attempt}/${entry.startedAt}`;
  if (recall.journalSeen?.entry !== name) recall.journalSeen = { entry: name, ...now };
  return recall.journalSeen;
}

/** Notes a correction of fields that somebody else had changed. */
export function corrected(recall: Recall, fields: readonly string[], now: number): void {
  const next = new Map(recall.corrections);
  for (const field of fields) {
    const recent = (next.get(field) ?? []).filter((at) => now - at < contestWindowMs);
    next.set(field, [...recent, now]);
  }
  recall.corrections = next;
}

/** Fields that were corrected so often in a short time that somebody else must want them otherwise. */
export function contested(recall: Recall, now: number): ReadonlySet<string> {
  const fields = [...recall.corrections].filter(
    ([, times]) => times.filter((at) => now - at < contestWindowMs).length >= contestLimit,
  );
  return new Set(fields.map(([field]) => field));
}
