/**
 * What this process remembers about each object between reconciles: the values that were sent, and the calls that have
 * to wait.
 */
import type { Json } from '../../base/json.ts';
import { type Clock, type Entropy, type Moment, retryPauseMs } from '../../base/time.ts';
import type { OperatorKey } from '../kind/planner/compare.ts';
import { withoutMisses } from '../kind/planner/observe.ts';
import { tryingAgain } from '../kind/planner/planner.ts';
import type { Notes } from '../kind/contract/notes.ts';
import type { JournalEntry, Memory, Verdict } from '../kind/contract/step.ts';
import type { Referred } from '../kind/contract/pass.ts';
import { annotations, group } from '../kind/contract/define.ts';
import type { ServicePlace, KubeObject } from '../ports.ts';
import type { RecordingView } from './subscriptions.ts';

/** The newest call of an object that failed or was refused. */
interface FailedCall {
  /**
   * The fingerprint of the request that has to wait. Usually this is the failed request. If its response contained an
   * id, the next request will contain that id; then the fingerprint is undefined until that request is known.
   */
  readonly fingerprint: string | undefined;
  readonly at: number;
  /** True when the service refused the call; false when the call failed or its outcome is unknown. */
  readonly isNo: boolean;
  /** The verdict that status reports about the failed call until the call is sent again. */
  readonly verdict: Verdict;
  readonly until: number;
  /**
   * True when a list contained an object that explains why the service refused the call, such as another object of the
   * same name.
   */
  readonly wasObstructed?: boolean;
}

/** A correction of a field that somebody else had changed in the service. */
interface Correction {
  readonly generation: number;
  readonly field: string;
  readonly at: number;
}

const contestWindowMs = 600_000;
const contestLimit = 5;

/**
 * The pause before a refused call is sent again, if its verdict contains no other pause. Some changes end the pause
 * earlier.
 */
const refusedForMs = 600_000;

/** What this process remembers of one object between reconciles. If this is lost, the operator only needs more time. */
export class InProcess {
  notes: Notes = {};
  /**
   * The values that the operator sent last, by field, with the time (`at`) and the id of the object that received them
   * (`to`).
   */
  wrote:
    | { readonly to: string | undefined; readonly at: number; readonly fields: Readonly<Record<string, Json>> }
    | undefined;
  /**
   * The newest journal entry that this process wrote. If somebody wipes the status, the entry of a create call is
   * restored from here.
   */
  journal: JournalEntry | undefined;
  /**
   * Values from a response of the service that are not in status yet. They are kept here so that they are not lost when
   * the reconcile ends before they are written.
   */
  unwritten: Partial<Memory> | undefined;
  /** Monotonic time since which the object waits for a read of the service. Undefined if it waits for no read. */
  askedAt: number | undefined;
  /**
   * Monotonic time at which this process first saw the object. Becomes undefined as soon as this process makes a call
   * for the object or reports a result of its reconcile.
   */
  newSince: number | undefined;
  /**
   * True when the last reconcile of the object by this process could read the service. False before the first reconcile,
   * and while the object is paused, lacks something that its spec refers to, or has an invalid spec or a damaged journal.
   */
  looks = false;
  /**
   * The newest call that failed or was refused. Such a call is not repeated at every reconcile, but only after a pause.
   */
  failedCall: FailedCall | undefined;
  /** The number of consecutive calls of the object that failed or were refused. */
  failures = 0;
  /** Monotonic time at which a change in the service was first seen that is not in status yet. */
  unreportedSince: number | undefined;
  /** The value of the annotation `apphosting.dev/reconcile-at` that is being handled, and since when. */
  forced: { readonly token: string; readonly since: number } | undefined;
  readonly #uid: string;
  #journalSeen: (Moment & { readonly entry: string }) | undefined;
  /** The ownership mark of the object, with the account for which the mark was computed. */
  #mark: { readonly where: string; readonly text: string } | undefined;
  /**
   * Everything that may affect whether a retry of the failed call succeeds, except the request itself, as one string.
   * When this string changes, the backoff ends. See `noteCircumstances`.
   */
  #circumstances: string | undefined;
  #corrections: readonly Correction[] = [];
  /**
   * The generation of the spec for which the operator has stopped correcting contested fields (fields that somebody
   * else keeps changing); undefined while it corrects all fields.
   */
  #contestedIn: number | undefined;

  constructor(uid: string, newSince: number) {
    this.#uid = uid;
    this.newSince = newSince;
  }

  /**
   * Called with the value of the annotation `apphosting.dev/reconcile-at`, unless it was handled already. After a new
   * value, the operator again sends corrections that had no visible effect, and again corrects contested fields.
   */
  noteForced(token: string | undefined, now: number): void {
    if (token === this.forced?.token) return;
    this.forced = token === undefined ? undefined : { token, since: now };
    if (token === undefined) return;
    this.notes = tryingAgain(this.notes);
    this.#endContest();
  }

  /**
   * Called when a reconcile begins that reads the service. If the last one did not, for example because the object was
   * paused, reads that were requested before are not used. Earlier reads that did not contain an object are forgotten
   * too, because only two consecutive reads without it prove that it is gone; a proof that is complete stays.
   */
  beginLooking(): void {
    if (!this.looks) {
      const { missed: _missed, ...notes } = this.notes;
      this.askedAt = undefined;
      this.notes = notes.provedGone === true ? notes : withoutMisses(notes);
    }
    this.looks = true;
  }

  /**
   * Called when the service has carried out a call. `to` is the id of the object that the call is about, `fields` are
   * the values that the call wrote, and `notes` are those for the next step.
   */
  carriedOut(to: string | undefined, at: number, fields: Readonly<Record<string, Json>> = {}, notes: Notes = {}): void {
    this.wentWell();
    this.askedAt = undefined;
    this.wrote = { to, at, fields: { ...this.writtenTo(to)?.fields, ...fields } };
    this.notes = notes;
  }

  /** Returns the newest values that the operator sent to the object with this id. */
  writtenTo(id: string | undefined): InProcess['wrote'] {
    return this.wrote?.to === id ? this.wrote : undefined;
  }

  /** Removes the note that an object was not found, if a newer read contains the object. `id` is the resource's own. */
  noteShown(id: string | undefined, view: Pick<RecordingView, 'shownAfter'>): void {
    const { missedAt, missed } = this.notes;
    if (missedAt !== undefined && id !== undefined && view.shownAfter(missedAt, id))
      this.notes = withoutMisses(this.notes);
    if (missed === undefined) return;
    const still = Object.entries(missed).filter(([other, at]) => !view.shownAfter(at, other));
    this.notes = { ...this.notes, missed: Object.fromEntries(still) };
  }

  /**
   * Returns the moment at which this process first reconciled the object with this journal entry; the present moment if
   * there is no entry. A standby does not reconcile, so in a new leader this moment comes after it became the leader.
   */
  journalSeen(entry: JournalEntry | undefined, now: Moment): Moment {
    if (entry === undefined) {
      this.#journalSeen = undefined;
      return now;
    }
    const name = `${entry.operation}/${entry.attempt}/${entry.startedAt}`;
    if (this.#journalSeen?.entry !== name) this.#journalSeen = { entry: name, ...now };
    return this.#journalSeen;
  }

  /** Returns the ownership mark of the object in an account. The mark is computed only once. */
  mark(key: Pick<OperatorKey, 'mark'>, { endpoint, accountId }: ServicePlace): string {
    const where = `${endpoint}|${accountId}`;
    if (this.#mark?.where !== where) this.#mark = { where, text: key.mark(endpoint, accountId, this.#uid) };
    return this.#mark.text;
  }

  // ---- contested fields: fields that both the operator and somebody else keep changing ----

  /** Counts a correction of fields that somebody else had changed in the service. */
  corrected(generation: number, fields: readonly string[], at: number): void {
    this.#corrections = [...this.#counted(generation, at), ...fields.map((field) => ({ generation, field, at }))];
  }

  /**
   * Returns the fields that the operator no longer corrects, because somebody else changed them too often in a short
   * time. Correcting resumes when the spec is edited, when the annotation `reconcile-at` is set to a new value, or when
   * the values in the service equal the spec. It does not resume after some time alone, or two writers would overwrite
   * each other for ever.
   */
  contested(generation: number, now: number): ReadonlySet<string> {
    const often = [...Map.groupBy(this.#counted(generation, now), ({ field }) => field)];
    return new Set(often.filter(([, { length }]) => length >= contestLimit).map(([field]) => field));
  }

  /**
   * Returns the corrections that count against the limit for contested fields: those of the last ten minutes under this
   * generation of the spec. While contested fields are left as they are, older corrections count too, so that the
   * operator does not resume correcting after some time alone.
   */
  #counted(generation: number, now: number): readonly Correction[] {
    const isLeft = this.#contestedIn === generation;
    return this.#corrections.filter(
      (one) => one.generation === generation && (isLeft || now - one.at < contestWindowMs),
    );
  }

  /**
   * Called with the verdict that status will report. From a verdict `Contested` on, the operator leaves contested fields
   * (fields that somebody else keeps changing) as they are. It corrects them again after a verdict `ready`, when the
   * object in the service equals the spec.
   */
  noteVerdict(verdict: Verdict, generation: number): void {
    if (verdict.is !== 'ready' && verdict.reason === 'Contested') this.#contestedIn = generation;
    if (verdict.is === 'ready' && this.#contestedIn !== undefined) this.#endContest();
  }

  /** Forgets all corrections, so that the operator again corrects the fields that somebody else kept changing. */
  #endContest(): void {
    this.#corrections = [];
    this.#contestedIn = undefined;
  }

  // ---- backoff of calls ----
  //
  // Remembers the newest call of the object that failed or was refused, and when it may be sent again.
  //
  // Guarantees: however often the object is reconciled, a failed call is repeated only after a pause that grows with
  // each consecutive failure. A refused call is repeated only after ten minutes, or after the pause that its kind
  // chose. A different call is sent at once.
  //
  // The pause ends early, and the count of failures is reset, when something changes that may let the call succeed: the
  // object, the objects that it refers to, one of its annotations for this operator, the credential, or the set of
  // objects that block its deletion. The pause after a failure also ends when the service can be read again. If the
  // service refused a call because a name is taken, the pause also ends when the name becomes free.
  //
  // All of this is remembered only by this process: after a restart, the call is tried once more than necessary.
  //
  // Why: docs/design/at-most-once.md#only-the-failed-call-waits-not-its-resource

  /**
   * Starts the backoff of a call, and returns the pause. After a refusal, the pause is the one in the verdict, or ten
   * minutes if the verdict contains none. After a failure, the pause grows with each failure or refusal in a row, up to
   * five minutes; a longer pause in the verdict takes precedence.
   */
  backOff({ verdict: said, isNo, ...failedCall }: Omit<FailedCall, 'until'>, entropy: Entropy): number {
    const wishMs = said.is === 'wait' ? said.retryInMs : undefined;
    const pauseMs = isNo ? (wishMs ?? refusedForMs) : Math.max(retryPauseMs(this.failures, entropy), wishMs ?? 0);
    // Each reconcile during the pause reports this verdict again. If the first verdict removed the journal entry, each
    // repetition removes it again. The repetitions need no other values from `remember`, because those are stored
    // already.
    const { remember = {}, note, ...verdict } = said;
    const ended = 'journal' in remember && { remember: { journal: remember.journal } };
    // Each reconcile during the pause after a refusal also stores the notes of the verdict again, because other steps may
    // have replaced them.
    const repeated = { ...verdict, ...ended, ...(isNo && note !== undefined && { note }) };
    this.failedCall = { ...failedCall, verdict: repeated, isNo, until: failedCall.at + pauseMs };
    this.failures += 1;
    return pauseMs;
  }

  /**
   * Ends the backoff. Called when a call succeeded, when the object needs no call any more, or when something has
   * changed that may let the failed call succeed.
   */
  wentWell(): void {
    this.failedCall = undefined;
    this.failures = 0;
  }

  /** Returns the earlier failure because of which this call still has to wait; undefined when the call may be sent. */
  backedOff(fingerprint: string, now: number): FailedCall | undefined {
    const { failedCall, forced } = this;
    if (failedCall === undefined || (failedCall.fingerprint ?? fingerprint) !== fingerprint || now >= failedCall.until)
      return undefined;
    if ((forced?.since ?? failedCall.at) > failedCall.at) return undefined;
    // If the response to the failed call contained an id, the request that has to wait was not known until now. So
    // store its fingerprint.
    this.failedCall = { ...failedCall, fingerprint };
    return failedCall;
  }

  /**
   * True when the backoff of the call is over, but the kind decided on the call with data that was read before the
   * backoff ended. The service must then be read again before the call is sent.
   */
  isSeenTooEarly(fingerprint: string, now: number): boolean {
    const { failedCall, askedAt } = this;
    if (failedCall === undefined || failedCall.fingerprint !== fingerprint || now < failedCall.until) return false;
    return askedAt !== undefined && askedAt < failedCall.until;
  }

  /**
   * Ends the backoff when something has changed that may let the failed call succeed. `blockers` are the keys of the
   * objects that may block the deletion of this object.
   */
  noteCircumstances(
    { metadata }: KubeObject,
    { fingerprint }: { readonly fingerprint: string },
    referred: ReadonlyMap<string, Referred>,
    blockers: readonly string[],
  ): void {
    // Ignore annotations that belong to other tools, however often they change, because the operator does not read them.
    const steering = Object.entries(metadata.annotations ?? {}).filter(
      ([name]) => name.startsWith(`${group}/`) && name !== annotations.reconcileAt,
    );
    const references = [...referred].map(([name, { id, applied }]) => [name, id, applied]);
    const { generation, deletionTimestamp } = metadata;
    const circumstances = JSON.stringify([generation, deletionTimestamp, steering, fingerprint, references, blockers]);
    if (this.#circumstances !== circumstances) this.wentWell();
    this.#circumstances = circumstances;
  }

  /** Ends the pause after a failed call, because reads of the service succeed again. */
  recovered(now: number): void {
    if (this.failedCall?.isNo === false) this.failedCall = { ...this.failedCall, until: now };
  }
}

/**
 * What this process remembers of all objects. The uid is the key, so that nothing is remembered for a recreated object.
 */
export class InProcessStates {
  readonly #byUid = new Map<string, InProcess>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(uid: string): InProcess {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const fresh = new InProcess(uid, this.#clock.monotonic());
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
