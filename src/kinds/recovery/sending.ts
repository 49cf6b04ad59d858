/**
 * Sends a recovery request: makes all checks, writes the call to the journal, and decides about that entry until the
 * service has accepted the request or the request ends.
 *
 * Why: docs/design/recovery-requests.md#sending
 */
import { canonicalJson } from '../../base/json.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type Intent, type JournalEntry, type Step, writtenBody } from '../../engine/kind/contract/step.ts';
import { frozenOrTakingOver, overAt, serviceTimeOf, waitWhileFrozen } from '../../engine/kind/planner/observe.ts';
import { drConfigurationsOf, receiptOf } from '../../hosting/requests.ts';
import { expired, never, powerless, unreferred, type Fence } from './approval.ts';
import { operationIdsOf, shows } from './configurations.ts';
import { ended, finalIfStalled, isAnswered, type End } from './following.ts';
import type { AnyPass, AnyStep, Body, RequestPlan, SeenService } from './plan.ts';
import { stageOfReceipt } from './stages.ts';
import { inSpecWords } from './words.ts';

/**
 * Maximum age of a list that is used to decide about a call in the journal. Also the pause before the same call is sent
 * again if its outcome is unknown.
 */
export const resendMs = 15_000;
const watchMs = 5_000;

/**
 * Returns the time at which this process received the response to the call in the journal, or stopped waiting for it. A
 * list that was read before that time may not show the effect of the call.
 */
function answeredAt({ memory, notes, askedAt }: Pass): number {
  const { journal } = memory;
  const isSent = journal !== undefined && (journal.conflicted !== undefined || notes.sentAt !== undefined);
  return isSent ? (notes.answeredAt ?? askedAt) : Number.NEGATIVE_INFINITY;
}

/**
 * Returns the time at or after which a read must have begun to decide about the call in the journal: `resendMs` ago, but
 * not before this process first saw the entry, nor before the time from `answeredAt`.
 */
export function freshSince(pass: Pass): number {
  return Math.max(pass.journalSeen.monotonic, pass.monotonicMs - resendMs, answeredAt(pass));
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
 * Removes the journal entry of an accepted request once a list shows the operation, or is so recent that it would have
 * to show the operation. Until then, the entry makes other requests wait. Afterwards the service itself refuses other
 * requests.
 */
export function dropShownEntry(pass: AnyPass, seen: SeenService): AnyStep | undefined {
  const { journal, id } = pass.memory;
  if (journal === undefined || !isAnswered(pass.memory)) return undefined;
  const isSeen = shows(seen.configuration, id) || arrivalOf(pass, journal, seen).isOver;
  return isSeen ? { is: 'again', remember: { journal: undefined } } : undefined;
}

/**
 * Returns the first reason why the request must not be sent, or must not be sent again; undefined if it may be sent.
 */
function fenceOf(plan: RequestPlan, pass: AnyPass, seen: SeenService): AnyStep | undefined {
  const off = powerless(pass, plan.power?.(pass.spec));
  if (off !== undefined) return off;
  const { journal } = pass.memory;
  if (journal !== undefined && canonicalJson(writtenBody(journal)) !== canonicalJson(plan.body(pass, seen))) {
    return never('JournalDamaged', 'status.internal.journal contains another request than the spec; nothing is sent');
  }
  const late = expired(pass, seen.snapshot);
  if (late !== undefined) return plan.waitAfterExpiry?.(pass, seen, late) ?? late;
  return plan.fence(pass, seen) ?? unreferred(pass);
}

/**
 * Makes all checks for a request that was never sent. If they pass, and no other request of this kind for the same
 * object is in progress, writes the call to the journal.
 */
export function beginRequest(plan: RequestPlan, pass: AnyPass, seen: SeenService): AnyStep {
  const fence = fenceOf(plan, pass, seen);
  if (fence !== undefined) return finalIfStalled(pass, fence);
  const waits = frozenOrTakingOver(pass, 'nothing is sent');
  if (waits !== undefined) return waits;
  const body = plan.body(pass, seen);
  const create = {
    // A request creates no object. The entry `create` locks the object that the request is for: while the entry is in
    // the journal, `pass.creating` names this resource to others. A reset locks an environment or the account.
    collection: plan.noun,
    name: body.configurationId ?? body.sourceAppEnvId ?? body.accountId,
    excluded: seen.configuration === undefined ? [] : [...operationIdsOf(seen.configuration)],
    ...serviceTimeOf(seen.snapshot),
  };
  const other = pass.creating(create.collection, create.name);
  if (other !== undefined) {
    const message = `this request waits until ${other} has ended`;
    return { is: 'wait', reason: 'OperationInProgress', message, retryInMs: watchMs };
  }
  const journal: Intent = {
    operation: plan.operation,
    attempt: 1,
    digest: pass.fingerprint({ ...body }),
    ...(body.requestId !== undefined && { requestId: body.requestId }),
    payload: JSON.stringify(body),
    create,
  };
  return { is: 'begin', journal, words: plan.words(pass), note: { timesSent: 0 } };
}

/**
 * Waits until no call of a request without a requestId can arrive any more, although the service shows that the request
 * is done: a late call would be carried out as a new request. Returns undefined when the request may end.
 */
export function waitForLateCall(plan: RequestPlan, pass: AnyPass, seen: SeenService): AnyStep | undefined {
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
export function resolveRequest(plan: RequestPlan, pass: AnyPass, seen: SeenService, journal: JournalEntry): AnyStep {
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
function endInDoubt(plan: RequestPlan, pass: AnyPass, seen: SeenService, { reason, message }: End): End {
  const signs = plan.signsOfEffect?.(pass, seen);
  if (signs === undefined)
    return never(reason, `${message}; an earlier call may have been sent, but the service shows no effect of it`);
  const { conflicted } = pass.memory.journal ?? {};
  const refused = conflicted === undefined ? '' : `; the service refused the last call: ${inSpecWords(conflicted)}`;
  const why = `the operator may have sent the request and does not send it again (${reason}); the service does not show the result${refused}`;
  return never('UnknownState', `${plan.words(pass)}: ${why}; ${signs}`);
}

/**
 * Tells whether the call in the journal may still arrive at the service:
 * - `until`: the time from which the call can no longer arrive, formatted for messages.
 * - `isOver`: true if the read of the newest list began after that time.
 * - `settled`: true if the call can no longer arrive, because `isOver` is true, or because this process knows that the
 *   call was never sent, or sent once and refused.
 */
function arrivalOf(pass: Pass, journal: JournalEntry, { snapshot }: SeenService) {
  const { settledAt, inWords: until } = overAt(pass, journal);
  const answered = journal.conflicted === undefined ? 0 : 1;
  const isOver = snapshot.begunAt >= settledAt;
  return { settled: pass.notes.timesSent === answered || isOver, isOver, until };
}

function inDoubt(plan: RequestPlan, pass: AnyPass, until: string, why: string, then = ''): Fence {
  const message = `${plan.words(pass)}: ${why}; until ${until} the operator watches the service for the result${then}`;
  return { is: 'wait', reason: 'InDoubt', message, retryInMs: watchMs };
}
