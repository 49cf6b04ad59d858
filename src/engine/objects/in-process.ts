/** What this process remembers of objects between reconciles: what it sent, which calls have to wait, and which lists were used. */
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
   * The fingerprint of the request. An answer with an id changes the next request, so the fingerprint is then undefined until that
   * request is known.
   */
  readonly digest: string | undefined;
  readonly at: number;
  /** True when the service said no; false when the call failed or its outcome is unknown. */
  readonly isNo: boolean;
  /** The verdict to repeat until the call is sent again. */
  readonly verdict: Verdict;
  readonly until: number;
  /** True when a list has shown the object that made the service refuse the call, such as another object of the same name. */
  readonly wasObstructed?: boolean;
}

/** A correction of fields that somebody else had changed in the service. */
interface Correction {
  readonly generation: number;
  readonly field: string;
  readonly at: number;
}

const contestWindowMs = 600_000;
const contestLimit = 5;

/** A refused call is sent again after this long, unless something ends the pause earlier. */
const refusedForMs = 600_000;

/** What this process remembers of one object between reconciles. Losing it only costs time. */
export class InProcess {
  notes: Notes = {};
  /** The newest value that the operator sent for each field of the object with the id `to`. */
  wrote:
    | { readonly to: string | undefined; readonly at: number; readonly fields: Readonly<Record<string, Json>> }
    | undefined;
  /** The open journal entry as it was last written. It counts even when somebody wipes the status. */
  journal: JournalEntry | undefined;
  /** The part of an answer that is not in status yet. It is kept even if the reconcile fails. */
  unwritten: Partial<Memory> | undefined;
  /** When the object first asked for the read that it now waits for. */
  askedAt: number | undefined;
  /** Since when this process knows the object; undefined once this process has sent or concluded something for the object. */
  newSince: number | undefined;
  /** True when the last reconcile read the service; false while the object waits for something else. */
  looks = false;
  /** The newest call that failed or was refused. It is not repeated each time the object is woken. */
  failedCall: FailedCall | undefined;
  /** The number of failed calls in a row. */
  failures = 0;
  /** Since when the service shows a change that is not written to status yet. */
  newsSince: number | undefined;
  /** The value of `apphosting.dev/reconcile-at` that is being handled, and since when. */
  forced: { readonly token: string; readonly since: number } | undefined;
  readonly #uid: string;
  #journalSeen: (Moment & { readonly entry: string }) | undefined;
  /** The object's mark, with the account for which it was computed. */
  #marker: { readonly where: string; readonly text: string } | undefined;
  /**
   * Everything besides the request on which the failed call depends, as text. Any change of it ends the backoff. See
   * `noteCircumstances`.
   */
  #circumstances: string | undefined;
  #corrections: readonly Correction[] = [];
  /** The generation for which fields are left as contested; undefined when none are. */
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
   * Forgets that a read missed the object when a later read shows the object: only two misses in a row prove that it is gone. A
   * resource that may miss several objects has a note for each, named by the object's id.
   */
  noteShown(id: string | undefined, view: RecordingView): void {
    for (const [name, at] of Object.entries(this.notes)) {
      const missed = name === 'missedAt' ? id : name;
      if (missed === undefined || !view.shownAfter(at, missed)) continue;
      const { [name]: _shown, ...others } = this.notes;
      this.notes = name === 'missedAt' ? withoutMisses(others) : others;
    }
  }

  /** Returns when this process first saw an open journal entry. */
  journalSeen(entry: JournalEntry | undefined, now: Moment): Moment {
    if (entry === undefined) {
      this.#journalSeen = undefined;
      return now;
    }
    const name = `${entry.operation}/${entry.attempt}/${entry.startedAt}`;
    if (this.#journalSeen?.entry !== name) this.#journalSeen = { entry: name, ...now };
    return this.#journalSeen;
  }

  /** Returns the mark of the object in an account. The mark is computed once and kept. */
  mark(key: Pick<OperatorKey, 'marker'>, { endpoint, accountId }: ServicePlace): string {
    const where = `${endpoint}|${accountId}`;
    if (this.#marker?.where !== where) this.#marker = { where, text: key.marker(endpoint, accountId, this.#uid) };
    return this.#marker.text;
  }

  // ---- contested fields ----

  /** Notes a correction of fields that somebody else had changed in the service. */
  corrected(generation: number, fields: readonly string[], at: number): void {
    this.#corrections = [...this.#counted(generation, at), ...fields.map((field) => ({ generation, field, at }))];
  }

  /**
   * Returns the fields that are no longer corrected, because they were corrected too often in a short time. Once they are left, time
   * alone does not end this, or two writers would overwrite each other for ever. An edit of the spec, `reconcile-at`, or values in the
   * service that equal the spec end it.
   */
  contested(generation: number, now: number): ReadonlySet<string> {
    const often = [...Map.groupBy(this.#counted(generation, now), ({ field }) => field)];
    return new Set(often.filter(([, { length }]) => length >= contestLimit).map(([field]) => field));
  }

  /** The corrections that count now: those of the last ten minutes, and older ones too while fields are left. */
  #counted(generation: number, now: number): readonly Correction[] {
    const isLeft = this.#contestedIn === generation;
    return this.#corrections.filter(
      (one) => one.generation === generation && (isLeft || now - one.at < contestWindowMs),
    );
  }

  /** Leaves the contested fields as they are, until the contest ends. */
  leaveContested(generation: number): void {
    this.#contestedIn = generation;
  }

  /** Starts correcting again when the service equals the spec. */
  noteEqual(): void {
    if (this.#contestedIn !== undefined) this.endContest();
  }

  /** Starts to correct contested fields again. */
  endContest(): void {
    this.#corrections = [];
    this.#contestedIn = undefined;
  }

  // ---- backoff of calls ----
  //
  // Remembers calls that failed or were refused, and when each may be sent again.
  //
  // Guarantees: whatever wakes the object, a failed call is repeated only after a pause that grows with each failure in a row.
  // A refused call is repeated only after ten minutes, or after the pause that its kind chose. A different call is sent at once.
  //
  // The pause and the count of failures end when something changes on which the call may depend: the object, what it refers to,
  // an annotation of ours, the credential, or the set of objects that block its deletion. The pause after a failure also ends
  // when the service can be read again. The pause after a refusal because of a name also ends when the name becomes free.
  //
  // All of this is kept in memory only: losing it costs one try.
  //
  // Why: docs/design/at-most-once.md#a-failed-call-waits-the-object-does-not

  /**
   * Starts the backoff of a call, and returns the pause. After a refusal the pause is as long as the verdict says, or ten minutes.
   * After a failure the pause grows with each failure in a row, and is at least as long as the verdict says.
   */
  backOff({ verdict: said, isNo, ...failedCall }: Omit<FailedCall, 'until'>, entropy: Entropy): number {
    const wishMs = said.is === 'wait' ? said.retryInMs : undefined;
    const pauseMs = isNo ? (wishMs ?? refusedForMs) : Math.max(retryPauseMs(this.failures, entropy), wishMs ?? 0);
    // Of what the verdict remembers, keep only the end of the journal entry: everything else was remembered the first time.
    const { remember = {}, note, ...verdict } = said;
    const ended = 'journal' in remember ? { remember: { journal: remember.journal } } : {};
    // The notes of a refusal may have been replaced meanwhile, but the refusal still holds.
    const noted = isNo && note !== undefined ? { note } : {};
    const repeated = { ...verdict, ...ended, ...noted };
    this.failedCall = { ...failedCall, verdict: repeated, isNo, until: failedCall.at + pauseMs };
    this.failures += 1;
    return pauseMs;
  }

  /** Ends the backoff after a call that succeeded, or when no call is wanted any more. */
  wentWell(): void {
    this.failedCall = undefined;
    this.failures = 0;
  }

  /** Returns the earlier failure that still holds this call back; undefined when the call may be sent. */
  backedOff(digest: string, now: number): FailedCall | undefined {
    const { failedCall, forced } = this;
    if (failedCall === undefined || (failedCall.digest ?? digest) !== digest || now >= failedCall.until)
      return undefined;
    if ((forced?.since ?? failedCall.at) > failedCall.at) return undefined;
    // The answer carried an id, so the digest of the next request was unknown: the first request after it has to wait.
    this.failedCall = { ...failedCall, digest };
    return failedCall;
  }

  /** True when the backoff is over, but the call was decided on a read that began before the end of the backoff. */
  isSeenTooEarly(digest: string, now: number): boolean {
    const { failedCall, askedAt } = this;
    if (failedCall === undefined || failedCall.digest !== digest || now < failedCall.until) return false;
    return askedAt !== undefined && askedAt < failedCall.until;
  }

  /**
   * Ends the backoff when something changed that the call depends on. `holders` are the objects that may block the deletion of this
   * object.
   */
  noteCircumstances(
    { metadata }: KubeObject,
    opened: { readonly print: string },
    referred: ReadonlyMap<string, Referred>,
    holders: readonly string[],
  ): void {
    // Ignore annotations of other tools: they do not concern the operator, however often they change.
    const steering = Object.entries(metadata.annotations ?? {}).filter(
      ([name]) => name.startsWith(`${group}/`) && name !== annotations.reconcileAt,
    );
    const references = [...referred].map(([name, { id, applied }]) => [name, id, applied]);
    const { generation, deletionTimestamp } = metadata;
    const circumstances = JSON.stringify([generation, deletionTimestamp, steering, opened.print, references, holders]);
    if (this.#circumstances !== circumstances) this.wentWell();
    this.#circumstances = circumstances;
  }

  /** Ends the pause after a failure, because reads of the service succeed again. */
  recovered(now: number): void {
    if (this.failedCall?.isNo === false) this.failedCall = { ...this.failedCall, until: now };
  }
}

/** What this process remembers of all objects, by uid, so that a recreated object starts afresh. */
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
// Subscriptions: which objects a change in the service concerns.
//
// Guarantees: a list is polled exactly while some object's last reconcile used the list. An object that used one item is
// reconciled when that item changes. An object that used the whole list is reconciled at any change.

/** The part of one read that a reconcile used: items and groups with these ids, or the whole list. */
interface ReadUse {
  readonly ids: string[];
  all: boolean;
}

/** Everything that one reconcile read from the service, by the key of the read. */
type UsedReads = Map<string, ReadUse & { readonly read: Read }>;

interface Followed {
  readonly read: Read;
  readonly unfollow: () => void;
  readonly uses: Map<string, ReadUse>;
  /** True when the newest list of the read failed. */
  isFailing: boolean;
}

/** A view that records which reads and items are used. */
export class RecordingView implements View {
  readonly looked: UsedReads = new Map();
  readonly service: Service;
  readonly #freshSince: number;

  /** Creates a view that hides lists that began before `freshSince`, the time of a `reconcile-at`. */
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

  /** Returns the keys of the polled reads that were used and have no list since `at`. */
  polledBefore(at: number = Number.NEGATIVE_INFINITY): readonly string[] {
    const polled = [...this.looked.values()].filter(({ read }) => read.pace === 'poll');
    const old = polled.filter(({ read }) => (this.service.snapshot(read)?.begunAt ?? at) < at);
    return old.map(({ read }) => read.key);
  }

  /** Returns the rate-limited reads that were used and have neither a list nor a failure since `at`. */
  rateLimitedBefore(at: number): readonly Read[] {
    const limited = [...this.looked.values()].map(({ read }) => read).filter(({ pace }) => pace === 'rateLimited');
    return limited.filter((read) => {
      const [snapshot, problem] = [this.service.snapshot(read), this.service.problem(read)];
      return (snapshot?.begunAt ?? at - 1) < at && (problem?.at ?? at - 1) < at;
    });
  }

  /** True when one of the reads that were used has a list that began after `at` and shows this id. */
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

/** Polls a read, or continues to poll it. A read whose interval has changed is polled anew. */
function following(known: Followed | undefined, service: Service, read: Read): Followed {
  if (known !== undefined && known.read.rateLimitedMs === read.rateLimitedMs) return known;
  const unfollow = service.follow(read);
  known?.unfollow();
  return { read, unfollow, uses: known?.uses ?? new Map(), isFailing: known?.isFailing ?? false };
}

/** Remembers which objects each read of a service concerns. A read is polled while some object uses it. */
export class Subscriptions {
  readonly #byService = new Map<Service, Map<string, Followed>>();
  readonly #byObject = new Map<string, { readonly service: Service; readonly reads: readonly string[] }>();
  /** The objects that wait for the next list of a read, by service and by key of the read. */
  readonly #asking = new WeakMap<Service, Map<string, Set<string>>>();

  /** Subscribes an object to exactly the reads and items that its newest reconcile used. */
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

  /** Notes that an object waits for the next list of a read, whatever that list shows. */
  ask(object: string, service: Service, key: string): void {
    const asking = this.#asking.get(service) ?? new Map<string, Set<string>>();
    this.#asking.set(service, asking.set(key, (asking.get(key) ?? new Set()).add(object)));
  }

  /**
   * Returns the objects that a finished list concerns: all users of a read that begins to fail or works again (`hasRecovered`), the
   * users of items that have changed, and the objects that wait for the list.
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

  /** Returns the objects that use a read, each with the ids that it uses. */
  usersOf(service: Service, key: string): Pick<Followed, 'read' | 'uses'> | undefined {
    return this.#byService.get(service)?.get(key);
  }

  /** Returns every read of a service that some object uses. */
  readsOf(service: Service): readonly Read[] {
    return [...(this.#byService.get(service)?.values() ?? [])].map(({ read }) => read);
  }

  /**
   * Subscribes an object to a read. Returns the key of the read as the first subscriber has it, so that all subscribers share one
   * copy of the text.
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
