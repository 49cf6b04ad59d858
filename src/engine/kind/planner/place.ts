import type { Pass } from '../contract/pass.ts';
import type { ObjectPlan } from './plan.ts';
import { readOf } from './reading.ts';
import type { Step } from '../contract/step.ts';

/**
 * Releases a resource whose object was inside something that is gone, such as an alert in a deleted environment. Two
 * answers must agree: the list inside it is refused, and it is missing from its own list.
 */
export function releasedWithPlace<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  since: number,
): Step<Facts> | undefined {
  const place = plan.placeOf?.(pass);
  if (place === undefined || !pass.subject.deleting || pass.account.frozen !== undefined) return undefined;
  const problem = pass.view.problem(plan.list(pass));
  if (problem?.why !== 'refused' || problem.at < since) return undefined;
  const seen = pass.view.one(place.list, place.id);
  if (seen === undefined || seen.snapshot.begunAt < since) return readOf(pass, place.list, since);
  return seen.item === undefined ? { is: 'release' } : undefined;
}
