import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Verdict } from '../../engine/kind/contract/step.ts';

/**
 * Leaves drift in a field uncorrected if the spec asks only to report drift, or if somebody else keeps changing the field.
 * Returns undefined if the drift must be corrected. `what` names the field in messages.
 */
export function leaveDrift(
  { spec, contested }: Pass<{ readonly lifecycle?: { readonly drift?: 'Correct' | 'Report' | undefined } | undefined }>,
  field: string,
  what: string,
): Verdict<never> | undefined {
  if (spec.lifecycle?.drift === 'Report') {
    return {
      is: 'ready',
      reason: 'Observed',
      message: `the service differs from the spec in ${field}; this is only reported`,
    };
  }
  if (!contested.has(field)) return undefined;
  const message = `somebody else keeps changing ${what}; the operator no longer corrects it until the spec or the annotation reconcile-at changes`;
  return { is: 'stall', reason: 'Contested', message };
}
