/**
 * The loop around a step: asks the kind for the next single effect, performs it, and asks again.
 *
 * Guarantees: one effect per step, and its result is in status before the next step; a crash between two effects is the
 * same as a slow reconcile.
 */
import { sameJson } from '../../base/json.ts';
import { ExclusiveLocks } from '../call/exclusive-locks.ts';
import { forgetLost } from '../call/lost-call.ts';
import { begin, OutgoingCall, type Performed } from '../call/outgoing-call.ts';
import { isObserving } from '../context/build-pass.ts';
import type { ReconcileContext } from '../context/context.ts';
import { arrivesUntil } from '../context/doubt.ts';
import { publishRetained } from '../context/publish.ts';
import { usersOf } from '../context/relations.ts';
import type { Resources } from '../context/resources.ts';
import type { Pass } from '../kind/contract/pass.ts';
import type { Step, Verdict } from '../kind/contract/step.ts';
import { withoutMisses, longPause } from '../kind/planner/observe.ts';
import { noteCircumstances, wentWell } from '../objects/call-backoff.ts';
import { seenAgain } from '../objects/in-process.ts';
import { storedInWords } from '../objects/object-index.ts';
import { RecordingView } from '../objects/subscriptions.ts';
import type { Ended } from '../queue/workers.ts';

type AnyPass = Pass<unknown, unknown>;
type StepOf<Is extends Step<unknown>['is']> = Extract<Step<unknown>, { is: Is }>;

const mostSteps = 16;
const quietReadMs = 5_000;
/** How much longer a read may take before status mentions it, when our own request budget delays it. */
const longestQueueMs = 40_000;
const usualQueue = 25;

/** Undefined lets the loop ask the kind again; anything else ends the reconcile. */
type Next = Promise<Ended | undefined>;

export class Steps {
  /** The exclusive locks of calls that must not overlap. */
  readonly #locks = new ExclusiveLocks();

  /** Takes steps until there is nothing left to do now. */
  async run(context: ReconcileContext, resources: Resources): Promise<Ended> {
    this.#prepare(context, resources);
    const { inProcess, parts } = context;
    const { service } = resources.session;
    for (let count = 0; count < mostSteps; count += 1) {
      const view = new RecordingView(service, inProcess.forced?.since);
      const pass = context.pass(view, { ...resources, account: parts.accounts.view(resources.session) });
      const step = context.stored.kind.step(pass);
      parts.subscriptions.replace(context.stored.key, service, view.looked);
      // A list begun before our write looks like a reverted write, so run again after the next list.
      for (const read of view.polledBefore(inProcess.wrote?.at)) parts.asked(service, read, context.stored.key);
      if ('note' in step && step.note !== undefined) inProcess.notes = step.note;
      inProcess.notes = seenAgain(inProcess.notes, context.memory.id, view);
      const ended = await this.#act(context, pass, step, view);
      if (ended !== undefined) return ended;
    }
    throw new Error(`${storedInWords(context.stored)} does not come to an end after ${mostSteps} steps`);
  }

  #prepare(context: ReconcileContext, resources: Resources): void {
    const { inProcess, object, parts, stored } = context;
    rebind(context, resources);
    const isLeaving = object.metadata.deletionTimestamp !== undefined;
    noteCircumstances(inProcess, object, resources, isLeaving ? usersOf(parts, stored) : []);
    // Reads from before the object was held up are too old.
    if (!inProcess.looks) {
      inProcess.askedAt = undefined;
      const isProved = inProcess.notes['provedGone'] !== undefined;
      if (!isProved) inProcess.notes = withoutMisses(inProcess.notes);
    }
    inProcess.looks = true;
  }

  /** Carries out one step. */
  async #act(context: ReconcileContext, pass: AnyPass, step: Step<unknown>, view: RecordingView): Next {
    switch (step.is) {
      case 'again':
        context.remember(step.remember);
        return this.#goOn(context, pass, step.stays);
      case 'release':
        return context.release(step.stays);
      case 'read':
        context.remember(step.remember);
        return this.#read(context, pass, step, view);
      case 'begin':
        context.remember(step.remember);
        if (isObserving(context.stored.kind, pass)) return this.#observed(context, pass, step.words);
        return this.#performed(context, pass, await begin(context, pass, step.journal, step.words), view);
      case 'call':
        context.remember(step.remember);
        return this.#call(context, pass, step, view);
      case 'ready':
        // The finalizer may be missing: removed by somebody, or the object was only observed before.
        return (await this.#hold(context, pass)) ?? this.#conclude(context, pass, step, view);
      case 'wait':
      case 'stall':
        if (step.awaits !== undefined) ask(context, view, step.awaits, 'wait');
        return this.#conclude(context, pass, step, view);
    }
  }

  /** Remembers what was learned. What is given up by that is published, and status is written at once. */
  async #goOn(context: ReconcileContext, pass: AnyPass, stays: string | undefined): Next {
    if (stays !== undefined) {
      // Publish first: after a lost answer the write would not be repeated, and neither would the event.
      publishRetained(context.parts, context.stored, stays);
      if (!(await context.write())) return { is: 'overtaken' };
    }
    return this.#hold(context, pass);
  }

  /** With `Observe`, reports the next call without sending it. A one-time request stays not ready. */
  #observed(context: ReconcileContext, pass: AnyPass, words: string): Promise<Ended> {
    const message = 'only observed; status.wouldDo says what would be done';
    const is = context.stored.kind.life === 'request' ? 'wait' : 'ready';
    return context.conclude({ is, reason: 'Observed', message }, pass, words);
  }

  async #conclude(
    context: ReconcileContext,
    pass: AnyPass,
    verdict: Verdict<unknown>,
    view: RecordingView,
  ): Promise<Ended> {
    const { inProcess } = context;
    if (asksForRateLimited(context, pass, view)) return { is: 'quiet', againInMs: quietReadMs };
    inProcess.askedAt = undefined;
    inProcess.newSince = undefined;
    if (verdict.is === 'ready') wentWell(inProcess);
    context.remember(verdict.remember);
    return context.conclude(verdict, pass);
  }

  async #call(context: ReconcileContext, pass: AnyPass, step: StepOf<'call'>, view: RecordingView): Next {
    if (isObserving(context.stored.kind, pass)) {
      forgetLost(context, step);
      return this.#observed(context, pass, step.call.words);
    }
    const ended = await this.#hold(context, pass);
    if (ended !== undefined) return ended;
    return this.#performed(
      context,
      pass,
      await new OutgoingCall(context, pass, step.call, this.#locks).perform(),
      view,
    );
  }

  async #performed(context: ReconcileContext, pass: AnyPass, performed: Performed, view: RecordingView): Next {
    switch (performed.is) {
      case 'on':
        return undefined;
      case 'overtaken':
      case 'quiet':
        return performed;
      case 'said': {
        const { verdict, againInMs } = performed;
        if (verdict.note !== undefined) context.inProcess.notes = verdict.note;
        if ('awaits' in verdict) ask(context, view, verdict.awaits, 'wait');
        context.remember(verdict.remember);
        const ended = await context.conclude(verdict, pass);
        return againInMs !== undefined && ended.is === 'settled' ? { is: 'failing', againInMs } : ended;
      }
    }
  }

  /** Sets our finalizer before anything can be left behind in the service. */
  async #hold(context: ReconcileContext, pass: AnyPass): Next {
    const { holds, life } = context.stored.kind;
    // An account that only observes still has users, so it needs the finalizer.
    const mayGo = life !== 'account' && isObserving(context.stored.kind, pass);
    if (!holds || pass.subject.held || pass.subject.deleting || mayGo) return undefined;
    return (await context.hold()) ? undefined : { is: 'overtaken' };
  }

  /** Asks for a read; status says so only when it takes long and nothing better is known. */
  async #read(context: ReconcileContext, pass: AnyPass, step: StepOf<'read'>, view: RecordingView): Promise<Ended> {
    const { inProcess, stored, status } = context;
    if (hasNews(context) && !(await context.write())) return { is: 'overtaken' };
    inProcess.askedAt ??= pass.askedAt;
    ask(context, view, step, 'edit');
    const waited = pass.monotonicMs - inProcess.askedAt;
    const isKnown = status.conditions.some(
      ({ type, observedGeneration }) => type === 'Ready' && observedGeneration === pass.subject.generation,
    );
    const doubt = stored.kind.answered?.(context.memory) === true ? undefined : context.memory.journal;
    // Waiting in our own queue is not worth a status.
    const queueMs = (1_000 * usualQueue) / view.service.health().requestsPerSecond;
    const quietMs = quietReadMs + Math.min(queueMs, longestQueueMs);
    const pause = doubt === undefined ? longPause(pass) : undefined;
    const isSoon = waited < quietMs && pause === undefined;
    if (isSoon || (isKnown && doubt === undefined)) return { is: 'quiet', againInMs: quietReadMs };
    const waiting = `waiting for ${step.read.first.endpoint}`;
    if (pause !== undefined) {
      const message = `${waiting}: the service asked to slow down, and ${pause}`;
      return context.conclude({ is: 'wait', reason: 'Throttled', message, retryInMs: quietReadMs });
    }
    const message =
      doubt === undefined
        ? waiting
        : `a call was sent and its answer was lost, so that it may still arrive until ${arrivesUntil(context, doubt)}; waiting for a read of the service that shows its effect`;
    const reason = doubt === undefined ? 'ReadingService' : 'InDoubt';
    return context.conclude({ is: 'wait', reason, message, retryInMs: quietReadMs });
  }
}

/** Asks the service for a read; its end wakes the object, whatever it shows. */
function ask(
  { inProcess, parts, stored }: ReconcileContext,
  { service }: RecordingView,
  { read, since }: NonNullable<StepOf<'wait'>['awaits']>,
  urgency: 'edit' | 'wait',
): void {
  parts.asked(service, read.key, stored.key);
  service.want(read, Math.max(since, inProcess.forced?.since ?? Number.NEGATIVE_INFINITY), urgency);
}

/**
 * The account's owner accepted another endpoint: rebind the object to it. A one-time request stays bound where it was made.
 */
function rebind(context: ReconcileContext, { session }: Resources): void {
  const { binding } = context.memory;
  const { endpoint, accountId } = session.service;
  if (context.stored.kind.life !== 'long' || binding === undefined || binding.endpoint === endpoint) return;
  context.remember({ binding: { endpoint, accountId } });
}

/** With `reconcile-at`, also refresh rate-limited reads (the state of an alert) before reporting; true while one is awaited. */
function asksForRateLimited(
  { inProcess, stored, parts }: ReconcileContext,
  pass: AnyPass,
  view: RecordingView,
): boolean {
  const { forced } = inProcess;
  if (forced === undefined) return false;
  stored.kind.show(pass);
  const reads = view.rateLimitedBefore(forced.since);
  for (const read of reads) {
    parts.asked(view.service, read.key, stored.key);
    view.service.want(read, forced.since, 'edit');
  }
  return reads.length > 0;
}

/**
 * True when something was learned that must be written before anything is waited for: an id, the end of a lost call, or what
 * has taken the place of an object that is gone.
 */
function hasNews({ stored, memory, hasUnwritten }: ReconcileContext): boolean {
  const { id, journal } = stored.status.memory;
  const hasEnded = journal !== undefined && !sameJson(journal, memory.journal);
  const isBoundAnew = id !== undefined && id !== memory.id;
  return hasUnwritten || hasEnded || isBoundAnew;
}
