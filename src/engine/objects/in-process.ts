import type { Json } from '../../base/json.ts';
import type { Clock } from '../../base/clock.ts';
import type { OperatorKey } from '../status/fingerprint.ts';
import { withoutMisses } from '../kind/planner/observe.ts';
import type { JournalEntry, Memory, Notes } from '../kind/contract/step.ts';
import type { LeftMarks, FailedCall } from '../call/call-backoff.ts';

/** What this process remembers of one object between passes. Losing all of it only costs time. */
export interface InProcess {
  notes: Notes;
  /** What was written last to each field of the object in the service that has the id `to`. */
  wrote:
    | { readonly to: string | undefined; readonly at: number; readonly fields: Readonly<Record<string, Json>> }
    | undefined;
  journalSeen: { readonly entry: string; readonly monotonic: number; readonly wall: number } | undefined;
  /** The open entry as it was written last: it counts even when somebody wipes the status. */
  journal: JournalEntry | undefined;
  /** What an answer of the service told and status does not carry yet: it counts even when the pass fails meanwhile. */
  unwritten: Partial<Memory<unknown>> | undefined;
  /** When the object first asked for what it is waiting to read. */
  askedAt: number | undefined;
  /** Since when this process knows the object, until it first sends something for it or comes to an end with it. */
  newSince: number | undefined;
  /** The last pass came as far as looking at the service; one that is held up before can prove nothing. */
  looks: boolean;
  /** Since when a new object waits, without a word in status, for what may come with the same apply. */
  heldBackAt: number | undefined;
  /** The object's mark in the account that it was last looked at in. */
  marker: { readonly where: string; readonly text: string } | undefined;
  /** The newest call that came to nothing, so that the same one is not sent again at every wake. */
  failedCall: FailedCall | undefined;
  /** What that call left in status. */
  marks: LeftMarks | undefined;
  /** How many calls in a row came to nothing. */
  failures: number;
  /** What those depend on besides their content; see `noteCircumstances`. */
  circumstances: string | undefined;
  /** What is known of a fight over fields with somebody else. */
  contest: Contest;
  /** The token of `apphosting.dev/reconcile-at` that is being honoured, and since when. */
  forced: { readonly token: string; readonly since: number } | undefined;
}

/** A fight over fields while the spec is of one generation. */
interface Contest {
  readonly generation: number;
  /** When each field was corrected because somebody had changed it. */
  readonly corrections: ReadonlyMap<string, readonly number[]>;
  /** The newest correction that nobody knows the end of. */
  readonly lost: { readonly fields: readonly string[]; readonly at: number } | undefined;
  /** Fields that are left as they are, and since when. */
  readonly left: { readonly fields: ReadonlySet<string>; readonly since: number } | undefined;
}

const peace = { corrections: new Map<string, readonly number[]>(), lost: undefined, left: undefined };
const contestWindowMs = 600_000;
const contestLimit = 5;

/** Recalls by uid, so that a recreated object starts afresh. */
export class InProcessStates {
  readonly #byUid = new Map<string, InProcess>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(uid: string): InProcess {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const fresh: InProcess = {
      notes: {},
      wrote: undefined,
      journalSeen: undefined,
      journal: undefined,
      unwritten: undefined,
      askedAt: undefined,
      newSince: this.#clock.monotonic(),
      looks: false,
      heldBackAt: undefined,
      marker: undefined,
      failedCall: undefined,
      marks: undefined,
      failures: 0,
      circumstances: undefined,
      contest: { generation: -1, ...peace },
      forced: undefined,
    };
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}

/** What was written to the object in the service that has this id. */
export function writtenTo({ wrote }: InProcess, id: string | undefined): InProcess['wrote'] {
  return wrote?.to === id ? wrote : undefined;
}

/**
 * The notes without the miss of an object that was seen after it. What is proved gone was missed twice in a row: however a pass
 * ends that sees the object again, the next miss is a first one.
 */
export function seenAgain(
  notes: Notes,
  id: string | undefined,
  view: { shownAfter(at: number, id: string): boolean },
): Notes {
  const { missedAt } = notes;
  return missedAt !== undefined && id !== undefined && view.shownAfter(missedAt, id) ? withoutMisses(notes) : notes;
}

/** When this process first saw an open journal entry. */
export function seenJournal(
  inProcess: InProcess,
  entry: JournalEntry | undefined,
  now: { readonly monotonic: number; readonly wall: number },
): { readonly monotonic: number; readonly wall: number } {
  if (entry === undefined) {
    inProcess.journalSeen = undefined;
    return now;
  }
  const name = `${entry.operation}/${entry.attempt}/${entry.startedAt}`;
  if (inProcess.journalSeen?.entry !== name) inProcess.journalSeen = { entry: name, ...now };
  return inProcess.journalSeen;
}

/** Notes a correction of fields that somebody else had changed. */
export function corrected(inProcess: InProcess, generation: number, fields: readonly string[], now: number): void {
  const contest = contestOf(inProcess, generation);
  const corrections = new Map(contest.corrections);
  for (const field of fields) {
    const recent = (corrections.get(field) ?? []).filter((at) => now - at < contestWindowMs);
    corrections.set(field, [...recent, now]);
  }
  inProcess.contest = { ...contest, corrections, lost: undefined };
}

/** The answer to a correction was lost: it counts as one when the service shows what it was to set (`wentThrough`). */
export function correctedPerhaps(
  inProcess: InProcess,
  generation: number,
  fields: readonly string[],
  now: number,
): void {
  inProcess.contest = { ...contestOf(inProcess, generation), lost: { fields, at: now } };
}

/** The object stands as this generation of the spec wants it: so a lost correction of it was carried out. */
export function wentThrough(inProcess: InProcess, generation: number): void {
  const { lost } = inProcess.contest;
  if (lost !== undefined && inProcess.contest.generation === generation)
    corrected(inProcess, generation, lost.fields, lost.at);
}

function contestOf({ contest }: InProcess, generation: number): Contest {
  return contest.generation === generation ? contest : { generation, ...peace };
}

/**
 * Fields that are left as they are, since somebody else must want them otherwise: they were corrected too often in a short
 * time. Time alone does not end that, or the fight would go on for ever; an edit of the spec, `reconcile-at`, and the field
 * standing as the spec wants it (`resolved`) do.
 */
export function contested(inProcess: InProcess, generation: number, now: number): ReadonlySet<string> {
  const { left } = inProcess.contest;
  const isAsked = left !== undefined && inProcess.forced !== undefined && inProcess.forced.since >= left.since;
  if (inProcess.contest.generation !== generation || isAsked) resolved(inProcess, generation);
  if (inProcess.contest.left !== undefined) return inProcess.contest.left.fields;
  const often = [...inProcess.contest.corrections].filter(
    ([, times]) => times.filter((at) => now - at < contestWindowMs).length >= contestLimit,
  );
  return new Set(often.map(([field]) => field));
}

/** Contested fields were found changed once more: they are left as they are from now on. */
export function conceded(inProcess: InProcess, fields: ReadonlySet<string>, now: number): void {
  inProcess.contest = { ...inProcess.contest, left: inProcess.contest.left ?? { fields, since: now } };
}

/** Nobody fights any more. */
export function resolved(inProcess: InProcess, generation: number): void {
  inProcess.contest = { generation, ...peace };
}

/** The mark of an object in the account that it is looked at in, computed once. */
export function markOf(
  inProcess: InProcess,
  key: Pick<OperatorKey, 'marker'>,
  { endpoint, accountId }: { readonly endpoint: string; readonly accountId: string },
  uid: string,
): string {
  const where = `${endpoint}|${accountId}`;
  if (inProcess.marker?.where !== where) inProcess.marker = { where, text: key.marker(endpoint, accountId, uid) };
  return inProcess.marker.text;
}
