/**
 * The context of one reconcile: the stored object, what this process remembers of it, and the status being built.
 *
 * Guarantees: status is written with uid and resourceVersion, and only when more than its ever-changing fields differ. Writing a
 * new id is retried until the id is in status. A create that this process has begun stays known even when somebody wipes the
 * status.
 */
import { sameJson } from '../../base/json.ts';
import { momentOf } from '../../base/time.ts';
import type { OpenAccount, Closed } from '../account/accounts.ts';
import type { Pass } from '../kind/contract/pass.ts';
import type { Call, JournalEntry, Memory, Showing, Verdict } from '../kind/contract/step.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { InProcess, RecordingView } from '../objects/in-process.ts';
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
/** How long status may wait for a change that only concerns facts shown by the service. */
const newsWaitMs = 120_000;

/** The reasons of verdicts whose own message already mentions the lost call. */
const tellsOfDoubt: ReadonlySet<string> = new Set<Reason>(['InDoubt', 'Ambiguous', 'InstallationIdUnknown']);

/** A pass whose view records what the kind reads of the service. */
export type LivePass = Pass & { readonly view: RecordingView };

/** The state of one reconcile: the object, and what was learned so far. It also writes the object's status and finalizer. */
export class ReconcileContext {
  readonly parts: EngineParts;
  readonly inProcess: InProcess;
  /** The object in the newest form that this process has seen or written. */
  stored: Stored;
  /** The status that is being built: what is stored, and what this reconcile has learned since. */
  status: StoredStatus;
  /** The service at the start of the reconcile. It still redacts messages after the account was closed. */
  readonly #firstService: Service | undefined;

  constructor(parts: EngineParts, stored: Stored) {
    this.parts = parts;
    this.stored = stored;
    this.inProcess = parts.inProcessStates.of(stored.object.metadata.uid);
    this.#firstService = this.opened?.service;
    this.status = unwiped(stored.status, this.inProcess);
    this.remember(this.inProcess.unwritten);
  }

  /** True when an answer of the service has told something that is not in status yet: an id, or that the service took hidden settings. */
  get hasUnwritten(): boolean {
    return this.inProcess.unwritten !== undefined;
  }

  get object(): KubeObject {
    return this.stored.object;
  }

  get memory(): Memory {
    return this.status.memory;
  }

  /** The account's open service; undefined while the account is closed. */
  get opened(): OpenAccount | undefined {
    return this.parts.accounts.opened(this.stored.account);
  }

  /** Adds to the memory that the next status write stores. */
  remember(learned: Partial<Memory> | undefined): void {
    if (learned === undefined) return;
    this.status = { ...this.status, memory: { ...this.status.memory, ...learned } };
  }

  /** Removes the credential from a text, or from all texts in a value. */
  redacted<Value>(value: Value): Value {
    return (this.opened?.service ?? this.#firstService)?.shown(value) ?? value;
  }

  /** Asks the service for a read. When the read ends, the object is reconciled again, whatever the read shows. */
  ask(
    service: Service,
    { read, since }: { readonly read: Read; readonly since: number },
    urgency: 'edit' | 'wait',
  ): void {
    this.parts.subscriptions.ask(this.stored.key, service, read.key);
    service.want(read, Math.max(since, this.inProcess.forced?.since ?? Number.NEGATIVE_INFINITY), urgency);
  }

  /**
   * Returns the open service for a call, or why the call's credential cannot be used. Returns undefined when the account was closed
   * or changed after the call was decided on.
   */
  serviceFor({ account }: Pass, call: Call): Service | Closed | undefined {
    const { opened } = this;
    // Do not use a reopened service before a read has proved that its token sees the account.
    if (opened?.admission?.admitted !== true) return undefined;
    const { endpoint, accountId, managementPolicy } = this.parts.accounts.view(opened);
    const isSame =
      endpoint === account.endpoint && accountId === account.accountId && managementPolicy === account.managementPolicy;
    if (!isSame) return undefined;
    return call.credential === 'dangerous' ? (opened.dangerous ?? opened.service) : opened.service;
  }

  /** True while other objects must wait until it is known what a lost call of this object did. */
  get isLost(): boolean {
    return this.stored.kind.life === 'long' && this.status.damaged === undefined && isOpen(this.memory);
  }

  /** Returns until when a journalled call may still arrive, as a time for messages. */
  arrivesUntil(journal: JournalEntry): string {
    const { clock, settings } = this.parts;
    const seen = this.inProcess.journalSeen(journal, momentOf(clock));
    return new Date(seen.wall + journal.deadlineSeconds * 1_000 + settings.horizonMs).toISOString();
  }

  /**
   * Writes the status that is being built, unless it is stored already. Returns false when somebody else wrote first, or when the
   * spec has changed meanwhile. Then the reconcile must end.
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
    // The object was deleted before its id could be written. An event is the only record of the id.
    if (unwritten !== undefined && written.is === 'gone') this.#publishLost();
    if (written.is !== 'written') return false;
    const { object } = written;
    this.#store({ ...this.stored, object, status: parseStatus(kind, object.status) });
    this.inProcess.journal = this.memory.journal;
    metrics.count('apphosting_status_writes_total', { kind: kind.kind });
    return object.metadata.generation === generation;
  }

  /** Returns the status to write over another writer's newer status; undefined when the journal in that status is no longer ours. */
  #onNewest(newest: KubeObject, render: (object: KubeObject) => object): object | undefined {
    const { kind, status: before } = this.stored;
    const { uid, generation } = this.object.metadata;
    if (newest.metadata.uid !== uid) return undefined;
    const found = parseStatus(kind, newest.status);
    const { journal, id } = found.memory;
    const isWiped = journal === undefined && id === undefined;
    if (!isWiped && !sameJson(journal, before.memory.journal)) return undefined;
    if (newest.metadata.generation === generation || found.conditions.length === 0) return render(newest);
    // Keep what the service answered, but drop conditions that are about an older spec.
    const { conditions, lastHandledReconcileAt } = found;
    const learned = { ...this.status, conditions, lastHandledReconcileAt };
    return this.#render(newest, learned);
  }

  /** Renders a status. Without `lists`, its lists stay as they are in the object. */
  #render(object: KubeObject, status: StoredStatus, lists = listsOf(object.status), wouldDo?: string): object {
    const memory = { ...status.memory, facts: this.redacted(status.memory.facts) };
    return renderStatus(
      this.stored.kind,
      { ...status, memory },
      { ...lists, drift: this.redacted(lists.drift) },
      wouldDo,
    );
  }

  #store(stored: Stored): void {
    this.stored = stored;
    this.parts.wrote(stored);
  }

  /** Publishes what an object that was deleted during a call leaves in the service. */
  #publishLost(): void {
    const { kind } = this.stored;
    const note = kind.leaves?.(this.memory) ?? (kind.holds ? staying(this.memory) : undefined);
    if (note !== undefined) publishRetained(this.parts, this.stored, note);
  }

  /**
   * Ends the reconcile with a verdict: writes all conditions, publishes what changed, keeps polling what was read, and returns when
   * to reconcile again. Without a pass the object was not read, and the part of status that shows the service stays.
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
    if (verdict.is === 'ready') inProcess.noteEqual();
    else if (verdict.reason === 'Contested') inProcess.leaveContested(this.object.metadata.generation ?? 0);
    const token = reconcileToken(this.object);
    const isHandled = token !== undefined && inProcess.forced?.token === token;
    const facts = showing?.facts ?? memory.facts;
    this.remember({ facts });
    this.status = {
      ...this.status,
      conditions,
      ...(isHandled && { lastHandledReconcileAt: token }),
    };
    const isNewsOnly =
      verdict.is === 'ready' && !isHandled && !showing?.notices?.length && sameHeadline(previous, conditions);
    if (isNewsOnly && this.#mayWait()) return { is: 'later' };
    inProcess.newsSince = undefined;
    if (!(await this.write(plan, seen))) return { is: 'overtaken' };
    announce(parts, this.object, verdict, previous, conditions);
    for (const { note, ...notice } of showing?.notices ?? []) {
      parts.events.record({ regarding: this.object, action: 'Observe', ...notice, note: this.redacted(note) });
    }
    if (kind.life === 'account') parts.concluded(stored, verdict);
    // Reconcile once more, only to end the polling for this object.
    if (kind.finished?.(facts) === true) return { is: 'settled', againInMs: 1 };
    return { is: 'settled', againInMs: this.#againInMs(verdict) };
  }

  /** Adds to a verdict that a call is in doubt, and until when that call may still arrive. */
  #withDoubt(verdict: Verdict): Verdict {
    const { journal } = this.memory;
    if (verdict.is === 'ready' || tellsOfDoubt.has(verdict.reason) || !this.isLost || journal === undefined)
      return verdict;
    // A call with a requestId may be sent again as it is, since the service recognises the id.
    if (journal.requestId !== undefined) return verdict;
    const { operation, startedAt } = journal;
    const until = this.arrivesUntil(journal);
    const doubt = `the answer to the call "${operation}" of ${startedAt} is not known: it is not repeated before ${until}, nor before its effect is known`;
    return { ...verdict, message: `${verdict.message}; ${doubt}` };
  }

  /** True when the status write can wait: only shown facts changed, and other objects of the account wait for a worker. */
  #mayWait(): boolean {
    const { inProcess, memory, parts, stored } = this;
    if (stored.kind.life !== 'long' || this.hasUnwritten || !parts.isCrowded(stored.account)) return false;
    if (!sameJson({ ...memory, facts: {} }, { ...stored.status.memory, facts: {} })) return false;
    const now = parts.clock.monotonic();
    inProcess.newsSince ??= now;
    return now - inProcess.newsSince < newsWaitMs;
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

  /** Sets our finalizer on the object. Returns false when somebody else wrote the object first. */
  async hold(): Promise<boolean> {
    const held = await this.parts.writer.hold(this.object);
    if (held.is !== 'written') return false;
    this.#store({ ...this.stored, object: held.object });
    return true;
  }

  /** Removes our finalizer from the object and forgets the object. Publishes what stays in the service. */
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

/** True while the journal has a create without an id, or a change that is checked by comparing with `before`. */
export function isOpen({ id, journal }: Memory): boolean {
  return journal?.create === undefined ? journal?.before !== undefined : id === undefined;
}

/** Restores the journal entry of a create of this process when somebody wiped the status or restored an older one. */
function unwiped(status: StoredStatus, { journal }: InProcess): StoredStatus {
  const { memory } = status;
  const isLost = journal?.create !== undefined && memory.journal === undefined && memory.id === undefined;
  return isLost && status.damaged === undefined ? { ...status, memory: { ...memory, journal } } : status;
}

/** Returns the lists of differences in a status or in what a kind shows; a missing list is empty. */
function listsOf(shown: unknown): StatusLists {
  const { drift = [], unverified = [], leftover = [] } = (shown ?? {}) as Partial<StatusLists>;
  return { drift, unverified, leftover };
}
