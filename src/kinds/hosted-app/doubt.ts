/**
 * A change that is applied at once restarts the environments each time that it arrives, and what the service never shows cannot
 * be looked for afterwards.
 *
 * Guarantees: the same such change is sent twice at most when its answers are lost, counted in status before it is sent.
 *
 * Why: docs/design/deployments.md#a-change-applied-at-once-is-sent-at-most-twice
 */
import type { Fields } from '../../engine/kind/planner/plan.ts';
import { definedOf } from '../../engine/kind/planner/compare.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import type { AppPass } from './environments.ts';
import { isHidden, isHiddenOnceSent } from './fields.ts';
import type { HostedAppFacts } from './schema.ts';

const mostCalls = 2;

/** The fields of a change that no read shows: only the answer says that they arrived. */
export function unseenOf(changed: Fields, pass: AppPass): Fields {
  const isUnseen = (field: string) => isHidden(field, pass) || isHiddenOnceSent(field);
  return Object.fromEntries(Object.entries(changed).filter(([field]) => isUnseen(field)));
}

/** The status fields that count a call that is applied at once and not answered yet. */
export function countedIn(unseen: Fields, pass: AppPass): HostedAppFacts {
  const { facts } = pass.memory;
  if (Object.keys(unseen).length === 0) return facts;
  return { ...facts, applyInDoubt: { digest: digestOf(unseen, pass), calls: callsOf(unseen, pass) + 1 } };
}

/** Stalls a change that is applied at once after its answer was lost twice. */
export function sentOften(unseen: Fields, pass: AppPass): Step<HostedAppFacts> | undefined {
  const calls = callsOf(unseen, pass);
  if (calls < mostCalls) return undefined;
  const message = `the answer to ${Object.keys(unseen).join(', ')} was lost ${calls} times, and the service does not show whether the environments have it; each time may restart them: change it, or take applyImmediately away, to send it again`;
  return { is: 'stall', reason: 'ApplyInDoubt', message };
}

function callsOf(unseen: Fields, pass: AppPass): number {
  const { applyInDoubt } = pass.memory.facts;
  if (applyInDoubt === undefined || Object.keys(unseen).length === 0) return 0;
  // A field that the service shows to be missing did not arrive with an earlier call.
  if (Object.keys(unseen).some((field) => isHiddenOnceSent(field) && !isHidden(field, pass))) return 0;
  return applyInDoubt.digest === digestOf(unseen, pass) ? applyInDoubt.calls : 0;
}

function digestOf(unseen: Fields, pass: AppPass): string {
  return pass.print(definedOf(unseen));
}
