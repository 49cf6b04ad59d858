import type { Refusal } from './step.ts';

/** Whether an answer may be a no to what was asked. A 403 may be one, too: the interface does not show with which status a rule is refused. */
export function isNo(refusal: Refusal): boolean {
  const isForbidden = refusal.is === 'notExecuted' && refusal.why === 'forbidden';
  return refusal.is === 'refused' || refusal.is === 'conflict' || isForbidden;
}
