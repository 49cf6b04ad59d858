/** Changes of an app that wait in its environments, and what applies them. */
import { only, definedOf } from '../../engine/kind/planner/compare.ts';
import { type Fields } from '../../engine/kind/planner/plan.ts';
import type { OwnCondition, Step } from '../../engine/kind/contract/step.ts';
import { environmentsAffectedOf, patchApp } from '../../hosting/requests.ts';
import { countedIn, sentOften, unseenOf } from './doubt.ts';
import { isAboutImage, isAppliedAtOnce, isTakenOver } from './at-once.ts';
import {
  boundDeployers,
  boundEnvironments,
  environmentIds,
  haveTaken,
  isDeployedByEnvironment,
  type AppPass,
} from './environments.ts';
import { bodyOf, desired, goesAlong, nameOf } from './fields.ts';
import { awaitDoubts } from '../shared/others-in-doubt.ts';
import type { HostedAppFacts } from './schema.ts';

/** Changes wait in each environment for its next deployment, unless they were to be applied at once. */
export function pendingAfter(body: unknown, changed: Fields, pass: AppPass): HostedAppFacts {
  const affected = environmentsAffectedOf(body);
  const { facts } = pass.memory;
  const isApplied = isAppliedAtOnce(changed, pass);
  const sent = isApplied ? sentWith(changed, pass) : [];
  const left = (facts.pendingChanges ?? []).filter((field) => !sent.includes(field));
  return {
    ...(isApplied || affected === 0 ? withPending(facts, left) : pendingMeanwhile(changed, pass)),
    applyInDoubt: undefined,
    ...(affected !== undefined && { environmentsAffected: affected }),
  };
}

/** A change in doubt may already be pending in the environments. */
export function pendingMeanwhile(changed: Fields, pass: AppPass): HostedAppFacts {
  if (isAppliedAtOnce(changed, pass)) return countedIn(unseenOf(changed, pass), pass);
  const { spec, memory, subject } = pass;
  return {
    ...withPending(memory.facts, [...(memory.facts.pendingChanges ?? []), ...sentWith(changed, pass)]),
    pendingSinceMs: Math.floor(pass.wallMs),
    ...(spec.applyImmediately === true && isTakenOver(pass) && { takenOverGeneration: subject.generation }),
  };
}

function sentWith(changed: Fields, pass: AppPass): readonly string[] {
  return Object.keys({ ...changed, ...goesAlong(changed, pass) });
}

function withPending(facts: HostedAppFacts, fields: readonly string[]): HostedAppFacts {
  if (fields.length === 0)
    return { ...facts, pendingChanges: undefined, pendingSinceMs: undefined, takenOverGeneration: undefined };
  return { ...facts, pendingChanges: [...new Set(fields)].toSorted() };
}

/** Waits or stalls instead of changing the app now; undefined when it may be changed. */
export function mustWait(pass: AppPass, changed: Fields): Step<HostedAppFacts> | undefined {
  const often = isAppliedAtOnce(changed, pass) ? sentOften(unseenOf(changed, pass), pass) : undefined;
  return often ?? environmentInDoubt(pass);
}

/** Wait: a change of the app also changes its environments, which could be mistaken for the effect of a lost deployment. */
function environmentInDoubt(pass: AppPass): Step<HostedAppFacts> | undefined {
  return awaitDoubts(pass, boundEnvironments(pass), 'the app is not changed');
}

function noLongerInDoubt(facts: HostedAppFacts): Step<HostedAppFacts> | undefined {
  if (facts.applyInDoubt === undefined) return undefined;
  return { is: 'again', remember: { facts: { ...facts, applyInDoubt: undefined } } };
}

/** Drops the fields that every environment has taken with a deployment since they were sent; undefined when none has. */
export function dropTaken(pass: AppPass): Step<HostedAppFacts> | undefined {
  const { facts } = pass.memory;
  const { pendingChanges = [], pendingSinceMs = Number.POSITIVE_INFINITY } = facts;
  const isLeft = (field: string) => !haveTaken(pass, isOfVersion(field) ? 'versionMs' : 'settingsMs', pendingSinceMs);
  const left = pendingChanges.filter(isLeft);
  return left.length === pendingChanges.length
    ? undefined
    : { is: 'again', remember: { facts: withPending(facts, left) } };
}

/** True for fields that decide what a version is made of: a restart of the current one does not take them. */
function isOfVersion(field: string): boolean {
  return field === 'preset' || isAboutImage(field) || field.startsWith('source.');
}

/** Sends again what was changed and is still waiting, once it is to be applied at once. */
export function applyPending(pass: AppPass, id: string): Step<HostedAppFacts> | undefined {
  const { spec, memory, subject } = pass;
  const pending = memory.facts.pendingChanges ?? [];
  if (spec.applyImmediately !== true || pending.length === 0) return noLongerInDoubt(memory.facts);
  const left = pending.filter((field) => !isAboutImage(field));
  if (left.length < pending.length && isDeployedByEnvironment(pass)) {
    return { is: 'again', remember: { facts: withPending(memory.facts, left) } };
  }
  if (memory.facts.takenOverGeneration === subject.generation) return noLongerInDoubt(memory.facts);
  const wanted = definedOf(desired(pass));
  const waiting = only(wanted, pending);
  const again = { ...waiting, ...goesAlong(waiting, pass) };
  if (Object.keys(again).length === 0) {
    return { is: 'again', remember: { facts: withPending(memory.facts, []) } };
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
      committed: () => ({ facts: { ...withPending(memory.facts, []), applyInDoubt: undefined } }),
    },
  };
}

/** The condition `PendingChanges`: fields that were changed and wait for a deployment. */
export function pendingCondition({ pendingChanges = [] }: HostedAppFacts): OwnCondition {
  const type = 'PendingChanges';
  if (pendingChanges.length === 0) {
    return { type, status: 'False', reason: 'NoChangesPending', message: 'no change waits for a deployment' };
  }
  return { type, status: 'True', reason: 'ChangesPending', message: waiting(pendingChanges) };
}

function waiting(fields: readonly string[]): string {
  return `${fields.join(', ')} was changed and waits in each environment for its next deployment; only those by an AppEnvironment are seen`;
}

/** Ready, with a message on what does not run yet although the spec applies it at once. */
export function atRest(pass: AppPass): Step<HostedAppFacts> {
  const { spec, memory, subject } = pass;
  const { pendingChanges = [], takenOverGeneration } = memory.facts;
  const deployers = spec.image === undefined ? [] : boundDeployers(pass);
  const notes = [
    ...(deployers.length > 0
      ? [`image serves for the creation only, since ${deployers.slice(0, 3).join(', ')} deploys an image of its own`]
      : []),
    ...(spec.applyImmediately !== true && pendingChanges.length > 0 ? [waiting(pendingChanges)] : []),
    ...(spec.applyImmediately === true && takenOverGeneration === subject.generation
      ? [
          `${pendingChanges.join(', ')} was sent to the app when it was taken over, which does not show whether it differs, and waits in each environment for its next deployment, or for the next edit of this spec`,
        ]
      : []),
  ];
  return { is: 'ready', ...(notes.length > 0 && { message: ['the service equals the spec', ...notes].join('; ') }) };
}
