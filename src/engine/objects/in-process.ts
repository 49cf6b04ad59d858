/**
 * What this process remembers about each object between reconciles: the values that were sent, the calls that have to
 * wait, and the lists that the object uses.
 */
import type { Json } from '../../base/json.ts';
import { type Clock, type Entropy, type Moment, retryPauseMs } from '../../base/time.ts';
import type { OperatorKey } from '../kind/planner/compare.ts';
import { withoutMisses } from '../kind/planner/observe.ts';
import type { JournalEntry, Memory, Notes, Verdict } from '../kind/contract/step.ts';
import type { Referred, View } from '../kind/contract/pass.ts';
import { annotations, group } from '../kind/contract/define.ts';
import {
  type ServicePlace,
  type KubeObject,
  groupId,
  type ListListener,
  type Read,
  type ReadProblem,
  type Service,
  type Snapshot,
} from '../ports.ts';

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
  newsSince: number | undefined;
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

  /** Returns the newest values that the operator sent to the object with this id. */
  writtenTo(id: string | undefined): InProcess['wrote'] {
    return this.wrote?.to === id ? this.wrote : undefined;
  }

  /**
   * Removes the note that an object was not found, if a newer read contains the object. Such a note is made after a
   * read without the object; the object counts as gone only after a second such read in a row. A resource with several
   * objects in the service has one note for each of them, under the object's id.
   */
  noteShown(id: string | undefined, view: RecordingView): void {
    for (const [name, at] of Object.entries(this.notes)) {
      const missed = name === 'missedAt' ? id : name;
      if (missed === undefined || !view.shownAfter(at, missed)) continue;
      const { [name]: _shown, ...others } = this.notes;
      this.notes = name === 'missedAt' ? withoutMisses(others) : others;
    }
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
   * Makes the operator leave contested fields (fields that somebody else keeps changing) as they are, until the spec is
   * edited or `endContest` is called.
   */
  leaveContested(generation: number): void {
    this.#contestedIn = generation;
  }

  /**
   * Called when the object in the service equals the spec. From then on the operator corrects contested fields again
   * (fields that somebody else kept changing).
   */
  noteEqual(): void {
    if (this.#contestedIn !== undefined) this.endContest();
  }

  /** Forgets all corrections, so that the operator again corrects the fields that somebody else kept changing. */
  endContest(): void {
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
    const ended = 'journal' in remember ? { remember: { journal: remember.journal } } : {};
    // Each reconcile during the pause after a refusal also stores the notes of the verdict again (times and counts for
    // the next step), because other steps may have replaced them.
    const noted = isNo && note !== undefined ? { note } : {};
    const repeated = { ...verdict, ...ended, ...noted };
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

// ---- subscriptions ---------------------------------------------------------------------------------------------
//
// Subscriptions: they tell which objects must be reconciled after a change in the service.
//
// Guarantees: a list is polled exactly while the last reconcile of some object used the list. An object that used one
// item is reconciled when that item changes. An object that used the whole list is reconciled at any change of the
// list.

/** The part of a list that a reconcile used: the items and groups with these ids, or the whole list. */
interface ReadUse {
  readonly ids: string[];
  all: boolean;
}

/** The lists and items of the service that one reconcile used, by the key of the list. */
type UsedReads = Map<string, ReadUse & { readonly read: Read }>;

interface Followed {
  readonly read: Read;
  readonly unfollow: () => void;
  readonly uses: Map<string, ReadUse>;
  /** True when the newest attempt to read the list failed. */
  isFailing: boolean;
}

/** A view of the service that records which lists and items a reconcile uses. */
export class RecordingView implements View {
  readonly looked: UsedReads = new Map();
  readonly service: Service;
  readonly #freshSince: number;

  /**
   * Creates a view that hides every list whose read began before `freshSince`: the time at which the operator
   * noticed a new value of the annotation `reconcile-at`.
   */
  constructor(service: Service, freshSince: number = Number.NEGATIVE_INFINITY) {
    this.service = service;
    this.#freshSince = freshSince;
  }

  all<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    this.#look(read).all = true;
    return this.#snapshot(read);
  }

  one<Item>(read: Read<Item>, id: string): { snapshot: Snapshot<Item>; item: Item | undefined } | undefined {
    const { ids } = this.#look(read);
    if (!ids.includes(id)) ids.push(id);
    const snapshot = this.#snapshot(read);
    return snapshot === undefined ? undefined : { snapshot, item: snapshot.items.get(id) };
  }

  group<Item>(read: Read<Item>, group: string): { snapshot: Snapshot<Item>; items: readonly Item[] } | undefined {
    const found = this.one(read, groupId(group));
    if (found === undefined) return undefined;
    const items = [...found.snapshot.items.values()].filter((item) => read.groupOf?.(item) === group);
    return { snapshot: found.snapshot, items };
  }

  /**
   * Returns the keys of the polled lists that this reconcile used and whose newest read began before `at`. Lists that
   * were never read are left out.
   */
  polledBefore(at: number = Number.NEGATIVE_INFINITY): readonly string[] {
    const polled = [...this.looked.values()].filter(({ read }) => read.pace === 'poll');
    const old = polled.filter(({ read }) => (this.service.snapshot(read)?.begunAt ?? at) < at);
    return old.map(({ read }) => read.key);
  }

  /**
   * Returns the rate-limited reads of this reconcile that have to be awaited. A read is no longer awaited when it has
   * succeeded and began at the time `at` or later, or when it failed at that time or later.
   */
  rateLimitedBefore(at: number): readonly Read[] {
    const limited = [...this.looked.values()].map(({ read }) => read).filter(({ pace }) => pace === 'rateLimited');
    return limited.filter((read) => {
      const [snapshot, problem] = [this.service.snapshot(read), this.service.problem(read)];
      return (snapshot?.begunAt ?? at - 1) < at && (problem?.at ?? at - 1) < at;
    });
  }

  /** True when one of the lists that this reconcile used contains this id and its read began after `at`. */
  shownAfter(at: number, id: string): boolean {
    return [...this.looked.values()].some(({ read }) => {
      const snapshot = this.service.snapshot(read);
      return snapshot !== undefined && snapshot.begunAt > at && snapshot.items.has(id);
    });
  }

  #snapshot<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    const snapshot = this.service.snapshot(read);
    return snapshot !== undefined && snapshot.begunAt >= this.#freshSince ? snapshot : undefined;
  }

  problem(read: Read): ReadProblem | undefined {
    if (!this.looked.has(read.key)) this.#look(read).all = true;
    return this.service.problem(read);
  }

  #look(read: Read): ReadUse {
    const known = this.looked.get(read.key) ?? { read, ids: [], all: false };
    this.looked.set(read.key, known);
    return known;
  }
}

/** Starts to poll a list, or continues to poll it. Polling starts anew if the interval has changed. */
function following(known: Followed | undefined, service: Service, read: Read): Followed {
  if (known !== undefined && known.read.rateLimitedMs === read.rateLimitedMs) return known;
  const unfollow = service.follow(read);
  known?.unfollow();
  return { read, unfollow, uses: known?.uses ?? new Map(), isFailing: known?.isFailing ?? false };
}

/** Remembers which objects use which lists of the service. A list is polled while some object uses it. */
export class Subscriptions {
  readonly #byService = new Map<Service, Map<string, Followed>>();
  readonly #byObject = new Map<string, { readonly service: Service; readonly reads: readonly string[] }>();
  /** The objects that wait for the next read of a list, by connection to the service and by key of the list. */
  readonly #asking = new WeakMap<Service, Map<string, Set<string>>>();

  /** Subscribes an object to exactly the lists and items that its newest reconcile used. */
  replace(object: string, service: Service, looked: UsedReads): void {
    const before = this.#byObject.get(object);
    const reads = [...looked.values()].map(({ read, ids, all }) => this.#add(object, service, read, { ids, all }));
    this.#byObject.set(object, { service, reads });
    for (const key of before?.reads ?? [])
      if (before !== undefined && (before.service !== service || !looked.has(key)))
        this.#remove(object, before.service, key);
  }

  drop(object: string): void {
    const before = this.#byObject.get(object);
    this.#byObject.delete(object);
    for (const key of before?.reads ?? []) if (before !== undefined) this.#remove(object, before.service, key);
  }

  /** Records that an object must be reconciled after the next read of a list, whatever the list then contains. */
  ask(object: string, service: Service, key: string): void {
    const asking = this.#asking.get(service) ?? new Map<string, Set<string>>();
    this.#asking.set(service, asking.set(key, (asking.get(key) ?? new Set()).add(object)));
  }

  /**
   * Called when the read of a list has ended. Returns the objects that must be reconciled: those that use a changed
   * item, and those that wait for the list. If reading the list begins to fail, or works again (`hasRecovered`), also
   * returns all other objects that use the list.
   */
  listed({ service, key, changed, problem }: Parameters<ListListener>[0]): {
    readonly objects: ReadonlySet<string>;
    readonly hasRecovered: boolean;
  } {
    const asking = this.#asking.get(service);
    const objects = new Set(asking?.get(key));
    asking?.delete(key);
    const followed = this.#byService.get(service)?.get(key);
    if (followed === undefined) return { objects, hasRecovered: false };
    const hasTurned = followed.isFailing !== (problem !== undefined);
    followed.isFailing = problem !== undefined;
    for (const [object, { ids, all }] of followed.uses)
      if (hasTurned || (changed.size > 0 && (all || ids.some((id) => changed.has(id))))) objects.add(object);
    return { objects, hasRecovered: hasTurned && problem === undefined };
  }

  /** Returns the objects that use a list, each with the ids that it uses. */
  usersOf(service: Service, key: string): Pick<Followed, 'read' | 'uses'> | undefined {
    return this.#byService.get(service)?.get(key);
  }

  /** Returns all lists that objects use through this connection to the service. */
  readsOf(service: Service): readonly Read[] {
    return [...(this.#byService.get(service)?.values() ?? [])].map(({ read }) => read);
  }

  /**
   * Subscribes an object to a list. Returns the key of the list, as one string that all subscribers share to save
   * memory.
   */
  #add(object: string, service: Service, read: Read, use: ReadUse): string {
    const reads = this.#byService.get(service) ?? new Map<string, Followed>();
    this.#byService.set(service, reads);
    const followed = following(reads.get(read.key), service, read);
    reads.set(followed.read.key, followed);
    followed.uses.set(object, use);
    return followed.read.key;
  }

  #remove(object: string, service: Service, key: string): void {
    const reads = this.#byService.get(service);
    const followed = reads?.get(key);
    if (followed?.uses.delete(object) !== true || followed.uses.size > 0) return;
    followed.unfollow();
    reads?.delete(key);
    if (reads?.size === 0) this.#byService.delete(service);
  }
}
