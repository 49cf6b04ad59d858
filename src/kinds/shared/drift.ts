import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Verdict } from '../../engine/kind/contract/step.ts';
import { onlyReported, stallIfContested } from '../../engine/kind/planner/observe.ts';

interface Policies {
  readonly drift?: 'Correct' | 'Report' | undefined;
  readonly managementPolicy?: 'Manage' | 'Observe' | undefined;
}

/**
 * Leaves drift in a field uncorrected if the spec asks only to report drift, or if somebody else keeps changing the field.
 * Returns undefined if the drift must be corrected. `owner` names the object that has the field.
 */
export function leaveDrift(
  pass: Pass<{ readonly lifecycle?: Policies | undefined }>,
  field: string,
  owner: string,
): Verdict<never> | undefined {
  const { drift, managementPolicy } = pass.spec.lifecycle ?? {};
  return drift === 'Report' ? onlyReported(pass, managementPolicy, [field]) : stallIfContested(pass, [field], owner);
}
