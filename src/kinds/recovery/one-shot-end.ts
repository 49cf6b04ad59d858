/** The conditions of a request that is made once: while it is under way, and at its end, which is final. */
import { isoSeconds } from '../../base/time.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import type { Memory, OwnCondition, Verdict } from '../../engine/kind/contract/step.ts';
import type { Fence, RequestFacts } from './approval.ts';

/** The verdict of a fence: the end, or a wait. */
export function stop<Spec, Facts extends RequestFacts>(pass: Pass<Spec, Facts>, fence: Fence): Verdict<Facts> {
  const { reason, message } = fence;
  if (!fence.final) return { is: 'wait', reason, message, retryInMs: 30_000 };
  return ended(pass, { is: 'stall', reason, message });
}

/** The end of a request, for good. */
export function ended<Spec, Facts extends RequestFacts>(
  pass: Pass<Spec, Facts>,
  end: { readonly is: 'ready' | 'stall'; readonly reason: Reason; readonly message: string },
  more: Partial<Memory<Facts>> = {},
): Verdict<Facts> {
  const facts: Facts = { ...(more.facts ?? pass.memory.facts), finishedTime: isoSeconds(pass.wallMs) };
  const rest = { remember: { ...more, journal: undefined, facts }, note: {}, conditions: endConditions(pass, end) };
  const { is, reason, message } = end;
  return is === 'ready' ? { is, reason, message, ...rest } : { is, reason, message, ...rest };
}

function endConditions<Spec, Facts extends RequestFacts>(
  { memory }: Pass<Spec, Facts>,
  { is, reason, message }: { readonly is: 'ready' | 'stall'; readonly reason: Reason; readonly message: string },
): readonly OwnCondition[] {
  const succeeded = is === 'ready';
  const accepted = succeeded || memory.facts.acceptedTime !== undefined;
  // An unknown outcome gives conditions with status Unknown.
  const no = reason === 'UnknownState' ? 'Unknown' : 'False';
  const refusal: OwnCondition = { type: 'Accepted', status: no, reason, message };
  return [
    ...(accepted ? [acceptedCondition()] : [refusal]),
    { type: 'Succeeded', status: succeeded ? 'True' : no, reason, message },
  ];
}

function acceptedCondition(): OwnCondition {
  return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the service accepted the request' };
}

/** Accepted and Succeeded while a request is under way. */
export function underWay<Spec, Facts extends RequestFacts>({ memory }: Pass<Spec, Facts>): readonly OwnCondition[] {
  const reason = memory.journal === undefined ? 'NotSent' : 'InDoubt';
  const accepted = memory.facts.acceptedTime !== undefined;
  const succeeded: OwnCondition = {
    type: 'Succeeded',
    status: 'Unknown',
    reason: accepted ? 'InProgress' : reason,
    message: 'the service has not reported a result yet',
  };
  if (accepted) return [acceptedCondition(), succeeded];
  const message = reason === 'InDoubt' ? 'written down; what came of it is not known' : 'nothing was sent yet';
  return [{ type: 'Accepted', status: 'Unknown', reason, message }, succeeded];
}
