/**
 * Sends a recovery request so that it is carried out only once. Validation, activation, discard and reset share these
 * steps.
 *
 * Guarantees: a request is first recorded in status, then the service is read again, and only then is the request sent.
 * All checks are made before each attempt. While the outcome of a call is unknown, either the same bytes are sent again
 * or nothing is sent. The end of a request is final.
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
import type { Intent, JournalEntry, Memory, OwnCondition, Step, Verdict } from '../../engine/kind/contract/step.ts';
import { about, writtenBody } from '../../engine/kind/contract/step.ts';
import {
  frozenOrTakingOver,
  overAt,
  serviceTimeOf,
  waitForSecondMiss,
  waitWhileFrozen,
  withoutMisses,
} from '../../engine/kind/planner/observe.ts';
import type { Read, Request, Snapshot } from '../../engine/ports.ts';
import { drConfigurationsOf, receiptOf, type ConfigurationItem } from '../../hosting/requests.ts';
import { expired, never, powerless, unreferred, type Fence } from './approval.ts';
import { operationIdsOf, shows } from './configurations.ts';
import type { RequestFacts } from './schema.ts';
import { atStage, stageNotices, stageOfReceipt } from './stages.ts';
import { inSpecWords, recoveryWords } from './words.ts';

/** What the operator has read from the service to decide about a recovery request. */
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

/** The input for deciding the next step of a recovery request of any kind. */
type AnyPass = Pass<RequestSpec, RequestFacts>;
type AnyStep = Step<RequestFacts>;

/** The functions and values that differ between the kinds of recovery request, such as activation and reset. */
export interface RequestPlan<
  Spec extends RequestSpec = RequestSpec,
  Facts extends RequestFacts = RequestFacts,
  Found extends Seen = Seen,
  Sent extends Body = Body,
> {
  /** The name of the request in messages, in lower case, such as `activation`. */
  readonly noun: string;
  /** The name that the journal gives to the operation: a verb such as `activate`. */
  readonly operation: string;
  /**
   * Returns what the operator's flags must allow before the request is sent. If this function is not given, no flag is
   * needed.
   */
  power?(spec: Spec): 'activation' | 'accountReset';
  /**
   * Returns a reference to the Kubernetes object that must exist when the request is sent. If this function is not
   * given, that object is the DisasterProtection in spec.protectionRef.
   */
  refersTo?(spec: Spec): ReferenceNeed | undefined;
  /** Returns the status fields that are known before the service is read. */
  factsAtStart(pass: Pass<Spec, Facts>): Partial<Facts>;
  /**
   * Reads from the service everything that the operator needs to decide about the request. At least the list of
   * configurations must have been read at `since` or later (monotonic time).
   */
  look(pass: Pass<Spec, Facts>, since: number): Step<Facts> | Found;
  /**
   * Looks for an operation that this request has already begun. Returns what status must remember of that operation;
   * undefined if there is none.
   */
  findOperation(pass: Pass<Spec, Facts>, seen: Found): Partial<Memory<Facts>> | undefined;
  /**
   * Makes the checks that only this kind has. Returns the first reason not to send the request now: a stall ends the
   * request, a wait only delays it. Returns undefined if there is no reason.
   */
  fence(pass: Pass<Spec, Facts>, seen: Found): Step<Facts> | undefined;
  /**
   * Called when spec.validUntil or the clocks forbid sending the request; `late` is the step that says so. If the
   * service shows that it is working on the request, returns a step that waits for the result. Otherwise returns
   * undefined, and the next step is `late`.
   */
  waitAfterExpiry?(pass: Pass<Spec, Facts>, seen: Found, late: Fence): Step<Facts> | undefined;
  body(pass: Pass<Spec, Facts>, seen: Found): Sent;
  /**
   * Returns the id of the object for which only one request of this kind may be in progress at a time. If this function
   * is not given, that object is the configuration.
   */
  subject?(body: Sent): string;
  request(body: Sent): Request;
  words(pass: Pass<Spec, Facts>): string;
  /** Returns the changes of status after a successful response; undefined when the response cannot be parsed. */
  committed(pass: Pass<Spec, Facts>, answer: unknown, body: Sent): Partial<Memory<Facts>> | undefined;
  /**
   * Returns the next step after the service refused the request. If this function is not given or returns undefined,
   * the refusal is final.
   */
  refused?(pass: Pass<Spec, Facts>, seen: Found, call: Refused): Step<Facts> | undefined;
  /**
   * Called when the request must end although the effect of a call is unknown. If the service shows signs that the call
   * took effect, returns a text that tells users what to check in the service. Otherwise returns undefined.
   */
  signsOfEffect?(pass: Pass<Spec, Facts>, seen: Found): string | undefined;
  /**
   * Decides the next step of an accepted request until the request ends. If the list does not contain the configuration
   * while the account is frozen, the request waits, and this function is not called. It is always called for a reset.
   */
  followAccepted(pass: Pass<Spec, Facts>, seen: Found): Step<Facts>;
  /** Returns the status fields that show the progress of the recovery request. */
  factsNow(pass: Pass<Spec, Facts>): Facts;
  /** Builds the conditions that this kind has in addition to Accepted and Succeeded. */
  conditions?(pass: Pass<Spec, Facts>): readonly OwnCondition[];
  /** The conditions, in addition to Accepted and Succeeded, of a request that ends with an unknown outcome. */
  readonly conditionsIfUnknown?: readonly OwnCondition[];
}

/**
 * The service's refusal of a request, with the time after which earlier calls of the request can no longer arrive at
 * the service.
 */
export interface Refused {
  readonly words: string;
  /**
   * True if the operator may act on the refusal at once: no earlier call of the request can arrive at the service any
   * more, or a check forbids sending the request again.
   */
  readonly isOver: boolean;
  /** The time after which no earlier call of the request can arrive at the service any more, formatted for messages. */
  readonly until: string;
}

/**
 * What each kind of recovery request defines itself: its identity, such as its name and schemas, and the fields in
 * which its definition differs from that of the other kinds.
 */
type Own<Spec, Facts> = KindIdentity & Omit<Partial<KindDefinition<Spec, Facts>>, keyof KindIdentity>;

/** Defines a kind of recovery request from the functions and values in `plan`. */
export function defineRequest<
  Spec extends RequestSpec,
  Facts extends RequestFacts,
  Found extends Seen,
  Sent extends Body,
>(plan: RequestPlan<Spec, Facts, Found, Sent>, own: Own<Spec, Facts>) {
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
      const facts = plan.factsNow(pass);
      return {
        facts,
        notices: stageNotices(pass.memory.facts, facts, pass.memory.id),
        conditions: [...conditionsUnderWay(pass), ...(plan.conditions?.(pass) ?? [])],
      };
    },
    ...own,
    always: ['Accepted', 'Succeeded', ...(own.always ?? [])],
  });
}

/** Returns the reference to the Kubernetes object that must exist when a recovery request is sent. */
function referenceOf<Spec extends RequestSpec>(plan: Pick<RequestPlan<Spec>, 'refersTo'>, spec: Spec) {
  return plan.refersTo === undefined ? spec.protectionRef && protectionNeed(spec.protectionRef) : plan.refersTo(spec);
}

/** Builds the reference to the DisasterProtection in spec.protectionRef of a recovery request. */
export function protectionNeed({ name }: { readonly name: string }): ReferenceNeed {
  return { kind: 'DisasterProtection', name, field: 'protectionRef', optional: true };
}

/** A list must not be older than this when the operator decides whether to send a call. */
const freshMs = 15_000;
/** Pause before the same request is sent again if its outcome is unknown. */
const resendMs = 15_000;
const watchMs = 5_000;
/**
 * Pause between reads while a recovery request is under way. The pause is short enough not to miss a stage that lasts
 * five seconds.
 */
const lookMs = 4_000;

/** Decides the next step of a recovery request. */
function nextStep(plan: RequestPlan, pass: AnyPass): AnyStep {
  const step = decide(plan, pass);
  const { conditionsIfUnknown = [] } = plan;
  if (step.is !== 'stall' || step.reason !== 'UnknownState') return step;
  return { ...step, conditions: [...(step.conditions ?? []), ...conditionsIfUnknown] };
}

function decide(plan: RequestPlan, pass: AnyPass): AnyStep {
  if (pass.subject.deleting) return { is: 'release' };
  const { journal, binding, facts } = pass.memory;
  const accepted = facts.acceptedTime !== undefined;
  if (!accepted && journal === undefined) {
    const off = flagFence(plan, pass) ?? referenceFence(plan, pass);
    if (off !== undefined) return takingBack(pass, finalIfStalled(pass, off));
    if (binding === undefined) return takeUp(plan, pass);
  }
  const seen = plan.look(pass, readSince(pass));
  if ('is' in seen) return notingAnswer(pass, seen);
  return notingAnswer(pass, takingBack(pass, lookingSoon(pass, seen, decideOn(plan, pass, seen))));
}

/**
 * Returns the time at or after which a read must have begun. An older read is not used to decide about the request.
 * - Before the request is in the journal: the time at which the request first asked for the read.
 * - While the request is in the journal: `freshMs` ago, but not before this process first saw the entry, nor before the
 *   time from `answeredAt`.
 * - Once the service has accepted the request: no limit.
 */
function readSince(pass: AnyPass): number {
  const { memory, askedAt, journalSeen, monotonicMs } = pass;
  if (memory.facts.acceptedTime !== undefined) return Number.NEGATIVE_INFINITY;
  if (memory.journal === undefined) return askedAt;
  return Math.max(journalSeen.monotonic, monotonicMs - freshMs, answeredAt(pass));
}

/**
 * Returns the time at which this process received the response to the call in the journal, or stopped waiting for it. A
 * list that was read before that time may not show the effect of the call.
 */
export function answeredAt({ memory, notes, askedAt }: Pass): number {
  const { journal } = memory;
  const isSent = journal !== undefined && (journal.conflicted !== undefined || notes.sentAt !== undefined);
  return isSent ? (notes.answeredAt ?? askedAt) : Number.NEGATIVE_INFINITY;
}

/**
 * Adds to the notes of a step the time at which the response to the last call arrived, so that later steps know this
 * time. A step that sends another call gets no such note, because that call will have its own response.
 */
export function notingAnswer<Facts>(pass: Pass, step: Step<Facts>): Step<Facts> {
  const at = answeredAt(pass);
  if (at === Number.NEGATIVE_INFINITY || step.is === 'release' || step.is === 'call') return step;
  return { ...step, note: { ...(step.note ?? pass.notes), answeredAt: at } };
}

/**
 * Reasons of waits that may end at any moment. While a request that is in the journal or accepted waits for such a
 * reason, the operator reads the service again after a few seconds. For other reasons, the usual poll interval is
 * enough.
 */
const brief: ReadonlySet<string> = new Set(['InProgress', 'InDoubt', 'CleanupPending', 'TakeOver', 'VisibilityLost']);

/** Makes a waiting step read the service again after a few seconds while a recovery request is in progress. */
function lookingSoon(pass: AnyPass, { snapshot }: Seen, step: AnyStep): AnyStep {
  if (step.is !== 'wait' || step.awaits !== undefined || !brief.has(step.reason)) return step;
  const { journal, facts } = pass.memory;
  if (journal === undefined && facts.acceptedTime === undefined) return step;
  return lookingAgain(pass, step, drConfigurationsOf(pass.account.accountId), snapshot);
}

/** Makes a waiting step read a list again once the last read of the list is some seconds old. */
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
 * Forgets that an earlier list did not contain an object, because an object is proved gone only if two consecutive
 * lists do not contain it. A step that sets the notes itself is returned unchanged.
 */
function takingBack(pass: AnyPass, step: AnyStep): AnyStep {
  if (step.is === 'release' || step.note !== undefined) return step;
  return { ...step, note: withoutMisses(pass.notes) };
}

/** Decides the next step of a recovery request from what the service shows. */
function decideOn(plan: RequestPlan, pass: AnyPass, seen: Seen): AnyStep {
  const { journal, facts } = pass.memory;
  if (facts.acceptedTime !== undefined) {
    const { at: since = Number.NEGATIVE_INFINITY } = pass.wrote ?? {};
    const blind = 'configuration' in seen && seen.configuration === undefined ? waitWhileFrozen(pass) : undefined;
    if (blind !== undefined) return blind;
    if (seen.snapshot.begunAt >= since) return dropShownEntry(pass, seen) ?? plan.followAccepted(pass, seen);
    const awaits = { read: drConfigurationsOf(pass.account.accountId), since };
    return { is: 'wait', ...notShown(pass, plan.noun), awaits };
  }
  const traced = plan.findOperation(pass, seen);
  if (traced !== undefined) return waitForLateCall(plan, pass, seen) ?? { is: 'again', remember: traced, note: {} };
  return journal === undefined ? beginRequest(plan, pass, seen) : resolveRequest(plan, pass, seen, journal);
}

/**
 * Waits for a list that shows the operation of an accepted request, because lists may lag behind. Returns undefined
 * once two lists, read at least `horizonMs` apart, do not show the operation.
 */
export function waitUntilShown(pass: Pass, { begunAt }: Snapshot, noun: string) {
  const read = drConfigurationsOf(pass.account.accountId);
  const look = { read, begunAt, apartMs: pass.horizonMs, note: 'operationMissedAt' } as const;
  return waitForSecondMiss(pass, look, notShown(pass, noun));
}

function notShown({ memory }: Pass, noun: string) {
  const which = memory.id === undefined ? '' : ` as operation ${memory.id}`;
  return {
    reason: 'InProgress',
    message: `the service accepted the ${noun}${which}, but shows no progress yet`,
  } as const;
}

/** Returns the status fields of a request once the service has accepted it. */
export function accepted<Facts extends RequestFacts>({ memory, wallMs }: Pass<unknown, Facts>, phase?: string): Facts {
  return atStage({ ...memory.facts, acceptedTime: isoSeconds(wallMs) }, phase, wallMs);
}

/**
 * True if the service has accepted the request and named its operation. From then on, the journal entry serves only to
 * make other requests wait.
 */
function isAnswered({ facts, id }: Memory<RequestFacts>): boolean {
  return facts.acceptedTime !== undefined && id !== undefined;
}

/**
 * Removes the journal entry of an accepted request once a list shows the operation, or is so recent that it would have
 * to show the operation. Until then, the entry makes other requests wait. Afterwards the service itself refuses other
 * requests.
 */
function dropShownEntry(pass: AnyPass, seen: Seen): AnyStep | undefined {
  const { journal, id } = pass.memory;
  if (journal === undefined || !isAnswered(pass.memory)) return undefined;
  const isSeen = shows(seen.configuration, id) || arrivalOf(pass, journal, seen).isOver;
  return isSeen ? { is: 'again', remember: { journal: undefined } } : undefined;
}

function flagFence(plan: RequestPlan, pass: AnyPass): Fence | undefined {
  const power = plan.power?.(pass.spec);
  return power && powerless(pass, power);
}

function referenceFence(plan: RequestPlan, pass: AnyPass): Fence | undefined {
  const reference = referenceOf(plan, pass.spec);
  return reference && unreferred(pass, reference, pass.spec.validUntil);
}

/**
 * Returns the first reason why the request must not be sent, or must not be sent again; undefined if it may be sent.
 */
function fenceOf(plan: RequestPlan, pass: AnyPass, seen: Seen): AnyStep | undefined {
  const off = flagFence(plan, pass);
  if (off !== undefined) return off;
  const { journal } = pass.memory;
  if (journal !== undefined && !isBodyOfSpec(plan.body(pass, seen), journal)) {
    return never('JournalDamaged', 'status.internal.journal contains another request than the spec; nothing is sent');
  }
  const { validUntil } = pass.spec;
  const late = validUntil === undefined ? undefined : expired(pass, validUntil, seen.snapshot);
  if (late !== undefined) return plan.waitAfterExpiry?.(pass, seen, late) ?? late;
  return plan.fence(pass, seen) ?? referenceFence(plan, pass);
}

/** True if the body in the journal entry is exactly the body that the spec asks for. */
function isBodyOfSpec(body: object, journal: JournalEntry): boolean {
  return canonicalJson(writtenBody(journal)) === canonicalJson(body);
}

function takeUp(plan: RequestPlan, pass: AnyPass): AnyStep {
  const { endpoint, accountId } = pass.account;
  const facts: RequestFacts = { ...pass.memory.facts, ...plan.factsAtStart(pass) };
  return { is: 'again', remember: { binding: { endpoint, accountId }, facts } };
}

/** Makes all checks for a request that was never sent. If they pass, writes the call to the journal. */
function beginRequest(plan: RequestPlan, pass: AnyPass, seen: Seen): AnyStep {
  const fence = fenceOf(plan, pass, seen);
  if (fence !== undefined) return finalIfStalled(pass, fence);
  const journal = intentOf(plan, pass, seen);
  const begin: AnyStep = { is: 'begin', journal, words: plan.words(pass), note: { timesSent: 0 } };
  return frozenOrTakingOver(pass, 'nothing is sent') ?? waitForOther(pass, journal) ?? begin;
}

/** Builds the journal entry, including data that helps to find the operation if the outcome of the call is unknown. */
function intentOf(plan: RequestPlan, pass: AnyPass, seen: Seen): Intent {
  const { snapshot, configuration } = seen;
  const body = plan.body(pass, seen);
  return {
    operation: plan.operation,
    attempt: 1,
    digest: pass.fingerprint({ ...body }),
    ...(body.requestId !== undefined && { requestId: body.requestId }),
    payload: JSON.stringify(body),
    create: {
      collection: plan.noun,
      name: plan.subject?.(body) ?? body.configurationId ?? '',
      excluded: configuration === undefined ? [] : [...operationIdsOf(configuration)],
      ...serviceTimeOf(snapshot),
    },
  };
}

/**
 * Waits while another request of the same kind for the same configuration is in progress. For a reset, the environment
 * or the account takes the place of the configuration.
 */
function waitForOther({ creating }: Pass, { create }: Intent): Fence | undefined {
  const other = create && creating(create.collection, create.name);
  if (other === undefined) return undefined;
  const message = `this request waits until ${other} has ended`;
  return { is: 'wait', reason: 'OperationInProgress', message, retryInMs: watchMs };
}

/**
 * Waits until no call of a request without a requestId can arrive any more, although the service shows that the request
 * is done: a late call would be carried out as a new request. Returns undefined when the request may end.
 */
function waitForLateCall(plan: RequestPlan, pass: AnyPass, seen: Seen): AnyStep | undefined {
  const { journal } = pass.memory;
  if (journal === undefined || journal.requestId !== undefined) return undefined;
  const arrival = arrivalOf(pass, journal, seen);
  const why =
    'the service shows that the request is done, but an earlier call whose outcome is not known may still reach the service';
  return waitWhileFrozen(pass) ?? (arrival.settled ? undefined : inDoubt(plan, pass, arrival.until, why));
}

/**
 * Decides the next step while the journal holds a call: the call was not sent yet, the service refused it, or its
 * outcome is unknown.
 */
function resolveRequest(plan: RequestPlan, pass: AnyPass, seen: Seen, journal: JournalEntry): AnyStep {
  const { notes, monotonicMs } = pass;
  const arrival = arrivalOf(pass, journal, seen);
  const fence = fenceOf(plan, pass, seen);
  if (journal.conflicted !== undefined) {
    // Look for the cause of the refusal now, because later the service may no longer show the cause.
    const isOver = arrival.isOver || fence !== undefined;
    const own = plan.refused?.(pass, seen, { words: journal.conflicted, isOver, until: arrival.until });
    if (own !== undefined) return own;
    if (!arrival.settled)
      return inDoubt(plan, pass, arrival.until, `the service refused the request: ${journal.conflicted}`);
    const no = never('Rejected', `${plan.words(pass)}: ${inSpecWords(journal.conflicted)}`);
    return ended(pass, notes.timesSent === 1 ? no : endInDoubt(plan, pass, seen, no));
  }
  if (fence !== undefined) {
    if (fence.is !== 'stall') return fence;
    if (arrival.settled) return ended(pass, wasSent(pass) ? endInDoubt(plan, pass, seen, fence) : fence);
    return inDoubt(plan, pass, arrival.until, `${fence.message}; nothing more is sent`);
  }
  const sent = wasSent(pass) ? 'the request may have been sent, and nothing more is sent' : 'nothing is sent';
  const waits = frozenOrTakingOver(pass, sent);
  if (waits !== undefined) return waits;
  const sentAt = notes.sentAt ?? Number.NEGATIVE_INFINITY;
  // Without a requestId, the service would take a repeated call for a new request. So first wait until the earlier call
  // can no longer arrive.
  const mustWait = journal.requestId === undefined ? !arrival.settled : monotonicMs - sentAt < resendMs;
  // Notes are lost when the process ends. So without the note `sentAt`, an earlier process may have sent the call.
  const why =
    notes.sentAt === undefined
      ? 'an earlier process of the operator may have sent the request'
      : 'the outcome of the request is not known';
  const more = '; if the service shows no result by then and no check forbids it, the operator sends the request again';
  if (mustWait) return inDoubt(plan, pass, arrival.until, why, journal.requestId === undefined ? more : '');
  // The cast is safe, because `fenceOf` has checked that the body in the journal entry equals the body that the spec
  // asks for.
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
    note: { sentAt: monotonicMs, ...(notes.timesSent !== undefined && { timesSent: notes.timesSent + 1 }) },
  };
}

/**
 * True if the call in the journal may have been sent. After a restart, the operator does not know how often it sent the
 * call, so it assumes that the call was sent.
 */
export function wasSent({ memory, notes }: Pass): boolean {
  return memory.journal !== undefined && notes.timesSent !== 0;
}

/**
 * Returns the end of a request that must end although the effect of a call is unknown: an unknown outcome if the
 * service shows that the call may have taken effect, otherwise the given end.
 */
function endInDoubt(plan: RequestPlan, pass: AnyPass, seen: Seen, { reason, message }: End): End {
  const signsOfEffect = plan.signsOfEffect?.(pass, seen);
  if (signsOfEffect === undefined)
    return never(reason, `${message}; an earlier call may have been sent, but the service shows no effect of it`);
  const { conflicted } = pass.memory.journal ?? {};
  const refused = conflicted === undefined ? '' : `; the service refused the last call: ${inSpecWords(conflicted)}`;
  const why = `the operator may have sent the request and does not send it again (${reason}); the service does not show the result${refused}`;
  return never('UnknownState', `${plan.words(pass)}: ${why}; ${signsOfEffect}`);
}

/**
 * Tells whether the call in the journal may still arrive at the service:
 * - `until`: the time from which the call can no longer arrive, formatted for messages.
 * - `isOver`: true if the read of the newest list began after that time.
 * - `settled`: true if the call can no longer arrive, because `isOver` is true, or because this process knows that the
 *   call was never sent, or sent once and refused.
 */
function arrivalOf(pass: Pass, journal: JournalEntry, { snapshot }: Seen) {
  const { settledAt, inWords: until } = overAt(pass, journal);
  const answered = journal.conflicted === undefined ? 0 : 1;
  const isOver = snapshot.begunAt >= settledAt;
  return { settled: pass.notes.timesSent === answered || isOver, isOver, until };
}

function inDoubt(plan: RequestPlan, pass: AnyPass, until: string, why: string, then = ''): Fence {
  const message = `${plan.words(pass)}: ${why}; until ${until} the operator watches the service for the result${then}`;
  return { is: 'wait', reason: 'InDoubt', message, retryInMs: watchMs };
}

/** The end of a recovery request, with a reason and a message: `ready` means success, `stall` means any other end. */
export interface End {
  readonly is: 'ready' | 'stall';
  readonly reason: Reason;
  readonly message: string;
}

/** Ends the request for good if the step is a stall. Returns any other step unchanged. */
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
  // If the outcome is unknown, the condition Succeeded is Unknown. Accepted is Unknown too, unless the service accepted
  // the request.
  const isAccepted = is === 'ready' || pass.memory.facts.acceptedTime !== undefined;
  const said = is === 'ready' ? 'yes' : reason === 'UnknownState' ? 'unknown' : 'no';
  const conditions = [
    isAccepted ? acceptance({ ...pass.memory, ...more }) : about('Accepted')[said](reason, message),
    succeeded[said](reason, message),
  ];
  const rest = { reason, message, remember: { ...more, journal: undefined, facts }, note: {}, conditions };
  return is === 'ready' ? { is, ...rest } : { is, ...rest };
}

const succeeded = about('Succeeded');

/** Builds the condition Accepted for a request that the service accepted, or whose effect the service shows. */
function acceptance({ ownership }: Pick<Memory, 'ownership'>): OwnCondition {
  const shown = 'the service accepted the request, or shows an effect that somebody else may have caused';
  return about('Accepted').yes('Accepted', ownership === 'Presumed' ? shown : 'the service accepted the request');
}

/** Builds the conditions Accepted and Succeeded while a request is under way. */
function conditionsUnderWay({ memory }: AnyPass): readonly OwnCondition[] {
  const unfinished = 'the service has not reported a result yet';
  if (memory.facts.acceptedTime !== undefined) return [acceptance(memory), succeeded.unknown('InProgress', unfinished)];
  const isWritten = memory.journal !== undefined;
  const reason = isWritten ? 'InDoubt' : 'NotSent';
  const message = isWritten
    ? 'the request is recorded in status.internal.journal and may have been sent; it is not known yet if the service accepted it'
    : 'nothing was sent yet';
  return [about('Accepted').unknown(reason, message), succeeded.unknown(reason, unfinished)];
}
