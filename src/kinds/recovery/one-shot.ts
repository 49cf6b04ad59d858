/**
 * A request that is made once: the order that validation, activation, discard and reset share.
 *
 * Guarantees: what is sent stands in status before anything is read for the last time; the fences are asked before every send
 * and resend; after a doubt the same bytes are sent or none; an end is for good.
 *
 * Why: docs/design/recovery-requests.md
 */
import type { Needs, ReferenceNeed } from '../../engine/kind/contract/define.ts';
import { isoSeconds } from '../../base/time.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { sightLost, withoutMisses } from '../../engine/kind/planner/observe.ts';
import type { Call, CreateIntent, Intent, JournalEntry, Memory, Step } from '../../engine/kind/contract/step.ts';
import type { Read, Snapshot } from '../../engine/ports.ts';
import { drConfigurationsOf } from '../../hosting/requests.ts';
import { never, powerless, unreferred, type Fence, type RequestFacts } from './approval.ts';
import { stop } from './one-shot-end.ts';
import { inSpecWords } from './words.ts';

/** The decisions that differ between the kinds of request. */
export interface OncePlan<Spec, Facts extends RequestFacts, Seen> {
  /** In lower case: `activation`. */
  readonly noun: string;
  /** The flag that the operator needs to send it; undefined when none is needed. */
  readonly power: (spec: Spec) => 'activation' | 'accountReset' | undefined;
  /** The object that must exist until the request is sent; afterwards it may go. */
  readonly refersTo: (spec: Spec) => ReferenceNeed | undefined;
  /** The end of the approval (`validUntil`); undefined when none is needed. */
  readonly validUntil: (spec: Spec) => string | undefined;
  /** Status fields that are known before anything is read. */
  readonly facts: (pass: Pass<Spec, Facts>) => Partial<Facts>;
  /** Looks at the service with reads that began at or after `since` (monotonic). */
  readonly look: (pass: Pass<Spec, Facts>, since: number) => Step<Facts> | Seen;
  readonly snapshotOf: (seen: Seen) => Snapshot;
  /** Finds an operation of ours that exists already, and says what to remember of it. */
  readonly trace: (pass: Pass<Spec, Facts>, seen: Seen) => Partial<Memory<Facts>> | undefined;
  readonly fence: (pass: Pass<Spec, Facts>, seen: Seen) => Step<Facts> | Fence | undefined;
  readonly intent: (pass: Pass<Spec, Facts>, seen: Seen) => Intent;
  readonly words: (pass: Pass<Spec, Facts>) => string;
  readonly call: (
    pass: Pass<Spec, Facts>,
    journal: JournalEntry,
  ) => Pick<Call<Facts>, 'request' | 'committed' | 'credential' | 'proof' | 'tells'>;
  /** Interprets a refusal; without this function a refusal is final. */
  readonly refused?: (pass: Pass<Spec, Facts>, seen: Seen, no: No) => Step<Facts> | undefined;
  /** Text for people: what to look for in the service when reads do not show whether a call took effect. */
  readonly untold?: (pass: Pass<Spec, Facts>, seen: Seen) => string | undefined;
  /** True when the request has no requestId: a lost one must be settled before it is repeated. */
  readonly unidentified?: true;
  /** True once a list shows the accepted operation. Until then other requests of the same kind wait for it. */
  readonly isShown?: (pass: Pass<Spec, Facts>, seen: Seen) => boolean;
  readonly follow: (pass: Pass<Spec, Facts>, seen: Seen) => Step<Facts>;
}

/** A refusal, and the time from which an earlier call can no longer arrive. */
export interface No {
  readonly words: string;
  readonly isOver: boolean;
  /** Its name in messages. */
  readonly until: string;
}

/** The protection that a request is about. */
export function protectionNeed({
  protectionRef,
}: {
  readonly protectionRef: { readonly name: string };
}): ReferenceNeed {
  return { kind: 'DisasterProtection', name: protectionRef.name, field: 'protectionRef', optional: true };
}

/** The references of a request. */
export function needsOf(reference: ReferenceNeed | undefined): Needs {
  return { references: reference === undefined ? [] : [reference] };
}

/** A call is decided on reads that are no older than this. */
const freshMs = 15_000;
/** The pause before the same request is sent again after a lost answer. */
const resendMs = 15_000;
const watchMs = 5_000;
/** The service is asked this often while a request is under way, so that a phase of five seconds is seen. */
const lookMs = 4_000;

/** The next step for a request. */
export function stepOnce<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
): Step<Facts> {
  if (pass.subject.deleting) return { is: 'release' };
  const { journal, binding, facts } = pass.memory;
  const accepted = facts.acceptedTime !== undefined;
  if (!accepted && journal === undefined) {
    const off = offFence(plan, pass) ?? aloneFence(plan, pass);
    if (off !== undefined) return takingBack(pass, stop(pass, off));
    if (binding === undefined) return takeUp(plan, pass);
  }
  const { monotonicMs, journalSeen, askedAt } = pass;
  const open = Math.max(journalSeen.monotonic, monotonicMs - freshMs, answeredAt(pass));
  const seen = plan.look(pass, accepted ? Number.NEGATIVE_INFINITY : journal === undefined ? askedAt : open);
  if (isStep(seen)) return notingAnswer(pass, seen);
  return notingAnswer(pass, takingBack(pass, lookingSoon(plan, pass, seen, decide(plan, pass, seen))));
}

/**
 * When this process last got or lost an answer to the request: an older list does not show its effect. Passed to the next
 * step by `note`.
 */
function answeredAt<Spec, Facts extends RequestFacts>({ memory, notes, wrote, askedAt }: Pass<Spec, Facts>): number {
  const { journal, facts } = memory;
  if (facts.acceptedTime !== undefined) return wrote?.at ?? Number.NEGATIVE_INFINITY;
  const isSent = journal?.conflicted !== undefined || notes['sentAt'] !== undefined;
  return isSent ? (notes['answeredAt'] ?? askedAt) : Number.NEGATIVE_INFINITY;
}

/** The same step, so that what follows knows what `answeredAt` found. */
function notingAnswer<Spec, Facts extends RequestFacts>(pass: Pass<Spec, Facts>, step: Step<Facts>): Step<Facts> {
  const at = answeredAt(pass);
  const isOpen = pass.memory.facts.acceptedTime === undefined && at > Number.NEGATIVE_INFINITY;
  if (!isOpen || step.is === 'release' || step.is === 'call') return step;
  return { ...step, note: { ...(step.note ?? pass.notes), answeredAt: at } };
}

/**
 * Reasons of waiting that may end at any moment, so the service is read again soon. For all others the usual polls are
 * enough.
 */
const moving: ReadonlySet<string> = new Set(['InProgress', 'InDoubt', 'CleanupPending', 'TakeOver', 'VisibilityLost']);

/** Adds a read to a wait, as soon as the newest list is old or from before the answer. */
export function lookingAgain<Spec, Facts extends RequestFacts>(
  pass: Pass<Spec, Facts>,
  wait: Extract<Step<Facts>, { is: 'wait' }>,
  read: Read,
  begunAt: number,
): Step<Facts> {
  const { monotonicMs } = pass;
  const dueMs = Math.max(begunAt < answeredAt(pass) ? 0 : begunAt + lookMs - monotonicMs, 0);
  if (dueMs <= 0) return { ...wait, retryInMs: lookMs, awaits: { read, since: monotonicMs } };
  return { ...wait, retryInMs: Math.min(wait.retryInMs ?? dueMs, Math.ceil(dueMs)) };
}

/** Follows a request that is under way with frequent reads. */
function lookingSoon<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  seen: Seen,
  step: Step<Facts>,
): Step<Facts> {
  if (step.is !== 'wait' || step.awaits !== undefined || !moving.has(step.reason)) return step;
  const { journal, facts } = pass.memory;
  if (journal === undefined && facts.acceptedTime === undefined) return step;
  const { begunAt } = plan.snapshotOf(seen);
  return lookingAgain(pass, step, drConfigurationsOf(pass.account.accountId), begunAt);
}

/** Only two misses in a row prove that something is gone: a step that does not keep the note of a miss forgets it. */
function takingBack<Spec, Facts>(pass: Pass<Spec, Facts>, step: Step<Facts>): Step<Facts> {
  if (step.is === 'release' || step.note !== undefined) return step;
  return { ...step, note: withoutMisses(pass.notes) };
}

/** Decides the next step by what the service shows. */
function decide<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  seen: Seen,
): Step<Facts> {
  const { journal, facts } = pass.memory;
  if (facts.acceptedTime !== undefined) {
    const isBefore = plan.snapshotOf(seen).begunAt < answeredAt(pass);
    return isBefore ? notShownYet(pass, plan.noun) : (letGo(plan, pass, seen) ?? plan.follow(pass, seen));
  }
  const traced = plan.trace(pass, seen);
  if (traced !== undefined) return later(plan, pass, seen) ?? { is: 'again', remember: traced, note: {} };
  return journal === undefined ? first(plan, pass, seen) : resolve(plan, pass, seen, journal);
}

/** Reports the acceptance, and nothing from a list that is older than the answer. */
export function notShownYet<Spec, Facts extends RequestFacts>(
  { memory, notes }: Pass<Spec, Facts>,
  noun: string,
): Extract<Step<Facts>, { is: 'wait' }> {
  const which = memory.id === undefined ? '' : ` as operation ${memory.id}`;
  const message = `the service accepted the ${noun}${which}, and does not show it yet`;
  return { is: 'wait', reason: 'InProgress', message, note: notes };
}

/** True when the call of the journal entry was answered. The entry then only keeps other requests waiting; nothing is in doubt. */
export function isAnswered<Facts extends RequestFacts>({ facts, id }: Memory<Facts>): boolean {
  return facts.acceptedTime !== undefined && id !== undefined;
}

/**
 * Stop holding others once a list shows the operation, because the service then refuses them itself, or after so long that
 * it may never show it.
 */
function letGo<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  seen: Seen,
): Step<Facts> | undefined {
  const { journal } = pass.memory;
  if (journal === undefined || !isAnswered(pass.memory) || plan.isShown === undefined) return undefined;
  const isSeen = plan.isShown(pass, seen) || limboOf(pass, journal, plan.snapshotOf(seen)).isOver;
  return isSeen ? { is: 'again', remember: { journal: undefined } } : undefined;
}

function isStep<Facts, Seen>(value: Step<Facts> | Fence | Seen): value is Step<Facts> {
  return typeof value === 'object' && value !== null && 'is' in value;
}

function offFence<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
): Fence | undefined {
  const power = plan.power(pass.spec);
  return power === undefined ? undefined : powerless(pass, power);
}

function aloneFence<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
): Fence | undefined {
  const reference = plan.refersTo(pass.spec);
  return reference && unreferred(pass, reference, plan.validUntil(pass.spec));
}

function takeUp<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
): Step<Facts> {
  const { endpoint, accountId } = pass.account;
  const facts: Facts = { ...pass.memory.facts, ...plan.facts(pass) };
  return { is: 'again', remember: { binding: { endpoint, accountId }, facts } };
}

/** No journal entry yet: check every fence, then write the entry. */
function first<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  seen: Seen,
): Step<Facts> {
  const fence = plan.fence(pass, seen);
  if (fence !== undefined) return isStep<Facts, Seen>(fence) ? fence : stop(pass, fence);
  const journal = plan.intent(pass, seen);
  const held = heldBack(pass, journal.create);
  if (held !== undefined) return held;
  return { is: 'begin', journal, words: plan.words(pass), note: { unsent: 1 } };
}

/** Holds a request back while the account is frozen, after a take-over, or while another one is under way. */
function heldBack<Spec, Facts>(pass: Pass<Spec, Facts>, create: CreateIntent | undefined): Step<Facts> | undefined {
  const blind = sightLost(pass);
  if (blind !== undefined) return blind;
  if (pass.quarantineMs > 0) {
    const message =
      'this operator has just taken over; nothing is sent until calls of its predecessor can no longer arrive';
    return { is: 'wait', reason: 'TakeOver', message, retryInMs: pass.quarantineMs };
  }
  const other = create === undefined ? undefined : pass.creating(create.collection, create.name);
  if (other === undefined) return undefined;
  const message = `${other} is under way for the same configuration; this one is looked at again after it`;
  return { is: 'wait', reason: 'OperationInProgress', message, retryInMs: watchMs };
}

/** For a request without a requestId: waits while its effect still shows, or while a lost call of it may still arrive. */
function later<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  seen: Seen,
): Step<Facts> | undefined {
  const { journal } = pass.memory;
  if (plan.unidentified !== true || journal === undefined) return undefined;
  const blind = sightLost(pass);
  if (blind !== undefined) return blind;
  const limbo = limboOf(pass, journal, plan.snapshotOf(seen));
  const why = 'the service shows that it is done, and a lost call may still arrive';
  return limbo.settled ? undefined : inDoubt(plan, pass, limbo.untilMs, why);
}

/** Resolves an open journal entry: never sent, answer lost, or refused. */
function resolve<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  seen: Seen,
  journal: JournalEntry,
): Step<Facts> {
  const { notes, monotonicMs } = pass;
  const limbo = limboOf(pass, journal, plan.snapshotOf(seen));
  if (journal.conflicted !== undefined) {
    // Interpret the refusal now: later the service may no longer show its reason.
    const no: No = { words: journal.conflicted, isOver: limbo.isOver, until: inWords(limbo.untilMs) };
    const own = plan.refused?.(pass, seen, no);
    if (own !== undefined) return own;
    if (!limbo.settled) return inDoubt(plan, pass, limbo.untilMs, `the service said: ${journal.conflicted}`);
    const message = `${plan.words(pass)}: ${inSpecWords(journal.conflicted)}`;
    return stop(pass, { reason: 'Rejected', message, final: true });
  }
  const fence = offFence(plan, pass) ?? plan.fence(pass, seen) ?? aloneFence(plan, pass);
  if (fence !== undefined) {
    if (isStep<Facts, Seen>(fence)) return fence;
    if (!fence.final) return stop(pass, fence);
    if (limbo.settled) return stop(pass, wasSent(pass) ? inTheEnd(plan, pass, seen, fence) : fence);
    return inDoubt(plan, pass, limbo.untilMs, `${fence.message}; nothing more is sent`);
  }
  const held = heldBack(pass, undefined);
  if (held !== undefined) return held;
  const sentAt = notes['sentAt'] ?? Number.NEGATIVE_INFINITY;
  const mustWait = plan.unidentified === true ? !limbo.settled : monotonicMs - sentAt < resendMs;
  // After a restart nobody knows whether the bytes went out.
  const why = notes['sentAt'] === undefined ? 'it may have been sent before' : 'the answer was lost';
  if (mustWait) return inDoubt(plan, pass, limbo.untilMs, why);
  return {
    is: 'call',
    call: {
      ...plan.call(pass, journal),
      words: plan.words(pass),
      urgency: plan.power(pass.spec) === undefined ? 'edit' : 'dangerous',
      resumes: true,
      confirm: 'live',
    },
    note: { sentAt: monotonicMs, ...(notes['unsent'] !== undefined && { first: 1 }) },
  };
}

/** True when a call of the journal entry may have gone out. After a restart nobody knows that it did not. */
export function wasSent<Spec, Facts>({ memory, notes }: Pass<Spec, Facts>): boolean {
  return memory.journal !== undefined && notes['unsent'] === undefined;
}

/** Ends a request in doubt. A fence stops further calls but does not settle an earlier one. */
function inTheEnd<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  seen: Seen,
  { reason, message }: Fence,
): Fence {
  const untold = plan.untold?.(pass, seen);
  if (untold === undefined) return never(reason, `${message}; no trace shows of what may have been sent before`);
  const why = `its answer was lost, no more is sent (${reason}), and what the service shows does not tell what came of it`;
  return never('UnknownState', `${plan.words(pass)}: ${why}; look there ${untold}`);
}

/** Says until when a call of the journal entry may still arrive. */
function limboOf<Spec, Facts>(
  { notes, journalSeen, horizonMs, monotonicMs, wallMs }: Pass<Spec, Facts>,
  journal: JournalEntry,
  snapshot: Snapshot,
): { readonly settled: boolean; readonly isOver: boolean; readonly untilMs: number } {
  const sentAt = Math.max(journalSeen.monotonic, notes['sentAt'] ?? Number.NEGATIVE_INFINITY);
  const until = sentAt + journal.deadlineSeconds * 1_000 + horizonMs;
  const untilMs = wallMs + until - monotonicMs;
  const neverSent = notes['unsent'] !== undefined;
  const answered = journal.conflicted !== undefined && notes['first'] !== undefined;
  const isOver = snapshot.begunAt >= until;
  return { settled: neverSent || answered || isOver, isOver, untilMs };
}

function inDoubt<Spec, Facts extends RequestFacts, Seen>(
  plan: OncePlan<Spec, Facts, Seen>,
  pass: Pass<Spec, Facts>,
  untilMs: number,
  why: string,
): Step<Facts> {
  const message = `${plan.words(pass)}: ${why}; until ${inWords(untilMs)} the service is watched for what came of it`;
  return { is: 'wait', reason: 'InDoubt', message, retryInMs: watchMs };
}

function inWords(wallMs: number): string {
  return isoSeconds(Math.ceil(wallMs / 1_000) * 1_000);
}
