/**
 * Follows a recovery request that the service has accepted: when the service is read again, what status says meanwhile,
 * and how the request ends.
 *
 * Why: docs/design/recovery-requests.md#following
 */
import { isoSeconds } from '../../base/time.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import { about, type Memory, type OwnCondition, type Step, type Verdict } from '../../engine/kind/contract/step.ts';
import { waitForSecondMiss } from '../../engine/kind/planner/observe.ts';
import type { Read, Snapshot } from '../../engine/ports.ts';
import { drConfigurationsOf } from '../../hosting/requests.ts';
import type { AnyPass, AnyStep } from './plan.ts';
import type { RequestFacts } from './schema.ts';
import { atStage } from './stages.ts';

/**
 * Pause between reads while a recovery request is under way. The pause is short enough not to miss a stage that lasts
 * five seconds.
 */
const lookMs = 4_000;

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
 * Waits for a list that shows the operation of an accepted request, because lists may lag behind. Returns undefined
 * once two lists, read at least `horizonMs` apart, do not show the operation.
 */
export function waitUntilShown(pass: Pass, { begunAt }: Snapshot, noun: string) {
  const read = drConfigurationsOf(pass.account.accountId);
  return waitForSecondMiss(
    pass,
    { read, begunAt, apartMs: pass.horizonMs, note: 'operationMissedAt' },
    notShown(pass, noun),
  );
}

/** What status says of an accepted request while the service does not show its operation. */
export function notShown({ memory }: Pass, noun: string) {
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
export function isAnswered({ facts, id }: Memory<RequestFacts>): boolean {
  return facts.acceptedTime !== undefined && id !== undefined;
}

/** The end of a recovery request, with a reason and a message: `ready` means success, `stall` means any other end. */
export interface End {
  readonly is: 'ready' | 'stall';
  readonly reason: Reason;
  readonly message: string;
}

/** Ends the request for good if the step is a stall. Returns any other step unchanged. */
export function finalIfStalled(pass: AnyPass, step: AnyStep): AnyStep {
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
export function conditionsUnderWay({ memory }: AnyPass): readonly OwnCondition[] {
  const unfinished = 'the service has not reported a result yet';
  if (memory.facts.acceptedTime !== undefined) return [acceptance(memory), succeeded.unknown('InProgress', unfinished)];
  const isWritten = memory.journal !== undefined;
  const reason = isWritten ? 'InDoubt' : 'NotSent';
  const message = isWritten
    ? 'the request is recorded in status.internal.journal and may have been sent; it is not known yet if the service accepted it'
    : 'nothing was sent yet';
  return [about('Accepted').unknown(reason, message), succeeded.unknown(reason, unfinished)];
}
