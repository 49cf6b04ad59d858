/**
 * Sends a recovery request once: the steps that validation, activation, discard and reset share.
 *
 * Guarantees: the request is recorded in status before the last reads of the service. All checks are made again before
 * the request is sent, and before it is sent again. While the outcome of a call is unknown, either the same bytes are
 * sent again or nothing is sent. The end of a request is final.
 *
 * Why: docs/design/recovery-requests.md
 */
import { canonicalJson } from '../../base/json.ts';
import { isoSeconds } from '../../base/time.ts';
import {
  defineKind,
  type KindDefinition,
  type KindIdentity,
  type ReferenceNeed,
} from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import {
  type Intent,
  type JournalEntry,
  type Memory,
  type OwnCondition,
  type Step,
  type Verdict,
  about,
  writtenBody,
} from '../../engine/kind/contract/step.ts';
import { waitForSecondMiss, waitWhileFrozen, takingOver, withoutMisses } from '../../engine/kind/planner/observe.ts';
import type { Read, Request, Snapshot } from '../../engine/ports.ts';
import { drConfigurationsOf, receiptOf, type ConfigurationItem } from '../../hosting/requests.ts';
import { expired, never, powerless, unreferred, type Fence } from './approval.ts';
import { operationIdsOf, shows } from './configurations.ts';
import type { RequestFacts } from './schema.ts';
import { atStage, stageNotices, stageOfReceipt } from './stages.ts';
import { inSpecWords, recoveryWords } from './words.ts';

/** The data of the service from which the operator decides about a recovery request. */
interface Seen {
  readonly snapshot: Snapshot;
  readonly configuration?: ConfigurationItem | undefined;
}

interface Body {
  readonly accountId: string;
  readonly configurationId?: string;
  readonly requestId?: string;
}

/** The spec fields that all kinds of recovery request share. */
interface RequestSpec {
  readonly protectionRef?: { readonly name: string };
  /** The time until which the recovery request may be sent. If it is absent, there is no limit. */
  readonly validUntil?: string;
}

/** Everything from which the next step for a recovery request of any kind is decided. */
type AnyPass = Pass<RequestSpec, RequestFacts>;
type AnyStep = Step<RequestFacts>;

/** The functions and values that differ between the kinds of recovery request, such as activation and reset. */
export interface OncePlan<
  Spec extends RequestSpec = RequestSpec,
  Facts extends RequestFacts = RequestFacts,
  Sight extends Seen = Seen,
  Sent extends Body = Body,
> {
  /** The name of the request in messages, in lower case, such as `activation`. */
  readonly noun: string;
  /** The name of the operation in the journal, a verb such as `activate`. */
  readonly operation: string;
  /**
   * Returns the permission that a flag of the operator must give before the request is sent; without this function no
   * flag is needed.
   */
  power?(spec: Spec): 'activation' | 'accountReset';
  /**
   * Returns the Kubernetes object that must exist when the request is sent; without this function, that is the
   * DisasterProtection in the spec.
   */
  refersTo?(spec: Spec): ReferenceNeed | undefined;
  /** Returns the status fields that are known before the service is read. */
  facts(pass: Pass<Spec, Facts>): Partial<Facts>;
  /**
   * Reads from the service everything that the operator needs to decide about the request. The reads must begin at or
   * after `since` (monotonic time).
   */
  look(pass: Pass<Spec, Facts>, since: number): Step<Facts> | Sight;
  /** Finds an operation that this request has already begun, and returns what status remembers of the operation. */
  trace(pass: Pass<Spec, Facts>, seen: Sight): Partial<Memory<Facts>> | undefined;
  /** Returns the first reason not to send the request now. A stall is final; a wait may end. */
  fence(pass: Pass<Spec, Facts>, seen: Sight): Step<Facts> | undefined;
  /**
   * Called when `validUntil` has passed. If the service shows that it works on the request, returns a step that goes on
   * with the request. Otherwise the request ends.
   */
  outlasts?(pass: Pass<Spec, Facts>, seen: Sight, late: Fence): Step<Facts> | undefined;
  body(pass: Pass<Spec, Facts>, seen: Sight): Sent;
  /**
   * Returns the id of the object for which only one request of this kind may be under way; without this function, that
   * object is the configuration.
   */
  subject?(body: Sent): string;
  request(body: Sent): Request;
  words(pass: Pass<Spec, Facts>): string;
  /** Returns the changes of status after a successful response; undefined when the response cannot be parsed. */
  committed(pass: Pass<Spec, Facts>, answer: unknown, body: Sent): Partial<Memory<Facts>> | undefined;
  /** Interprets the service's refusal of the request; without this function every refusal is final. */
  refused?(pass: Pass<Spec, Facts>, seen: Sight, no: No): Step<Facts> | undefined;
  /**
   * Returns a text that tells users what to check in the service, if the call may have taken effect although no read
   * proves it. Returns undefined if the service shows no sign of such an effect.
   */
  untold?(pass: Pass<Spec, Facts>, seen: Sight): string | undefined;
  /**
   * Follows an accepted request until its end. Not called while the account is frozen and the configuration is missing
   * from the list.
   */
  follow(pass: Pass<Spec, Facts>, seen: Sight): Step<Facts>;
  /** Returns the status fields that show the progress of the recovery request. */
  shown(pass: Pass<Spec, Facts>): Facts;
  /** Builds the conditions besides Accepted and Succeeded. */
  conditions?(pass: Pass<Spec, Facts>): readonly OwnCondition[];
  /** The conditions besides Accepted and Succeeded for a request whose outcome stays unknown. */
  readonly untoldConditions?: readonly OwnCondition[];
}

/** A refusal of a request by the service, and the time after which no earlier call of the request can arrive. */
export interface No {
  readonly words: string;
  /**
   * True if no earlier call of the request can arrive at the service any more, or if the request must not be sent
   * again.
   */
  readonly isOver: boolean;
  /** The time after which no earlier call of the request can arrive at the service any more, as text for messages. */
  readonly until: string;
}

/**
 * What each kind of recovery request defines itself: its identity, such as its name and its schemas, and the parts that
 * replace the common definition.
 */
type Own<Spec, Facts> = KindIdentity & Omit<Partial<KindDefinition<Spec, Facts>>, keyof KindIdentity>;

/** Defines a kind of recovery request from the functions and values in `plan`. */
export function defineRequest<
  Spec extends RequestSpec,
  Facts extends RequestFacts,
  Sight extends Seen,
  Sent extends Body,
>(plan: OncePlan<Spec, Facts, Sight, Sent>, own: Own<Spec, Facts>) {
  return defineKind<Spec, Facts>({
    interfaceWords: recoveryWords,
    needs: (spec) => {
      const reference = referenceOf(plan, spec);
      return { references: reference === undefined ? [] : [reference] };
    },
    finished: ({ finishedTime }) => finishedTime !== undefined,
    answered: isAnswered,
    step: (pass) => nextStep(plan, pass) as Step<Facts>,
    show: (pass) => {
      const facts = plan.shown(pass);
      return {
        facts,
        notices: stageNotices(pass.memory.facts, facts, pass.memory.id),
        conditions: [...underWay(pass), ...(plan.conditions?.(pass) ?? [])],
      };
    },
    ...own,
    always: ['Accepted', 'Succeeded', ...(own.always ?? [])],
  });
}

/** Returns the Kubernetes object that must exist when a recovery request is sent. */
function referenceOf<Spec extends RequestSpec>(plan: Pick<OncePlan<Spec>, 'refersTo'>, spec: Spec) {
  return plan.refersTo === undefined ? spec.protectionRef && protectionNeed(spec.protectionRef) : plan.refersTo(spec);
}

/** Builds the reference to the DisasterProtection that a recovery request is about. */
export function protectionNeed({ name }: { readonly name: string }): ReferenceNeed {
  return { kind: 'DisasterProtection', name, field: 'protectionRef', optional: true };
}

/** Maximum age of the lists from which the operator decides whether to send a call. */
const freshMs = 15_000;
/** Pause before the same request is sent again after its response was lost. */
const resendMs = 15_000;
const watchMs = 5_000;
/**
 * Pause between reads while a recovery request is under way. The pause is short enough not to miss a stage that lasts
 * five seconds.
 */
const lookMs = 4_000;

/** Decides the next step of a recovery request. */
function nextStep(plan: OncePlan, pass: AnyPass): AnyStep {
  const step = decide(plan, pass);
  const { untoldConditions = [] } = plan;
  if (step.is !== 'stall' || step.reason !== 'UnknownState') return step;
  return { ...step, conditions: [...(step.conditions ?? []), ...untoldConditions] };
}

function decide(plan: OncePlan, pass: AnyPass): AnyStep {
  if (pass.subject.deleting) return { is: 'release' };
  const { journal, binding, facts } = pass.memory;
  const accepted = facts.acceptedTime !== undefined;
  if (!accepted && journal === undefined) {
    const off = offFence(plan, pass) ?? aloneFence(plan, pass);
    if (off !== undefined) return takingBack(pass, finalIfStalled(pass, off));
    if (binding === undefined) return takeUp(plan, pass);
  }
  const seen = plan.look(pass, sinceWhen(pass));
  if ('is' in seen) return notingAnswer(pass, seen);
  return notingAnswer(pass, takingBack(pass, lookingSoon(pass, seen, decideOn(plan, pass, seen))));
}

/**
 * Returns a point in time: a list may decide about a request only if its read began at that time or later. Before a
 * call, the list must be recent. After a refusal or a lost response, the read must have begun later than that.
 */
function sinceWhen(pass: AnyPass): number {
  const { memory, askedAt, journalSeen, monotonicMs } = pass;
  if (memory.facts.acceptedTime !== undefined) return Number.NEGATIVE_INFINITY;
  if (memory.journal === undefined) return askedAt;
  return Math.max(journalSeen.monotonic, monotonicMs - freshMs, answeredAt(pass));
}

/**
 * Returns the time at which this process got the response to the call in the journal, or gave up waiting for the
 * response. A list that was read earlier may not show the effect of the call.
 */
function answeredAt({ memory, notes, askedAt }: AnyPass): number {
  const isSent = memory.journal?.conflicted !== undefined || notes['sentAt'] !== undefined;
  return isSent ? (notes['answeredAt'] ?? askedAt) : Number.NEGATIVE_INFINITY;
}

/**
 * Adds the time from `answeredAt` to the notes of a step. A step that sends a new call gets no such note, because the
 * time belongs to the response of the earlier call.
 */
function notingAnswer(pass: AnyPass, step: AnyStep): AnyStep {
  const isOpen = pass.memory.journal !== undefined && pass.memory.facts.acceptedTime === undefined;
  const at = answeredAt(pass);
  if (!isOpen || at === Number.NEGATIVE_INFINITY || step.is === 'release' || step.is === 'call') return step;
  return { ...step, note: { ...(step.note ?? pass.notes), answeredAt: at } };
}

/**
 * Reasons for a wait that may end at any moment. With these reasons, the service is read again soon; with others, the
 * usual poll interval is enough.
 */
const moving: ReadonlySet<string> = new Set(['InProgress', 'InDoubt', 'CleanupPending', 'TakeOver', 'VisibilityLost']);

/** Reads the service often while a recovery request is under way. */
function lookingSoon(pass: AnyPass, { snapshot }: Seen, step: AnyStep): AnyStep {
  if (step.is !== 'wait' || step.awaits !== undefined || !moving.has(step.reason)) return step;
  const { journal, facts } = pass.memory;
  if (journal === undefined && facts.acceptedTime === undefined) return step;
  return lookingAgain(pass, step, drConfigurationsOf(pass.account.accountId), snapshot);
}

/** Makes a waiting step read a list again, as soon as the newest version of the list is some seconds old. */
export function lookingAgain<Facts>(
  { monotonicMs }: Pick<Pass, 'monotonicMs'>,
  wait: Extract<Step<Facts>, { is: 'wait' }>,
  read: Read,
  { begunAt }: Snapshot,
): Step<Facts> {
  const dueMs = begunAt + lookMs - monotonicMs;
  if (dueMs <= 0) return { ...wait, retryInMs: lookMs, awaits: { read, since: monotonicMs } };
  return { ...wait, retryInMs: Math.min(wait.retryInMs ?? dueMs, Math.ceil(dueMs)) };
}

/**
 * Drops the note that an earlier list did not contain an object, unless the step brings its own notes. An object is
 * proved gone only if two lists in a row do not contain it.
 */
function takingBack(pass: AnyPass, step: AnyStep): AnyStep {
  if (step.is === 'release' || step.note !== undefined) return step;
  return { ...step, note: withoutMisses(pass.notes) };
}

/** Decides the next step of a recovery request from what the service shows. */
function decideOn(plan: OncePlan, pass: AnyPass, seen: Seen): AnyStep {
  const { journal, facts } = pass.memory;
  if (facts.acceptedTime !== undefined) {
    const { at: since = Number.NEGATIVE_INFINITY } = pass.wrote ?? {};
    const blind = 'configuration' in seen && seen.configuration === undefined ? waitWhileFrozen(pass) : undefined;
    if (blind !== undefined) return blind;
    if (seen.snapshot.begunAt >= since) return letGo(pass, seen) ?? plan.follow(pass, seen);
    const awaits = { read: drConfigurationsOf(pass.account.accountId), since };
    return { is: 'wait', ...notShown(pass, plan.noun), awaits };
  }
  const traced = plan.trace(pass, seen);
  if (traced !== undefined) return later(plan, pass, seen) ?? { is: 'again', remember: traced, note: {} };
  return journal === undefined ? first(plan, pass, seen) : resolveDoubt(plan, pass, seen, journal);
}

/**
 * Waits while lists may be too old to show the operation of an accepted request. Gives up when two lists, at least `horizonMs`
 * apart, do not show the operation.
 */
export function unseenYet(pass: Pass, { begunAt }: Snapshot, noun: string) {
  const read = drConfigurationsOf(pass.account.accountId);
  return waitForSecondMiss(pass, { read, begunAt, apartMs: pass.horizonMs, note: 'unshownAt' }, notShown(pass, noun));
}

function notShown({ memory }: Pass, noun: string) {
  const which = memory.id === undefined ? '' : ` as operation ${memory.id}`;
  return { reason: 'InProgress', message: `the service accepted the ${noun}${which}; no operation shows yet` } as const;
}

/** Returns the status fields of a request once the service has accepted it. */
export function accepted<Facts extends RequestFacts>({ memory, wallMs }: Pass<unknown, Facts>, phase?: string): Facts {
  return atStage({ ...memory.facts, acceptedTime: isoSeconds(wallMs) }, phase, wallMs);
}

/**
 * True if the service has responded to the call in the journal. Then the outcome of the call is known, and the journal
 * entry only makes other requests wait.
 */
function isAnswered({ facts, id }: Memory<RequestFacts>): boolean {
  return facts.acceptedTime !== undefined && id !== undefined;
}

/**
 * Removes the journal entry of an accepted request, so that other requests no longer wait for it. This happens once a
 * list shows the operation, because from then on the service itself refuses other requests. It also happens once a list
 * was read so late that it would have to show the operation.
 */
function letGo(pass: AnyPass, seen: Seen): AnyStep | undefined {
  const { journal, id } = pass.memory;
  if (journal === undefined || !isAnswered(pass.memory)) return undefined;
  const isSeen = shows(seen.configuration, id) || arrivalOf(pass, journal, seen).isOver;
  return isSeen ? { is: 'again', remember: { journal: undefined } } : undefined;
}

function offFence(plan: OncePlan, pass: AnyPass): Fence | undefined {
  const power = plan.power?.(pass.spec);
  return power && powerless(pass, power);
}

function aloneFence(plan: OncePlan, pass: AnyPass): Fence | undefined {
  const reference = referenceOf(plan, pass.spec);
  return reference && unreferred(pass, reference, pass.spec.validUntil);
}

/**
 * Returns the first reason why the request must not be sent, or must not be sent again; undefined if it may be sent.
 */
function fenceOf(plan: OncePlan, pass: AnyPass, seen: Seen): AnyStep | undefined {
  const off = offFence(plan, pass);
  if (off !== undefined) return off;
  const { journal } = pass.memory;
  if (journal !== undefined && !isWhole(plan.body(pass, seen), journal)) {
    return never('JournalDamaged', 'status.internal.journal does not have the request of the spec; nothing is sent');
  }
  const { validUntil } = pass.spec;
  const late = validUntil === undefined ? undefined : expired(pass, validUntil, seen.snapshot);
  if (late !== undefined) return plan.outlasts?.(pass, seen, late) ?? late;
  return plan.fence(pass, seen) ?? aloneFence(plan, pass);
}

/** True when the journal entry carries exactly the body that the spec asks for. */
function isWhole(body: object, journal: JournalEntry): boolean {
  return canonicalJson(writtenBody(journal)) === canonicalJson(body);
}

function takeUp(plan: OncePlan, pass: AnyPass): AnyStep {
  const { endpoint, accountId } = pass.account;
  const facts: RequestFacts = { ...pass.memory.facts, ...plan.facts(pass) };
  return { is: 'again', remember: { binding: { endpoint, accountId }, facts } };
}

/** Makes every check before the first call, then writes the journal entry for the call. */
function first(plan: OncePlan, pass: AnyPass, seen: Seen): AnyStep {
  const fence = fenceOf(plan, pass, seen);
  if (fence !== undefined) return finalIfStalled(pass, fence);
  const journal = intentOf(plan, pass, seen);
  const held = sightLostOrTakingOver(pass) ?? besideAnother(pass, journal);
  if (held !== undefined) return held;
  return { is: 'begin', journal, words: plan.words(pass), note: { tries: 0 } };
}

/** Builds the journal entry, including data that helps to find the operation if the response is lost. */
function intentOf(plan: OncePlan, pass: AnyPass, seen: Seen): Intent {
  const { snapshot, configuration } = seen;
  const body = plan.body(pass, seen);
  return {
    operation: plan.operation,
    attempt: 1,
    digest: pass.print({ ...body }),
    ...(body.requestId !== undefined && { requestId: body.requestId }),
    payload: JSON.stringify(body),
    create: {
      collection: plan.noun,
      name: plan.subject?.(body) ?? body.configurationId ?? '',
      excluded: configuration === undefined ? [] : [...operationIdsOf(configuration)],
      ...(snapshot.dateMs !== undefined && { serviceTime: new Date(snapshot.dateMs).toISOString() }),
    },
  };
}

/**
 * Waits while the account is frozen because objects are missing, or while calls of a previous leader may still arrive.
 */
function sightLostOrTakingOver(pass: Pass): Fence | undefined {
  return waitWhileFrozen(pass) ?? takingOver(pass, 'nothing is sent');
}

/** Waits while another request about the same object is under way. */
function besideAnother({ creating }: Pass, { create }: Intent): Fence | undefined {
  const other = create && creating(create.collection, create.name);
  if (other === undefined) return undefined;
  const message = `${other} is under way for the same configuration; this request waits until it has ended`;
  return { is: 'wait', reason: 'OperationInProgress', message, retryInMs: watchMs };
}

/**
 * If the service shows that a request without a requestId is done, delays the end of the request until no call of it
 * can arrive any more.
 */
function later(plan: OncePlan, pass: AnyPass, seen: Seen): AnyStep | undefined {
  const { journal } = pass.memory;
  if (journal === undefined || journal.requestId !== undefined) return undefined;
  const arrival = arrivalOf(pass, journal, seen);
  const why = 'the service shows that the request is done, and a call without an answer may still arrive';
  return waitWhileFrozen(pass) ?? (arrival.settled ? undefined : inDoubt(plan, pass, arrival.untilMs, why));
}

/**
 * Decides what to do about the open call in the journal: the call was never sent, was refused, or its response was
 * lost.
 */
function resolveDoubt(plan: OncePlan, pass: AnyPass, seen: Seen, journal: JournalEntry): AnyStep {
  const { notes, monotonicMs } = pass;
  const arrival = arrivalOf(pass, journal, seen);
  const fence = fenceOf(plan, pass, seen);
  if (journal.conflicted !== undefined) {
    // Interpret the refusal now, because later the service may no longer show the cause of the refusal.
    const isOver = arrival.isOver || fence !== undefined;
    const own = plan.refused?.(pass, seen, { words: journal.conflicted, isOver, until: timeInWords(arrival.untilMs) });
    if (own !== undefined) return own;
    if (!arrival.settled)
      return inDoubt(plan, pass, arrival.untilMs, `the service refused the request: ${journal.conflicted}`);
    const no = never('Rejected', `${plan.words(pass)}: ${inSpecWords(journal.conflicted)}`);
    return ended(pass, notes['tries'] === 1 ? no : inTheEnd(plan, pass, seen, no));
  }
  if (fence !== undefined) {
    if (fence.is !== 'stall') return fence;
    if (arrival.settled) return ended(pass, wasSent(pass) ? inTheEnd(plan, pass, seen, fence) : fence);
    return inDoubt(plan, pass, arrival.untilMs, `${fence.message}; nothing more is sent`);
  }
  const held = sightLostOrTakingOver(pass);
  if (held !== undefined) return held;
  const sentAt = notes['sentAt'] ?? Number.NEGATIVE_INFINITY;
  // Without a requestId the service would take a repeated request for a new one.
  const mustWait = journal.requestId === undefined ? !arrival.settled : monotonicMs - sentAt < resendMs;
  // After a restart, the operator does not know whether the call was sent.
  const why = notes['sentAt'] === undefined ? 'the request may have been sent before' : 'no answer arrived';
  if (mustWait) return inDoubt(plan, pass, arrival.untilMs, why);
  // `fenceOf` has checked that the body in the journal entry equals the body that the spec asks for, so the cast is
  // safe.
  const body = writtenBody(journal) as Body;
  const isDangerous = plan.power !== undefined;
  return {
    is: 'call',
    call: {
      request: plan.request(body),
      words: plan.words(pass),
      urgency: isDangerous ? 'dangerous' : 'edit',
      ...(isDangerous && { credential: 'dangerous', proof: drConfigurationsOf(pass.account.accountId).first }),
      resumes: true,
      confirm: 'live',
      committed: (answer) => plan.committed(pass, answer, body),
      tells: (answer) => stageOfReceipt(receiptOf(answer)),
    },
    note: { sentAt: monotonicMs, ...(notes['tries'] !== undefined && { tries: notes['tries'] + 1 }) },
  };
}

/**
 * True if the call in the journal may have been sent. After a restart, the operator does not know how often it has sent
 * the call, and so takes it as sent.
 */
export function wasSent({ memory, notes }: Pass): boolean {
  return memory.journal !== undefined && notes['tries'] !== 0;
}

/**
 * Decides how a request ends if it is not known whether a call took effect. If a call without a response may have had
 * an effect, the request ends with an unknown outcome, otherwise with the given reason.
 */
function inTheEnd(plan: OncePlan, pass: AnyPass, seen: Seen, { reason, message }: End): End {
  const untold = plan.untold?.(pass, seen);
  if (untold === undefined)
    return never(reason, `${message}; the request may have been sent before, but the service shows no trace of it`);
  const { conflicted } = pass.memory.journal ?? {};
  const refused = conflicted === undefined ? '' : `; the service refused the last call: ${inSpecWords(conflicted)}`;
  const why = `the request may have been sent, nothing more is sent (${reason}), and the service does not show the result${refused}`;
  return never('UnknownState', `${plan.words(pass)}: ${why}; ${untold}`);
}

/**
 * Returns until when the call in the journal may still arrive at the service. `isOver` is true if the list was read after
 * that time. `settled` is true if `isOver` is, or if the service has responded to each attempt of this process.
 */
function arrivalOf(
  { notes, journalSeen, horizonMs, monotonicMs, wallMs }: Pass,
  journal: JournalEntry,
  { snapshot }: Seen,
): { readonly settled: boolean; readonly isOver: boolean; readonly untilMs: number } {
  const sentAt = Math.max(journalSeen.monotonic, notes['sentAt'] ?? Number.NEGATIVE_INFINITY);
  const until = sentAt + journal.deadlineSeconds * 1_000 + horizonMs;
  const untilMs = wallMs + until - monotonicMs;
  const answered = journal.conflicted === undefined ? 0 : 1;
  const isOver = snapshot.begunAt >= until;
  return { settled: notes['tries'] === answered || isOver, isOver, untilMs };
}

function inDoubt(plan: OncePlan, pass: AnyPass, untilMs: number, why: string): Fence {
  const message = `${plan.words(pass)}: ${why}; until ${timeInWords(untilMs)} the operator watches the service for the result`;
  return { is: 'wait', reason: 'InDoubt', message, retryInMs: watchMs };
}

function timeInWords(wallMs: number): string {
  return isoSeconds(Math.ceil(wallMs / 1_000) * 1_000);
}

/** How a recovery request ends: with success or a stall, with a reason and a message. */
export interface End {
  readonly is: 'ready' | 'stall';
  readonly reason: Reason;
  readonly message: string;
}

/** Ends the request if the step is a stall; returns any other step unchanged. */
function finalIfStalled(pass: AnyPass, step: AnyStep): AnyStep {
  return step.is === 'stall' ? ended(pass, step) : step;
}

/**
 * Ends a recovery request for good: records the time of the end, removes the journal entry, and sets the conditions
 * Accepted and Succeeded.
 */
export function ended<Facts extends RequestFacts>(
  pass: Pass<unknown, Facts>,
  { is, reason, message }: End,
  more: Partial<Memory<Facts>> = {},
): Verdict<Facts> {
  const facts: Facts = { ...(more.facts ?? pass.memory.facts), finishedTime: isoSeconds(pass.wallMs) };
  // An unknown outcome sets Succeeded to Unknown. It sets Accepted to Unknown too, unless the service accepted the
  // request.
  const isAccepted = is === 'ready' || pass.memory.facts.acceptedTime !== undefined;
  const said = is === 'ready' ? 'yes' : reason === 'UnknownState' ? 'unknown' : 'no';
  const conditions = [
    isAccepted ? acceptance : about('Accepted')[said](reason, message),
    succeeded[said](reason, message),
  ];
  const rest = { reason, message, remember: { ...more, journal: undefined, facts }, note: {}, conditions };
  return is === 'ready' ? { is, ...rest } : { is, ...rest };
}

const succeeded = about('Succeeded');
const acceptance = about('Accepted').yes('Accepted', 'the service accepted the request');

/** Builds the conditions Accepted and Succeeded while a request is under way. */
function underWay({ memory }: AnyPass): readonly OwnCondition[] {
  const unfinished = 'the service has not reported a result yet';
  if (memory.facts.acceptedTime !== undefined) return [acceptance, succeeded.unknown('InProgress', unfinished)];
  const isWritten = memory.journal !== undefined;
  const reason = isWritten ? 'InDoubt' : 'NotSent';
  const message = isWritten
    ? 'the request is in the journal; it is not known if the service accepted the request'
    : 'nothing was sent yet';
  return [about('Accepted').unknown(reason, message), succeeded.unknown(reason, unfinished)];
}
