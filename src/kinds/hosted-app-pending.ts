/** Changes of an app that wait in its environments, and what applies them. */
import { definedOf, type Fields } from '../engine/kind/plan.ts';
import type { Step } from '../engine/kind/step.ts';
import { environmentsAffectedOf, patchApp } from '../hosting/requests.ts';
import { countedIn, sentOften, unseenOf } from './hosted-app-doubt.ts';
import { boundEnvironments, environmentIds, isDeployedByEnvironment, type AppPass } from './hosted-app-environments.ts';
import { bodyOf, desired, nameOf } from './hosted-app-fields.ts';
import { awaitDoubts } from './others-in-doubt.ts';
import type { Facts } from './schema/hosted-app.ts';

/** Changes wait in each environment for its next deployment, unless they were to be applied at once. */
export function pendingAfter(body: unknown, changed: Fields, pass: AppPass): Facts {
  const affected = environmentsAffectedOf(body);
  const { facts } = pass.memory;
  const before = facts.pendingChanges ?? [];
  const isApplied = pass.spec.applyImmediately === true;
  const left = isApplied ? before.filter((field) => !(field in changed)) : before;
  const { pendingChanges } = isApplied || affected === 0 ? withPending(facts, left) : pendingMeanwhile(changed, pass);
  return {
    ...facts,
    applyInDoubt: undefined,
    pendingChanges,
    ...(affected !== undefined && { environmentsAffected: affected }),
  };
}

/** A change whose answer is not there may wait in the environments already. */
export function pendingMeanwhile(changed: Fields, pass: AppPass): Facts {
  if (pass.spec.applyImmediately === true) return countedIn(unseenOf(changed, pass), pass);
  const { facts } = pass.memory;
  return withPending(facts, [...(facts.pendingChanges ?? []), ...Object.keys(changed)]);
}

function withPending(facts: Facts, fields: readonly string[]): Facts {
  return { ...facts, pendingChanges: fields.length > 0 ? [...new Set(fields)].toSorted() : undefined };
}

/** Why the app is not changed at the moment. */
export function mustWait(pass: AppPass, changed: Fields): Step<Facts> | undefined {
  const often = pass.spec.applyImmediately === true ? sentOften(unseenOf(changed, pass), pass) : undefined;
  return often ?? environmentInDoubt(pass);
}

/** A change of the app shows in its environments, and would be taken for the trace of a deployment whose answer was lost. */
function environmentInDoubt(pass: AppPass): Step<Facts> | undefined {
  return awaitDoubts(pass, boundEnvironments(pass), 'the app is not changed');
}

function noLongerInDoubt(facts: Facts): Step<Facts> | undefined {
  if (facts.applyInDoubt === undefined) return undefined;
  return { is: 'again', remember: { facts: { ...facts, applyInDoubt: undefined } } };
}

/** Sends again what was changed and is still waiting, once it is to be applied at once. */
export function applyPending(pass: AppPass, id: string): Step<Facts> | undefined {
  const { spec, memory } = pass;
  const pending = memory.facts.pendingChanges ?? [];
  if (spec.applyImmediately !== true || pending.length === 0) return noLongerInDoubt(memory.facts);
  const wanted = definedOf(desired(pass));
  const isLeft = (field: string) => field === 'image.reference' && isDeployedByEnvironment(pass);
  const again = Object.fromEntries(
    Object.entries(wanted).filter(([field]) => pending.includes(field) && !isLeft(field)),
  );
  if (Object.keys(again).length === 0) {
    return { is: 'again', remember: { facts: { ...memory.facts, pendingChanges: undefined } } };
  }
  const held = sentOften(again, pass) ?? environmentInDoubt(pass);
  if (held !== undefined) return held;
  return {
    is: 'call',
    call: {
      request: patchApp({ appId: id, ...bodyOf(again, pass), applyImmediately: true }),
      alone: environmentIds(pass),
      words: `apply ${Object.keys(again).join(', ')} of app "${nameOf(pass)}" at once`,
      urgency: 'edit',
      meanwhile: { facts: countedIn(again, pass) },
      counted: true,
      committed: () => ({ facts: { ...memory.facts, pendingChanges: undefined, applyInDoubt: undefined } }),
    },
  };
}
