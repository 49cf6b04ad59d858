/**
 * One call to the service, from the decision of a kind to what its outcome means for the object.
 *
 * Guarantees: a call that must not happen twice stands in status, with uid and resourceVersion, before its first byte is sent;
 * an id that came back is written before anything else is done; a process that may no longer act sends nothing.
 *
 * Order: backoff of the same call → leadership → exclusive locks → budget → journal → proof of the credential → live look →
 * send → interpret the outcome. If the process dies between journal and send, the next process finds the entry in status and
 * treats the call as sent: it looks before it acts.
 *
 * Why: docs/design/at-most-once.md
 */
import { retryPauseMs, isoSeconds } from '../../base/time.ts';
import type { ReconcileContext } from '../context/context.ts';
import { publishCall, conclude } from '../context/report.ts';
import { requestDigest } from '../context/build-pass.ts';
import type { Pass } from '../kind/contract/pass.ts';
import type { Call, Intent, JournalEntry, Memory, Notes, OwnCondition, Verdict } from '../kind/contract/step.ts';
import { failed, heldBack, isSeenTooEarly, refused, wentWell, corrected, writtenTo } from '../objects/in-process.ts';
import { annotations } from '../kind/contract/define.ts';
import type { KubeObject, Outcome, Service } from '../ports.ts';
import { interpretOutcome, slowedDown, inSpecWords } from './interpret-outcome.ts';

/** The share of a call's time that is reserved for the answer: with less left, it is not sent. */
const answerPart = 1 / 3;
/** How soon to look again when the account was closed or opened anew meanwhile. */
const reopenedMs = 1_000;
/** A call that would wait longer for the budget is not journalled: it is requeued. */
const longestWaitMs = 10_000;
/** After this long a process that does not lead asks again whether it may act. */
const notLeadingMs = 2_000;
/** After this long an object asks again for a lock that another one holds. */
const lockedMs = 200;

/** The result of a call for the reconcile. */
export type Performed =
  /** Ask the kind again: the context has learned something. */
  | { readonly is: 'on' }
  /** End with this verdict; with `againInMs` nothing was done, and the call is tried again then. */
  | { readonly is: 'said'; readonly verdict: Verdict; readonly againInMs: number | undefined }
  /** Somebody else wrote the object first. */
  | { readonly is: 'overtaken' }
  /** Nothing was sent, for a reason of our own: try again later without a change of status. */
  | { readonly is: 'quiet'; readonly againInMs: number };

/** Performs one call. Create one for each decision. */
export class OutgoingCall {
  readonly #context: ReconcileContext;
  readonly #pass: Pass;
  readonly #call: Call;
  readonly #locks: ExclusiveLocks;
  /** The fingerprint of what is sent. */
  readonly #digest: string;
  /** Monotonic time at which the call has ended, answer or not. */
  readonly #deadline: number;
  #isLate = false;

  constructor(context: ReconcileContext, pass: Pass, call: Call, locks: ExclusiveLocks) {
    this.#context = context;
    this.#pass = pass;
    this.#call = call;
    this.#locks = locks;
    this.#digest = requestDigest(pass.print, call.request);
    this.#deadline = pass.monotonicMs + pass.callMs;
  }

  async perform(): Promise<Performed> {
    const { inProcess } = this.#context;
    const { monotonicMs } = this.#pass;
    inProcess.newSince = undefined;
    const refusedBefore = heldBack(inProcess, this.#digest, monotonicMs);
    const isFree = refusedBefore?.wasObstructed === true && this.#call.obstacle?.shown() === undefined;
    if (isFree) inProcess.failedCall = undefined;
    const held = isFree ? undefined : refusedBefore;
    const isTooEarly = isSeenTooEarly(inProcess, this.#digest, monotonicMs);
    if (this.#call.resumes === true && (held !== undefined || isTooEarly)) inProcess.notes = this.#pass.notes;
    if (held !== undefined)
      return { is: 'said', verdict: this.#withObstacle(held.verdict, held.at), againInMs: held.until - monotonicMs };
    if (isTooEarly) {
      inProcess.askedAt = monotonicMs;
      return { is: 'on' };
    }
    const performed = await this.#withLocks();
    // A call that was not made is decided again with a fresh read.
    if (performed.is !== 'on') inProcess.askedAt = undefined;
    return performed;
  }

  /** Takes the exclusive locks: calls whose effects could not be told apart must not be under way together. */
  async #withLocks(): Promise<Performed> {
    const { parts, stored } = this.#context;
    if (parts.leadership.mayAct() !== undefined) return { is: 'quiet', againInMs: notLeadingMs };
    const names = (this.#call.alone ?? []).map((id) => `${this.#pass.account.endpoint}/${id}`);
    if (!this.#locks.take(names, stored.key, this.#pass.askedAt)) return { is: 'quiet', againInMs: lockedMs };
    try {
      return await this.#withinBudget();
    } finally {
      this.#locks.end(names, stored.key, parts.clock.monotonic());
    }
  }

  /** Requeues a call that would wait long for the budget; otherwise announces it and sends it. */
  async #withinBudget(): Promise<Performed> {
    const { inProcess } = this.#context;
    const { notes } = inProcess;
    // Restore the notes of before: if nothing is sent, the next step must not see a trace of it.
    if (this.#call.resumes === true) inProcess.notes = this.#pass.notes;
    const service = this.#context.serviceFor(this.#pass, this.#call);
    if (service === undefined) return { is: 'quiet', againInMs: reopenedMs };
    if ('reason' in service) {
      return this.#backOff(
        { is: 'wait', ...service, message: `${this.#call.words}: ${service.message}` },
        this.#digest,
      );
    }
    const waitMs = service.waitMs(this.#call.urgency);
    if (waitMs > longestWaitMs) return this.#requeued(service, waitMs);
    const { parts, stored } = this.#context;
    const ends = [service.announce(this.#call.urgency), parts.calling(stored.account)];
    try {
      return await this.#journalAndSend(service, notes);
    } finally {
      for (const end of ends) end();
    }
  }

  /** Status mentions a pause that the service asked for, but not our own queue. */
  #requeued(service: Service, waitMs: number): Performed {
    const until = service.health().throttledUntil;
    const pauseMs = until === undefined ? 0 : until - this.#context.parts.clock.monotonic();
    if (pauseMs <= longestWaitMs) return { is: 'quiet', againInMs: waitMs / 2 };
    return {
      is: 'said',
      verdict: slowedDown(this.#call, pauseMs, this.#context.parts.clock.wall()),
      againInMs: undefined,
    };
  }

  async #journalAndSend(service: Service, notes: Notes): Promise<Performed> {
    const context = this.#context;
    const before = this.#rememberedBefore();
    if (!(await this.#journal())) return { is: 'overtaken' };
    const unproven = await this.#prove(service);
    if (unproven !== undefined) return this.#backOff(unproven, this.#digest);
    if (this.#call.confirm === 'live' && !isSame(await context.parts.writer.readLive(context.object), context.object))
      return { is: 'quiet', againInMs: 1_000 };
    context.inProcess.notes = notes;
    const outcome = await this.#send(service);
    return outcome === undefined ? this.#takeBack(before) : this.#interpret(before, outcome);
  }

  /** Writes everything that must stand in status before the call; false when somebody else was first. */
  async #journal(): Promise<boolean> {
    const context = this.#context;
    const { journal, meanwhile, request, words } = this.#call;
    if (context.hasUnwritten && !(await context.write())) return false;
    context.remember(meanwhile);
    const said = { reason: request.effect === 'create' ? 'Creating' : 'Requesting', message: words } as const;
    if (journal !== undefined) return enter(context, this.#pass, journal, said);
    if (meanwhile === undefined) return true;
    sayFirst(context, this.#pass, said);
    return context.write();
  }

  /** A second credential is used for nothing before it has shown that it sees the account; undefined when it has. */
  async #prove(service: Service): Promise<Verdict | undefined> {
    const { proof, credential, urgency, words } = this.#call;
    const isSecond = credential === 'dangerous' && this.#context.session?.dangerous !== undefined;
    if (proof === undefined || !isSecond) return undefined;
    const { parts } = this.#context;
    const outcome = await parts.away(() => service.send(proof, { urgency, mayDispatch: () => undefined }));
    if (outcome.is === 'committed') return undefined;
    const message = `${words}: the credential of spec.dangerousCredentialsRef cannot read the account: ${outcome.message}`;
    return { is: 'wait', reason: 'DangerousCredential', message };
  }

  /** Sends the bytes. Undefined when nothing was sent for a reason of our own, so that no trace of the call is kept. */
  async #send(service: Service): Promise<Outcome | undefined> {
    const { request, urgency, resumes, words } = this.#call;
    const mayDispatch = () => this.#whyNotNow();
    const call = { object: this.#context.stored.key, words };
    const options = { urgency, deadline: this.#deadline, mayDispatch, call };
    const outcome = await this.#context.parts.away(() => service.send(request, options));
    if (outcome.is !== 'notSent') return outcome;
    // A resumed call may have been sent before: its entry stays, and its kind says what is known of it.
    if (resumes === true) return outcome;
    // The account was opened again while the call waited: decide again with the new service.
    const isReopened = this.#context.serviceFor(this.#pass, this.#call) !== service;
    return this.#isLate || isReopened ? undefined : outcome;
  }

  /** Asked in the same tick as the bytes go out: undefined lets them go. */
  #whyNotNow(): string | undefined {
    const { leadership, clock } = this.#context.parts;
    const no = leadership.mayAct();
    if (no !== undefined) return no;
    // A machine that slept stops the monotonic clock; the wall clock goes on.
    const answerMs = this.#pass.callMs * answerPart;
    const latestWallMs = this.#pass.wallMs + this.#pass.callMs - answerMs;
    this.#isLate = clock.monotonic() > this.#deadline - answerMs || clock.wall() > latestWallMs;
    if (this.#isLate) return 'waited too long in the queue';
    if (this.#call.confirm !== 'live' || this.#context.stillWants(this.#pass, this.#call)) return undefined;
    return 'the state that it was decided on has changed';
  }

  /** Removes the journal entry of a call that was not sent. */
  async #takeBack(before: Partial<Memory>): Promise<Performed> {
    const context = this.#context;
    const { journal, meanwhile } = this.#call;
    context.unreserve();
    context.remember(journal === undefined ? before : { ...before, journal: undefined });
    const isMarked = journal !== undefined || meanwhile !== undefined;
    const isWritten = !isMarked || (await context.write());
    return isWritten ? { is: 'quiet', againInMs: reopenedMs } : { is: 'overtaken' };
  }

  /** Starts a growing backoff for the call with this digest, or for the next call when it is unknown. */
  #backOff(verdict: Verdict, digest: string | undefined): Performed {
    const { parts, inProcess } = this.#context;
    const wishMs = verdict.is === 'wait' ? (verdict.retryInMs ?? 0) : 0;
    const pauseMs = Math.max(retryPauseMs(inProcess.failures, parts.entropy), wishMs);
    failed(inProcess, { digest, at: parts.clock.monotonic(), verdict }, pauseMs);
    return { is: 'said', verdict, againInMs: pauseMs };
  }

  /** Applies the outcome to the context: done, in doubt, or refused. */
  async #interpret(before: Partial<Memory>, outcome: Outcome): Promise<Performed> {
    const context = this.#context;
    const { inProcess } = context;
    const call = this.#call;
    const now = context.parts.clock.monotonic();
    const { generation } = this.#pass.subject;
    publishCall(context, call, outcome);
    const told = inSpecWords(outcome, context.stored.kind.interfaceWords?.(this.#pass.spec));
    const meaning = interpretOutcome(call, told, context.memory, context.parts.clock.wall(), before);
    context.unreserve();
    if (meaning.is === 'done') {
      wentWell(inProcess);
      inProcess.askedAt = undefined;
      context.remember(meaning.remember);
      const to = context.memory.id;
      const fields = call.wrote?.(outcome.is === 'committed' ? outcome.body : undefined);
      inProcess.wrote = { to, at: now, fields: { ...writtenTo(inProcess, to)?.fields, ...fields } };
      inProcess.notes = call.note?.(now) ?? {};
      if (call.corrects !== undefined) corrected(inProcess, generation, call.corrects, now);
      // Without it an id would be lost, or settings that the service does not show would be sent again.
      context.hasUnwritten = meaning.identified || call.meanwhile !== undefined;
      if (context.hasUnwritten) inProcess.unwritten = meaning.remember;
      return { is: 'on' };
    }
    if (meaning.is === 'doubt') {
      inProcess.askedAt = now;
      // Back off the digest of the journal entry: if the entry falls, the call is built anew.
      const begun = call.resumes === true ? context.memory.journal?.digest : undefined;
      if (meaning.refused !== undefined)
        refused(inProcess, { digest: begun ?? this.#digest, at: now, verdict: meaning.refused });
      context.remember(meaning.remember);
      const isWritten = meaning.remember?.journal === undefined || (await context.write());
      return isWritten ? { is: 'on' } : { is: 'overtaken' };
    }
    return this.#notDone(meaning.verdict, meaning.retry, now);
  }

  #notDone(verdict: Verdict, retry: 'backoff' | 'looking' | 'asSaid', now: number): Performed {
    const context = this.#context;
    const { inProcess } = context;
    if (this.#call.resumes === true) inProcess.notes = this.#pass.notes;
    const id = verdict.remember?.id;
    const isIdentified = id !== undefined && id !== context.memory.id;
    if (isIdentified) {
      inProcess.unwritten = verdict.remember;
      context.hasUnwritten = true;
    }
    // A request with the returned id has another digest, and must wait as well.
    const digest = isIdentified ? undefined : this.#digest;
    if (retry === 'asSaid') {
      refused(inProcess, { digest, at: now, verdict });
      return { is: 'said', verdict: this.#withObstacle(verdict, now), againInMs: undefined };
    }
    const kept = this.#backOff(verdict, digest);
    return retry === 'looking' ? { is: 'said', verdict, againInMs: undefined } : kept;
  }

  /** Adds to a rejection of that time why the service rejects the call; asks for a newer list where none shows it. */
  #withObstacle(verdict: Verdict, at: number): Verdict {
    const { obstacle } = this.#call;
    if (obstacle === undefined || verdict.is !== 'stall' || verdict.reason !== 'Rejected') return verdict;
    const shown = obstacle.shown();
    const { inProcess } = this.#context;
    if (shown !== undefined) {
      if (inProcess.failedCall !== undefined) inProcess.failedCall = { ...inProcess.failedCall, wasObstructed: true };
      return { ...verdict, message: `${verdict.message}; ${shown}` };
    }
    const begunAt = this.#pass.view.all(obstacle.read)?.begunAt ?? Number.NEGATIVE_INFINITY;
    return begunAt < at ? { ...verdict, awaits: { read: obstacle.read, since: at } } : verdict;
  }

  /** The earlier values of what `meanwhile` replaces. */
  #rememberedBefore(): Partial<Memory> {
    const names = Object.keys(this.#call.meanwhile ?? {}) as (keyof Memory)[];
    const { memory } = this.#context;
    return Object.fromEntries(names.map((name) => [name, memory[name]]));
  }
}

/** Writes a journal entry without sending anything: the next step looks again, and then resumes it. */
export async function begin(context: ReconcileContext, pass: Pass, intent: Intent, words: string): Promise<Performed> {
  const { inProcess, parts, stored } = context;
  const held = heldBack(inProcess, intent.digest, pass.monotonicMs);
  if (held !== undefined) return { is: 'said', verdict: held.verdict, againInMs: held.until - pass.monotonicMs };
  if (parts.leadership.mayAct() !== undefined) return { is: 'quiet', againInMs: notLeadingMs };
  // Write the known conditions before the call, not only afterwards.
  const own = stored.kind.show(pass).conditions;
  const isEntered = await enter(context, pass, intent, { reason: 'Requesting', message: words, own });
  return isEntered ? { is: 'on' } : { is: 'overtaken' };
}

/** The first conditions of an object, written together with a journal entry. */
interface FirstWords {
  readonly reason: 'Creating' | 'Requesting';
  readonly message: string;
  readonly own?: readonly OwnCondition[];
}

/** Writes an entry into the journal with uid and resourceVersion; false when somebody else was first. */
async function enter(context: ReconcileContext, pass: Pass, intent: Intent, said: FirstWords): Promise<boolean> {
  const entry: JournalEntry = {
    ...intent,
    endpoint: pass.account.endpoint,
    accountId: pass.account.accountId,
    startedAt: isoSeconds(pass.wallMs),
    deadlineSeconds: pass.callMs / 1_000,
  };
  if (!context.reserve(entry, pass)) return false;
  context.remember({ journal: entry });
  sayFirst(context, pass, said);
  const isWritten = await context.write();
  if (!isWritten) context.unreserve();
  return isWritten;
}

/** Gives an object without conditions its first ones. */
function sayFirst(context: ReconcileContext, pass: Pass, { own = [], ...said }: FirstWords): void {
  if (context.status.conditions.length > 0) return;
  const conditions = conclude({
    verdict: { is: 'wait', ...said },
    own,
    drifted: [],
    generation: pass.subject.generation,
    previous: [],
    wallMs: pass.wallMs,
  });
  context.status = { ...context.status, conditions };
}

/** True when the live object is what the decision was about: the same one, unchanged, not deleted and not paused. */
function isSame(live: KubeObject | undefined, { metadata }: KubeObject): boolean {
  const now = live?.metadata;
  return (
    now !== undefined &&
    now.uid === metadata.uid &&
    now.generation === metadata.generation &&
    now.deletionTimestamp === undefined &&
    now.annotations?.[annotations.paused] !== 'true'
  );
}

/** How long the release of a lock is remembered by its name: longer than a read takes. */
const keptMs = 600_000;

/** Exclusive locks by name: calls that could not be told apart after a lost answer are not under way at the same time. */
export class ExclusiveLocks {
  /** In the order of their last use. */
  readonly #turns = new Map<string, { readonly by: string; readonly endedAt: number | undefined }>();
  /** When the newest forgotten lock was released: it may have had any name. */
  #forgottenAt = Number.NEGATIVE_INFINITY;

  /** How many are remembered. */
  get size(): number {
    return this.#turns.size;
  }

  /** Locks all of these names. False while another object holds one, or held one after the caller last looked (monotonic). */
  take(names: readonly string[], by: string, lookedAt: number): boolean {
    const isFree = names.every((name) => {
      const turn = this.#turns.get(name);
      if (turn === undefined) return this.#forgottenAt < lookedAt;
      return turn.by === by || (turn.endedAt !== undefined && turn.endedAt < lookedAt);
    });
    if (isFree) for (const name of names) this.#touch(name, by, undefined);
    return isFree;
  }

  /** Releases the names. */
  end(names: readonly string[], by: string, now: number): void {
    for (const name of names) this.#touch(name, by, now);
    this.#forget(now - keptMs);
  }

  #touch(name: string, by: string, endedAt: number | undefined): void {
    this.#turns.delete(name);
    this.#turns.set(name, { by, endedAt });
  }

  /** Forgets locks that were released before this time. */
  #forget(before: number): void {
    for (const [name, { endedAt }] of this.#turns) {
      if (endedAt === undefined) continue;
      if (endedAt >= before) return;
      this.#turns.delete(name);
      this.#forgottenAt = Math.max(this.#forgottenAt, endedAt);
    }
  }
}
