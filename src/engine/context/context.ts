/**
 * The context of one reconcile: the stored object, what this process remembers of the object, and the status that is
 * being built.
 *
 * Guarantees: status is written with uid and resourceVersion. It is not written if only fields differ that change all
 * the time, such as an age. The write of a new id is retried until the id is in status. A create call that this process
 * has begun is not forgotten even when somebody wipes the status.
 */
import { sameJson } from '../../base/json.ts';
import { isoSeconds, momentOf } from '../../base/time.ts';
import type { OpenAccount, Closed } from '../account/accounts.ts';
import type { Pass } from '../kind/contract/pass.ts';
import { overAt } from '../kind/planner/observe.ts';
import type { Call, Intent, JournalEntry, Memory, OwnCondition, Showing, Verdict } from '../kind/contract/step.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { InProcess } from '../objects/in-process.ts';
import type { RecordingView } from '../objects/subscriptions.ts';
import {
  isHeldByUs,
  reconcileToken,
  type Stored,
  parseStatus,
  renderStatus,
  type StatusLists,
  type StoredStatus,
} from '../objects/stored.ts';
import type { KubeObject, Read, Service } from '../ports.ts';
import type { Ended } from '../queue.ts';
import { conclude, staying, withWayOut, announce, ownConditions, publishRetained, sameHeadline } from './report.ts';
import type { EngineParts } from './parts.ts';

const resyncMs = 1_200_000;
const stalledRecheckMs = 600_000;
/**
 * After this time, a status write that would only update values copied from the service is put off no longer: the next
 * reconcile writes status.
 */
const unreportedWaitMs = 120_000;

/**
 * The messages of verdicts with these reasons already mention the call with the unknown outcome, so nothing is added to
 * them.
 */
const tellsOfDoubt: ReadonlySet<string> = new Set<Reason>(['InDoubt', 'Ambiguous', 'InstallationIdUnknown']);

/** The inputs of one decision, with a view of the service that records which lists and items the decision reads. */
export type LivePass = Pass & { readonly view: RecordingView };

/** The conditions of an object whose call is about to be sent. They are written together with the journal entry. */
interface FirstWords {
  readonly reason: 'Creating' | 'Requesting';
  readonly message: string;
  /** Returns the conditions that only this kind has, from a memory that contains the journal entry. */
  readonly own?: (memory: Memory) => readonly OwnCondition[];
}

/**
 * The state of one reconcile: the object, and what was learned so far. This class also writes the object's status and
 * finalizer.
 */
export class ReconcileContext {
  readonly parts: EngineParts;
  readonly inProcess: InProcess;
  /** The newest version of the object that this process has seen or written. */
  stored: Stored;
  /** The status that is being built: the stored status, and what this reconcile has learned since. */
  status: StoredStatus;
  /** The connection to the service at the start of the reconcile. It can still redact messages after it was closed. */
  readonly #firstService: Service | undefined;

  constructor(parts: EngineParts, stored: Stored) {
    this.parts = parts;
    this.stored = stored;
    this.inProcess = parts.inProcessStates.of(stored.object.metadata.uid);
    this.#firstService = this.opened?.service;
    this.status = unwiped(stored.status, this.inProcess);
    this.remember(this.inProcess.unwritten);
  }

  /**
   * True when a response of the service contained something that is not in status yet: an id, or the confirmation of
   * settings that the service never shows.
   */
  get hasUnwritten(): boolean {
    return this.inProcess.unwritten !== undefined;
  }

  get object(): KubeObject {
    return this.stored.object;
  }

  get memory(): Memory {
    return this.status.memory;
  }

  /** The object's account with its open connection; undefined while no connection is open. */
  get opened(): OpenAccount | undefined {
    return this.parts.accounts.opened(this.stored.account);
  }

  /** Sets values that the operator remembers about the object. The next status write stores them in status. */
  remember(learned: Partial<Memory> | undefined): void {
    if (learned === undefined) return;
    this.status = { ...this.status, memory: { ...this.status.memory, ...learned } };
  }

  /** Removes the account's credential from a text, or from all texts in a value. */
  redacted<Value>(value: Value): Value {
    return (this.opened?.service ?? this.#firstService)?.shown(value) ?? value;
  }

  /**
   * Asks for a fresh read of the service. When the read ends, the object is reconciled again, whatever the read shows.
   */
  ask(
    service: Service,
    { read, since }: { readonly read: Read; readonly since: number },
    urgency: 'edit' | 'wait',
  ): void {
    this.parts.subscriptions.ask(this.stored.key, service, read.key);
    service.want(read, Math.max(since, this.inProcess.forced?.since ?? Number.NEGATIVE_INFINITY), urgency);
  }

  /**
   * Returns the connection for a call, or why the call's credential cannot be used. Returns undefined when, after the
   * call was decided, the account's connection was closed or the account was changed.
   */
  serviceFor({ account }: Pass, call: Call): Service | Closed | undefined {
    const { opened } = this;
    // Do not use a reopened connection before a read has proved that its token sees the account.
    if (opened?.admission?.admitted !== true) return undefined;
    const { endpoint, accountId, managementPolicy } = this.parts.accounts.terms(opened);
    const isSame =
      endpoint === account.endpoint && accountId === account.accountId && managementPolicy === account.managementPolicy;
    if (!isSame) return undefined;
    return call.credential === 'dangerous' ? (opened.dangerous ?? opened.service) : opened.service;
  }

  /**
   * True while the operator must find out whether a call of this object was carried out. Other objects may have to wait
   * for the result.
   */
  get isLost(): boolean {
    return this.stored.kind.life === 'long' && this.status.damaged === undefined && isOpen(this.memory);
  }

  /**
   * Writes the status that is being built, unless the stored status is equal. Returns false when somebody else wrote
   * the object first, or when the spec has changed in the meantime; then the reconcile must end.
   */
  async write(wouldDo?: string, showing?: Showing): Promise<boolean> {
    const { kind } = this.stored;
    const render = (object: KubeObject) =>
      this.#render(object, this.status, listsOf(showing ?? object.status), wouldDo);
    const status = render(this.object);
    const { unwritten } = this.inProcess;
    if (sameJson(status, this.object.status, kind.moving)) {
      this.inProcess.unwritten = undefined;
      return true;
    }
    const { generation } = this.object.metadata;
    const { writer, metrics } = this.parts;
    const written =
      unwritten === undefined
        ? await writer.writeStatus(this.object, status)
        : await writer.commitStatus(this.object, (newest) => this.#onNewest(newest, render));
    this.inProcess.unwritten = undefined;
    // The object was deleted before values from a response could be written to status. If it leaves something in the service,
    // an event is the only record of that.
    if (unwritten !== undefined && written.is === 'gone') this.#publishLost();
    if (written.is !== 'written') return false;
    const { object } = written;
    this.#store({ ...this.stored, object, status: parseStatus(kind, object.status) });
    this.inProcess.journal = this.memory.journal;
    metrics.count('apphosting_status_writes_total', { kind: kind.kind });
    return object.metadata.generation === generation;
  }

  /**
   * Returns the status to write over the newest status of the object, which somebody else may have written; undefined
   * if the newest status must stay. It stays if the object was recreated. It also stays if its journal differs from the
   * one that this process knows. An exception is a status that somebody has wiped, so that it has neither an id nor a
   * journal: it is written over.
   */
  #onNewest(newest: KubeObject, render: (object: KubeObject) => object): object | undefined {
    const { kind, status: before } = this.stored;
    const { uid, generation } = this.object.metadata;
    if (newest.metadata.uid !== uid) return undefined;
    const found = parseStatus(kind, newest.status);
    const { journal, id } = found.memory;
    const isWiped = journal === undefined && id === undefined;
    if (!isWiped && !sameJson(journal, before.memory.journal)) return undefined;
    if (newest.metadata.generation === generation || found.conditions.length === 0) return render(newest);
    // The spec has changed since this reconcile began. So keep the values from the service's response, but not the new
    // conditions, because they are about the older spec.
    const { conditions, lastHandledReconcileAt } = found;
    const learned = { ...this.status, conditions, lastHandledReconcileAt };
    return this.#render(newest, learned);
  }

  /** Renders a status. If `lists` is not given, the lists in the stored status (such as `drift`) stay as they are. */
  #render(object: KubeObject, status: StoredStatus, lists = listsOf(object.status), wouldDo?: string): object {
    const memory = { ...status.memory, facts: this.redacted(status.memory.facts) };
    return renderStatus(
      this.stored.kind,
      { ...status, memory },
      { ...lists, drift: this.redacted(lists.drift) },
      wouldDo,
    );
  }

  /**
   * Writes a journal entry to status with uid and resourceVersion. Returns false when somebody else wrote the object
   * first, or when another object has reserved the name in the entry.
   */
  async enter(pass: Pass, intent: Intent, said: FirstWords): Promise<boolean> {
    const entry: JournalEntry = {
      ...intent,
      endpoint: pass.account.endpoint,
      accountId: pass.account.accountId,
      startedAt: isoSeconds(pass.wallMs),
      deadlineSeconds: pass.callDeadlineMs / 1_000,
    };
    const { create } = entry;
    if (create !== undefined && pass.creating(create.collection, create.name) !== undefined) return false;
    this.parts.openCreates.reserve(this.stored, entry);
    this.remember({ journal: entry });
    this.sayFirst(pass, said);
    return this.write();
  }

  /**
   * Sets the conditions of an object whose call is about to be sent, if the object has no conditions yet. Replaces those
   * of a one-time request, because they say that the request was not sent.
   */
  sayFirst(pass: Pass, { own, ...said }: FirstWords): void {
    const previous = this.status.conditions;
    if (previous.length > 0 && this.stored.kind.life !== 'request') return;
    const conditions = conclude({
      verdict: { is: 'wait', ...said },
      own: own?.(this.memory) ?? [],
      drifted: [],
      generation: pass.subject.generation,
      previous,
      wallMs: pass.wallMs,
    });
    this.status = { ...this.status, conditions };
  }

  #store(stored: Stored): void {
    this.stored = stored;
    this.parts.wrote(stored);
  }

  /**
   * Called when an object was deleted from Kubernetes while its call was being sent. Publishes an event that says what
   * the call leaves in the service.
   */
  #publishLost(): void {
    const { kind } = this.stored;
    const note = kind.leaves?.(this.memory) ?? (kind.holds ? staying(this.memory) : undefined);
    if (note !== undefined) publishRetained(this.parts, this.stored, note);
  }

  /**
   * Ends the reconcile with a verdict: writes all conditions, publishes events about changes, keeps polling the lists
   * that were read, and returns when to reconcile again. Without `pass` nothing was read from the service, so the
   * values from the service in status stay as they are.
   */
  async conclude(told: Verdict, pass?: LivePass, wouldDo?: string): Promise<Ended> {
    const { inProcess, memory, parts, stored } = this;
    const { kind } = stored;
    const verdict = this.#redactedVerdict(withWayOut(stored, memory, this.#withDoubt(told)));
    const plan = wouldDo && this.redacted(wouldDo);
    const showing =
      pass && kind.show({ ...pass, memory, wrote: inProcess.writtenTo(memory.id), notes: inProcess.notes });
    const service = this.opened?.service;
    if (pass !== undefined && service !== undefined) parts.subscriptions.replace(stored.key, service, pass.view.looked);
    const seen = showing?.unseen === true ? undefined : showing;
    const previous = this.status.conditions;
    const conditions = conclude({
      verdict,
      own: ownConditions(kind, verdict, previous, seen && this.redacted(seen.conditions)),
      drifted: listsOf(seen ?? this.object.status).drift.map((row) => row.field),
      wouldDo: plan,
      generation: this.object.metadata.generation ?? 0,
      previous,
      wallMs: parts.clock.wall(),
    });
    inProcess.noteVerdict(verdict, this.object.metadata.generation ?? 0);
    const token = reconcileToken(this.object);
    const isHandled = token !== undefined && inProcess.forced?.token === token;
    const facts = showing?.facts ?? memory.facts;
    this.remember({ facts });
    this.status = { ...this.status, conditions, ...(isHandled && { lastHandledReconcileAt: token }) };
    const isNewsOnly =
      verdict.is === 'ready' && !isHandled && !showing?.notices?.length && sameHeadline(previous, conditions);
    if (isNewsOnly && this.#mayWait()) return { is: 'later' };
    inProcess.unreportedSince = undefined;
    if (!(await this.write(plan, seen))) return { is: 'overtaken' };
    announce(parts, this.object, verdict, previous, conditions);
    for (const { note, ...notice } of showing?.notices ?? []) {
      parts.events.record({ regarding: this.object, action: 'Observe', ...notice, note: this.redacted(note) });
    }
    if (kind.life === 'account') parts.gate.concluded(stored, verdict);
    // Reconcile a finished one-time request once more, only to end the polling for it.
    if (kind.finished?.(facts) === true) return { is: 'settled', againInMs: 1 };
    return { is: 'settled', againInMs: this.#againInMs(verdict) };
  }

  /**
   * Adds to a message that the outcome of a call is unknown, and until when that call may still arrive at the service.
   */
  #withDoubt(verdict: Verdict): Verdict {
    const { journal } = this.memory;
    if (verdict.is === 'ready' || tellsOfDoubt.has(verdict.reason) || !this.isLost || journal === undefined)
      return verdict;
    // A call with a requestId may be sent again as it is, since the service recognises the id.
    if (journal.requestId !== undefined) return verdict;
    const { operation, startedAt } = journal;
    const now = momentOf(this.parts.clock);
    const { horizonMs } = this.parts.settings;
    const seen = { journalSeen: this.inProcess.journalSeen(journal, now), monotonicMs: now.monotonic, horizonMs };
    const { inWords } = overAt({ ...seen, notes: this.inProcess.notes }, journal);
    const doubt = `the outcome of the call "${operation}" of ${startedAt} is not known; the call is not sent again before ${inWords}`;
    return { ...verdict, message: `${verdict.message}; ${doubt}` };
  }

  /**
   * True when the status write can be postponed: it would only update values that status copies from the service, and
   * other objects of the account wait for a worker. After two minutes, a write is no longer postponed.
   */
  #mayWait(): boolean {
    const { inProcess, memory, parts, stored } = this;
    if (stored.kind.life !== 'long' || this.hasUnwritten || !parts.queue.waits(stored.account)) return false;
    if (!sameJson({ ...memory, facts: {} }, { ...stored.status.memory, facts: {} })) return false;
    const now = parts.clock.monotonic();
    inProcess.unreportedSince ??= now;
    return now - inProcess.unreportedSince < unreportedWaitMs;
  }

  /** Redacts the texts of a verdict before any of them is cut, since a cut could leave a part of a secret. */
  #redactedVerdict(verdict: Verdict): Verdict {
    const { conditions, message } = verdict;
    return {
      ...verdict,
      ...(message !== undefined && { message: this.redacted(message) }),
      ...(conditions !== undefined && { conditions: this.redacted(conditions) }),
    };
  }

  #againInMs(verdict: Verdict): number | undefined {
    const jitter = 0.8 + this.parts.entropy.fraction() * 0.4;
    switch (verdict.is) {
      case 'ready':
        return verdict.retryInMs ?? resyncMs * jitter;
      case 'wait':
        return verdict.retryInMs;
      case 'stall':
        return stalledRecheckMs * jitter;
    }
  }

  /** Sets the operator's finalizer on the object. Returns false when somebody else wrote the object first. */
  async hold(): Promise<boolean> {
    const held = await this.parts.writer.hold(this.object);
    if (held.is !== 'written') return false;
    this.#store({ ...this.stored, object: held.object });
    return true;
  }

  /**
   * Removes the operator's finalizer from the object. If something of the object stays in the service, publishes an
   * event that says so.
   */
  async release(stays: string | undefined): Promise<Ended> {
    const { parts, stored } = this;
    if (stays !== undefined) publishRetained(parts, stored, stays);
    if (isHeldByUs(stored.object)) {
      if (stays === undefined) parts.openCreates.forget(stored);
      const released = await parts.writer.release(stored.object);
      if (released.is === 'conflict') return { is: 'overtaken' };
    }
    if (stored.kind.life === 'account') await parts.accounts.forget(stored.key);
    return { is: 'gone' };
  }
}

/**
 * True while the outcome of a call in the journal is unknown and must be found out by reading the service. The call is
 * a create call of an object that has no id yet, or a change whose journal entry contains the values from before the
 * call (`before`).
 */
export function isOpen({ id, journal }: Memory): boolean {
  return journal?.create === undefined ? journal?.before !== undefined : id === undefined;
}

/**
 * Restores the journal entry of this process's own create call when somebody wiped the status or restored an older
 * status.
 */
function unwiped(status: StoredStatus, { journal }: InProcess): StoredStatus {
  const { memory } = status;
  const isLost = journal?.create !== undefined && memory.journal === undefined && memory.id === undefined;
  return isLost && status.damaged === undefined ? { ...status, memory: { ...memory, journal } } : status;
}

/** Returns the lists `drift`, `unverified` and `leftover` of a status; a missing list is empty. */
function listsOf(shown: unknown): StatusLists {
  const { drift = [], unverified = [], leftover = [] } = (shown ?? {}) as Partial<StatusLists>;
  return { drift, unverified, leftover };
}
