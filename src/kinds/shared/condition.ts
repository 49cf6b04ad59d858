import type { Reason } from '../../engine/kind/contract/reasons.ts';
import type { OwnCondition } from '../../engine/kind/contract/step.ts';

/** Makes the conditions of one type: whether it holds, the reason, and the same as a sentence. */
export function about(type: string) {
  const saying =
    (status: OwnCondition['status']) =>
    (reason: Reason, message: string): OwnCondition => ({ type, status, reason, message });
  return { yes: saying('True'), no: saying('False'), unknown: saying('Unknown') };
}
