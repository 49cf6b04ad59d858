import type { Refusal } from './step.ts';

/**
 * True when an answer may be a rule of the service that says no. A 403 may be one: the interface does not say with which
 * status rules are refused.
 */
export function isNo(refusal: Refusal): boolean {
  const isForbidden = refusal.is === 'notExecuted' && refusal.why === 'forbidden';
  return refusal.is === 'refused' || refusal.is === 'conflict' || isForbidden;
}
