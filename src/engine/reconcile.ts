/**
 * Reconciles one object once: checks whether the object may be worked on and has everything that it needs, and then
 * takes step after step.
 *
 * If the object is paused or its spec is invalid, or if something that it needs is missing, the reconcile takes no step
 * and ends with a condition that says so. A deletion that needs no call to the service takes no step either.
 */
import { isOpen, type LivePass, ReconcileContext } from './context/context.ts';
import { releasedWithoutCall, publishRetained, paused } from './context/report.ts';
import type { EngineParts } from './context/parts.ts';
import { barePass, dependentsOf, gather, isObserving, livePass, usersOf, type Gathered } from './context/build-pass.ts';
import type { Reason } from './kind/contract/reasons.ts';
import type { Memory, Verdict, Step } from './kind/contract/step.ts';
import { reconcileToken, type Stored, storedInWords, readyIn } from './objects/stored.ts';
import { annotations } from './kind/contract/define.ts';
import { KubeError } from './ports.ts';
import type { Ended } from './queue.ts';
import { sameJson } from '../base/json.ts';
import { concludeCall, OutgoingCall } from './call.ts';
import { longPause, overAt } from './kind/planner/observe.ts';

/** A new object waits this long before its status reports that something that it needs is missing, such as a Secret. */
const patienceMs = 5_000;
/** Interval at which a process that is not the leader checks again if it may act. */
const notLeadingMs = 2_000;
/** The pause before an object is reconciled again if its account was not reconciled yet. */
const accountPendingMs = 30_000;
/** The pause before the operator looks again for the effect of a call whose outcome is unknown. */
const lostRecheckMs = 5_000;
/** The greatest number of steps that one reconcile takes to find the effect of a call whose outcome is unknown. */
const mostLooks = 4;

/**
 * Reconciles an object: checks if the object may be worked on, then takes step after step until a step ends the
 * reconcile.
 */
export class Reconciler {
  readonly #parts: EngineParts;

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** Reconciles the object with this key once. */
  async reconcile(key: string): Promise<Ended> {
    const stored = this.#parts.objects.get(key);
    if (stored === undefined) return { is: 'gone' };
    const context = new ReconcileContext(this.#parts, stored);
    const { kind, spec } = stored;
    if (kind.finished?.(context.memory.facts) === true) {
      this.#parts.subscriptions.drop(key);
      return this.#acknowledge(context);
    }
    if (context.object.metadata.annotations?.[annotations.paused] === 'true') {
      context.inProcess.looks = false;
      return this.#pause(context);
    }
    const released = releasedWithoutCall(stored, context.memory, () => dependentsOf(this.#parts, stored));
    if (released !== undefined) return context.release(released.stays);
    if (spec.is !== 'valid' || context.status.damaged !== undefined) context.inProcess.looks = false;
    if (spec.is === 'broken') throw spec.cause;
    if (spec.is === 'invalid') return context.conclude({ is: 'stall', reason: 'InvalidSpec', message: spec.message });
    if (context.status.damaged !== undefined) {
      const message =
        'status.internal.journal cannot be parsed; remove this field once no call to the service is under way';
      return context.conclude({ is: 'stall', reason: 'JournalDamaged', message });
    }
    const gathered = await gather(stored, this.#parts);
    if (!('verdict' in gathered)) return takeSteps(context, gathered);
    context.inProcess.looks = false;
    if (context.object.metadata.deletionTimestamp !== undefined) return this.#leave(context, gathered.verdict);
    return this.#holdUp(context, gathered.verdict);
  }

  /**
   * Writes to status that a reconcile threw an error, without details. A temporary failure of Kubernetes is not
   * written.
   */
  async sayFailed(key: string, error: unknown): Promise<void> {
    const stored = this.#parts.objects.get(key);
    const isPassing = error instanceof KubeError && error.reason !== 'forbidden' && error.reason !== 'invalid';
    if (stored === undefined || isPassing) return;
    const message =
      error instanceof KubeError
        ? "Kubernetes refuses a request of the operator for this object; the operator's log has the details"
        : "the operator failed on this object because of a bug; the operator's log has the details";
    await new ReconcileContext(this.#parts, stored).conclude({ is: 'wait', reason: 'InternalError', message });
  }

  /**
   * Called when an object is gone from Kubernetes. Publishes an event if the object leaves something in the service.
   * Keeps the name of its open create call reserved, because that call may still arrive at the service.
   */
  noteGone(stored: Stored): void {
    // Every replica sees that the object is gone; only the leader publishes an event.
    if (this.#parts.leadership.mayAct() === undefined) void this.#tellLeft(stored);
    this.#parts.openCreates.noteGone(stored);
  }

  /**
   * Publishes an event that says what a deleted object leaves in the service. If the operator runs with a label
   * selector, an object may seem deleted although it only lost a label. So this function then reads the object, and
   * publishes nothing if it still exists.
   */
  async #tellLeft(stored: Stored): Promise<void> {
    const { settings, writer } = this.#parts;
    const note = stored.kind.leaves?.(stored.status.memory);
    if (note === undefined) return;
    const live = settings.seesAll ? undefined : await writer.readLive(stored.object).catch(() => undefined);
    if (live?.metadata.uid !== stored.object.metadata.uid) publishRetained(this.#parts, stored, note);
  }

  /**
   * Writes to status that the annotation `reconcile-at` of a finished one-time request was handled, and does nothing
   * else for the request.
   */
  async #acknowledge(context: ReconcileContext): Promise<Ended> {
    const token = reconcileToken(context.object);
    const settled = { is: 'settled', againInMs: undefined } as const;
    if (token === undefined || token === context.status.lastHandledReconcileAt) return settled;
    context.status = { ...context.status, lastHandledReconcileAt: token };
    return (await context.write()) ? settled : { is: 'overtaken' };
  }

  /**
   * Ends the reconcile of an object for which something is missing; status reports what is missing. If the outcome of a
   * call of the object is unknown, also continues to look for the effect of that call.
   */
  async #holdUp(context: ReconcileContext, verdict: Verdict | undefined): Promise<Ended> {
    if (verdict === undefined) return { is: 'quiet', againInMs: accountPendingMs };
    if (!context.isLost) {
      const patience = this.#patienceMs(context, verdict);
      return patience > 0 ? { is: 'quiet', againInMs: patience } : context.conclude(verdict);
    }
    const againInMs = await this.#lookForLost(context);
    const isTimed = verdict.is === 'wait' && againInMs !== undefined;
    return context.conclude(isTimed ? { ...verdict, retryInMs: againInMs } : verdict);
  }

  /**
   * Returns how much longer a new object waits before it reports that something is missing; zero or less if it does not
   * wait. It waits because usually the same `kubectl apply` creates the missing object a moment later.
   */
  #patienceMs({ status, inProcess }: ReconcileContext, verdict: Verdict): number {
    const { newSince } = inProcess;
    if (verdict.is !== 'wait' || status.conditions.length > 0 || newSince === undefined) return 0;
    return newSince + patienceMs - this.#parts.clock.monotonic();
  }

  /**
   * Handles the deletion of an object whose account cannot be used. Removes the finalizer if the kind allows that
   * without a read of the service. Otherwise status reports why the deletion waits.
   */
  async #leave(context: ReconcileContext, verdict: Verdict | undefined): Promise<Ended> {
    const { kind } = context.stored;
    const step = kind.step(barePass(context));
    if (step.is === 'release') return context.release(step.stays);
    if (kind.life === 'account' && step.is === 'wait') return context.conclude(step);
    return verdict === undefined ? { is: 'quiet', againInMs: accountPendingMs } : context.conclude(verdict);
  }

  async #pause(context: ReconcileContext): Promise<Ended> {
    const { kind, key } = context.stored;
    // A paused object needs no polling. A paused account needs polling, because other objects still use it.
    if (kind.life !== 'account') this.#parts.subscriptions.drop(key);
    const againInMs = await this.#lookForLost(context);
    const { generation = 0 } = context.object.metadata;
    const conditions = paused(context.status.conditions, generation, this.#parts.clock.wall());
    const lastHandledReconcileAt = reconcileToken(context.object) ?? context.status.lastHandledReconcileAt;
    context.status = { ...context.status, conditions, lastHandledReconcileAt };
    if (!(await context.write())) return { is: 'overtaken' };
    if (kind.life === 'account') await this.#serve(context.stored);
    return { is: 'settled', againInMs };
  }

  /**
   * Opens the connection of a paused account, so that other objects can use the account after a restart of the
   * operator. They may use it only if the account was Ready before.
   */
  async #serve(account: Stored): Promise<void> {
    const gathered = await gather(account, this.#parts);
    const verdict = 'verdict' in gathered ? gathered.verdict : undefined;
    const message = 'the account is paused and was never Ready before';
    this.#parts.gate.concluded(account, verdict ?? { is: 'wait', reason: 'Paused', message });
  }

  /**
   * Finds out whether a call with an unknown outcome was carried out, because other objects may wait for the outcome.
   * Used for an object for which nothing may be sent now, for example because the object is paused: this function only
   * reads the service. It does not remove the finalizer.
   *
   * Removes the journal entry of a create call when a read shows the created object, and stores the id of that object.
   * Also removes the entry when it is proved that nothing was created. Removes the journal entry of a change when a
   * read shows which values the service has.
   *
   * Returns the pause before the next reconcile. When a read that was requested here ends, the object is reconciled
   * earlier.
   *
   * Why: docs/design/at-most-once.md#look-for-the-effect-of-a-lost-call-even-while-nothing-may-be-sent
   */
  async #lookForLost(context: ReconcileContext): Promise<number | undefined> {
    const { stored } = context;
    const gathered = context.isLost ? await gather(stored, this.#parts, 'look') : undefined;
    if (gathered === undefined || 'verdict' in gathered || stored.spec.is !== 'valid') return undefined;
    for (let count = 0; count < mostLooks && isOpen(context.memory); count += 1) {
      const step = stored.kind.step(livePass(context, gathered, 'look'));
      forgetLost(context, step);
      if (step.is === 'call' || step.is === 'begin' || step.is === 'release') return undefined;
      if (step.is === 'read') {
        context.ask(gathered.opened.service, step, 'edit');
        return lostRecheckMs;
      }
      context.remember(step.remember);
      if (step.is !== 'again') return step.is === 'wait' ? step.retryInMs : undefined;
    }
    return undefined;
  }
}

/**
 * Removes the journal entry of a create call that created nothing; other objects wait until the entry is gone. It is
 * known that the call created nothing if the kind now decides to send it anew. Nothing is sent here.
 */
function forgetLost(context: ReconcileContext, step: Step): void {
  const isNewAttempt = step.is === 'call' && step.call.journal?.create !== undefined && step.call.resumes !== true;
  if (context.isLost && isNewAttempt) context.remember({ journal: undefined });
}

// ---- the loop of steps -----------------------------------------------------------------------------------------
//
// The kind decides on one step, the engine carries it out, and the kind decides again on the new state.
//
// Guarantees: a step has at most one effect in the service. A result that must not be lost, such as a new id, is in
// status before the next call is sent. So a crash between two steps only makes the reconcile slower.

type StepOf<Is extends Step['is']> = Extract<Step, { is: Is }>;

const mostSteps = 16;
/** The pause before an object is reconciled again to see if an awaited read has ended. */
const rereadMs = 5_000;
/**
 * A reconcile that waits for a read reports the wait in status only after this time. A shorter wait is usual, because a
 * read may have to wait for the request budget. There are two exceptions while no call has an unknown outcome: a long
 * pause that the service asked for is reported at once, and nothing is reported if status already describes the newest
 * generation of the spec.
 */
const silentReadMs = 45_000;

/** How the reconcile ends after a step; undefined if the kind decides on another step. */
type Next = Promise<Ended | undefined>;

/** Takes steps until a step ends the reconcile. */
async function takeSteps(context: ReconcileContext, gathered: Gathered): Promise<Ended> {
  prepare(context, gathered);
  const { inProcess, parts } = context;
  for (let count = 0; count < mostSteps; count += 1) {
    const pass = livePass(context, gathered);
    const { view } = pass;
    const step = context.stored.kind.step(pass);
    parts.subscriptions.replace(context.stored.key, view.service, view.looked);
    // If the read of a list began before the operator's own write, the list looks as if somebody had reverted the
    // write. So reconcile again after the next read of the list.
    for (const read of view.polledBefore(inProcess.wrote?.at))
      parts.subscriptions.ask(context.stored.key, view.service, read);
    // Keep the notes of this step for the next step. The notes of a call are kept only once the call is sent.
    if (step.is !== 'call' && 'note' in step && step.note !== undefined) inProcess.notes = step.note;
    inProcess.noteShown(context.memory.id, view);
    if ('remember' in step) context.remember(step.remember);
    const ended = await act(context, pass, step);
    if (ended !== undefined) return ended;
  }
  throw new Error(`bug: the reconcile of ${storedInWords(context.stored)} did not end in ${mostSteps} steps`);
}

function prepare(context: ReconcileContext, gathered: Gathered): void {
  const { inProcess, memory, object, parts, stored } = context;
  const { endpoint, accountId } = gathered.opened.service;
  // Bind the object to the account's new endpoint, which the account's owner has accepted. A one-time request stays
  // bound to the old endpoint.
  if (stored.kind.life === 'long' && memory.binding !== undefined && memory.binding.endpoint !== endpoint)
    context.remember({ binding: { endpoint, accountId } });
  const blockers = object.metadata.deletionTimestamp === undefined ? [] : usersOf(parts, stored);
  inProcess.noteCircumstances(object, gathered.opened, gathered.referred, blockers);
  inProcess.beginLooking();
}

/** Carries out one step. Returns undefined if another step has to follow. */
async function act(context: ReconcileContext, pass: LivePass, step: Step): Next {
  switch (step.is) {
    case 'again':
      return goOn(context, pass, step.stays);
    case 'release':
      return context.release(step.stays);
    case 'read':
      return awaitRead(context, pass, step);
    case 'begin':
    case 'call':
      return makeCall(context, pass, step);
    case 'ready':
      // Set the finalizer here too: somebody may have removed it, or it was not set while the object was only observed.
      return (await hold(context, pass)) ?? concludeStep(context, pass, step);
    case 'wait':
    case 'stall':
      if (step.awaits !== undefined) context.ask(pass.view.service, step.awaits, 'wait');
      return concludeStep(context, pass, step);
  }
}

/**
 * Goes on to the next step. If an object of the service stays but no longer belongs to the resource (`stays` says
 * which), first publishes an event about it and writes status.
 */
async function goOn(context: ReconcileContext, pass: LivePass, stays: string | undefined): Next {
  if (stays !== undefined) {
    // Publish the event before status is written. If the operator ended right after the write, or if the response to
    // the write were lost, the next reconcile would find nothing left to do, and nobody would publish the event.
    publishRetained(context.parts, context.stored, stays);
    if (!(await context.write())) return { is: 'overtaken' };
  }
  return hold(context, pass);
}

/**
 * Called if the object or its account has the policy `Observe`. Status reports the next call, but the call is not sent.
 * An object that stands for a one-time request, such as a recovery, is then not Ready, because its request was not
 * sent.
 */
function onlyObserved(context: ReconcileContext, pass: LivePass, words: string): Promise<Ended> {
  const message = 'the object is only observed; status.wouldDo describes the call that would be sent';
  const is = context.stored.kind.life === 'request' ? 'wait' : 'ready';
  return context.conclude({ is, reason: 'Observed', message }, pass, words);
}

async function concludeStep(context: ReconcileContext, pass: LivePass, verdict: Verdict): Promise<Ended> {
  const { inProcess } = context;
  if (asksForRateLimited(context, pass)) return { is: 'quiet', againInMs: rereadMs };
  inProcess.askedAt = undefined;
  inProcess.newSince = undefined;
  if (verdict.is === 'ready') inProcess.wentWell();
  return context.conclude(verdict, pass);
}

/** Makes a call, or writes its journal entry, unless the object is only observed or this process is not the leader. */
async function makeCall(context: ReconcileContext, pass: LivePass, step: StepOf<'begin' | 'call'>): Next {
  if (isObserving(context.stored.kind, pass)) {
    forgetLost(context, step);
    return onlyObserved(context, pass, step.is === 'call' ? step.call.words : step.words);
  }
  const ended = await hold(context, pass);
  if (ended !== undefined) return ended;
  if (context.parts.leadership.mayAct() !== undefined) {
    context.inProcess.askedAt = undefined;
    return { is: 'quiet', againInMs: notLeadingMs };
  }
  return step.is === 'call' ? new OutgoingCall(context, pass, step).perform() : begin(context, pass, step);
}

/**
 * Writes the journal entry of a call without sending the call yet. The next step reads the service again and then sends
 * the call.
 */
async function begin(context: ReconcileContext, pass: LivePass, step: StepOf<'begin'>): Next {
  const { journal, words } = step;
  const { inProcess, parts, stored } = context;
  const failed = inProcess.backedOff(journal.digest, pass.monotonicMs);
  if (failed !== undefined)
    return concludeCall(context, pass, { verdict: failed.verdict, againInMs: failed.until - pass.monotonicMs });
  // Include the conditions that only this kind has, so that status has them already while the call is under way. If the
  // process dies, they stay until another process leads. So they must be true with the entry.
  const own = (memory: Memory) => stored.kind.show({ ...pass, memory }).conditions;
  try {
    const isEntered = await context.enter(pass, journal, { reason: 'Requesting', message: words, own });
    return isEntered ? undefined : { is: 'overtaken' };
  } finally {
    parts.openCreates.unreserve(stored);
  }
}

/** Sets the operator's finalizer before anything is created that could be left in the service. */
async function hold(context: ReconcileContext, pass: LivePass): Next {
  const { holds, life } = context.stored.kind;
  // Even an account with the policy `Observe` needs the finalizer, because other objects use the account.
  const mayGo = life !== 'account' && isObserving(context.stored.kind, pass);
  if (!holds || pass.subject.held || pass.subject.deleting || mayGo) return undefined;
  return (await context.hold()) ? undefined : { is: 'overtaken' };
}

/**
 * Requests a read of the service and ends the reconcile. Status says nothing about a short wait for the read. A long
 * wait is reported if status does not describe this generation of the spec yet, or if the outcome of a call is unknown.
 */
async function awaitRead(context: ReconcileContext, pass: LivePass, step: StepOf<'read'>): Promise<Ended> {
  const { inProcess, stored, status } = context;
  if (hasNews(context) && !(await context.write())) return { is: 'overtaken' };
  inProcess.askedAt ??= pass.askedAt;
  context.ask(pass.view.service, step, 'edit');
  const waited = pass.monotonicMs - inProcess.askedAt;
  const isKnown = readyIn(status.conditions)?.observedGeneration === pass.subject.generation;
  const doubt = stored.kind.answered?.(context.memory) === true ? undefined : context.memory.journal;
  const isSoon = waited < silentReadMs;
  const pause = doubt === undefined ? longPause(pass) : undefined;
  if ((isSoon && pause === undefined) || (isKnown && doubt === undefined)) return { is: 'quiet', againInMs: rereadMs };
  const say = (reason: Reason, message: string) =>
    context.conclude({ is: 'wait', reason, message, retryInMs: rereadMs });
  if (doubt !== undefined) {
    const { inWords } = overAt(pass, doubt);
    const message = `a call with an unknown outcome may still arrive at the service until ${inWords}; the operator reads the service to find out if the call had an effect`;
    return say('InDoubt', message);
  }
  const waiting = `waiting for ${step.read.first.endpoint}`;
  if (pause === undefined) return say('ReadingService', waiting);
  return say('Throttled', `${waiting}: the service asked to slow down, and ${pause}`);
}

/**
 * While the annotation `reconcile-at` is being handled, also requests the rate-limited reads of the object, such as the
 * state of an alert, without waiting for their turn. Returns true while one of these reads has not ended.
 */
function asksForRateLimited(context: ReconcileContext, pass: LivePass): boolean {
  const { forced } = context.inProcess;
  if (forced === undefined) return false;
  // The view then also knows the reads that only status uses.
  context.stored.kind.show(pass);
  const reads = pass.view.rateLimitedBefore(forced.since);
  for (const read of reads) context.ask(pass.view.service, { read, since: forced.since }, 'edit');
  return reads.length > 0;
}

/**
 * True when this reconcile has learned something that must be in status before the reconcile waits: a new id, the loss
 * of the earlier id, or the outcome of a call that was unknown.
 */
function hasNews({ stored, memory, hasUnwritten }: ReconcileContext): boolean {
  const { id, journal } = stored.status.memory;
  const hasEnded = journal !== undefined && !sameJson(journal, memory.journal);
  const isBoundAnew = id !== undefined && id !== memory.id;
  return hasUnwritten || hasEnded || isBoundAnew;
}
