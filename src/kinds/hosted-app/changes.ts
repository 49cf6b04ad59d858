/**
 * Decides how changes of an app are sent. With `applyImmediately`, the service applies a change at once; otherwise the
 * change waits for the next deployment of each environment.
 *
 * Guarantees: the app's own image never replaces an image that an AppEnvironment deploys. The first changes of an
 * adopted app are applied at once only if the service shows a difference from the spec. So if the status of a resource
 * is lost, and its unchanged app is adopted again, the environments do not restart.
 *
 * A change that is applied at once is sent at most twice if the outcome stays unknown and the service never shows the
 * new value; the content of a Dockerfile is sent at most three times. Status counts each of these requests before it is
 * sent.
 *
 * Why: docs/design/deployments.md#adopting-an-app-deploys-only-if-a-visible-field-differs and
 * docs/design/deployments.md#a-hidden-change-that-is-applied-at-once-is-sent-at-most-twice
 */
import { definedIn } from '../../base/json.ts';
import { fewOf } from '../../base/text.ts';
import { type Call, type OwnCondition, about } from '../../engine/kind/contract/step.ts';
import { only } from '../../engine/kind/planner/compare.ts';
import type { Fields } from '../../engine/kind/planner/plan.ts';
import { environmentsAffectedOf, patchApp } from '../../hosting/requests.ts';
import { awaitDoubts } from '../shared/others-in-doubt.ts';
import {
  boundDeployers,
  boundEnvironments,
  environmentIds,
  haveTaken,
  isDeployedByEnvironment,
  type AppPass,
  type AppStep,
} from './environments.ts';
import { bodyOf, converts, desired, goesAlong, isHidden, nameOf } from './fields.ts';
import type { HostedAppFacts } from './schema.ts';

/**
 * Returns the status fields to write after a change of the app. A change that was not applied at once is listed until
 * the next deployment of each environment, unless it affects no environment.
 */
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

/**
 * Returns the status fields for a change of the app that the service has received or may have received. If the change
 * is not applied at once, it is listed until the next deployment of each environment. If it is applied at once, and the
 * service never shows its values, the request is counted.
 */
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

/** Waits or stalls if the app must not be changed now; returns undefined if the change may be sent. */
export function mustWait(pass: AppPass, changed: Fields): AppStep | undefined {
  const often = isAppliedAtOnce(changed, pass) ? sentOften(unseenOf(changed, pass), pass) : undefined;
  return often ?? environmentInDoubt(pass);
}

/**
 * Waits while an AppEnvironment does not know whether its call to an environment of the app took effect, because it
 * could mistake a change of the app for the effect of that call.
 */
function environmentInDoubt(pass: AppPass): AppStep | undefined {
  return awaitDoubts(pass, boundEnvironments(pass), 'the app is not changed');
}

function noLongerInDoubt(facts: HostedAppFacts): AppStep | undefined {
  if (facts.applyInDoubt === undefined) return undefined;
  return { is: 'again', remember: { facts: { ...facts, applyInDoubt: undefined } } };
}

/**
 * Removes from status those pending changes with which every environment runs by now; returns undefined if there are
 * none.
 */
export function dropTaken(pass: AppPass): AppStep | undefined {
  const { facts } = pass.memory;
  const { pendingChanges = [], pendingSinceMs = Number.POSITIVE_INFINITY } = facts;
  const isLeft = (field: string) => !haveTaken(pass, isOfVersion(field) ? 'versionMs' : 'settingsMs', pendingSinceMs);
  const left = pendingChanges.filter(isLeft);
  return left.length === pendingChanges.length
    ? undefined
    : { is: 'again', remember: { facts: withPending(facts, left) } };
}

/** True for an app field whose change takes effect only in a new content version, not when the current version restarts. */
function isOfVersion(field: string): boolean {
  return field === 'preset' || isAboutImage(field) || field.startsWith('source.');
}

/** If the spec now asks to apply changes at once, sends the pending changes again with `applyImmediately`. */
export function applyPending(pass: AppPass, id: string): AppStep | undefined {
  const { spec, memory, subject } = pass;
  const pending = memory.facts.pendingChanges ?? [];
  if (spec.applyImmediately !== true || pending.length === 0) return noLongerInDoubt(memory.facts);
  const isOthers = (field: string) => isAboutImage(field) && isDeployedByEnvironment(pass);
  const waiting = only(
    definedIn(desired(pass)),
    pending.filter((field) => !isOthers(field)),
  );
  const again = { ...waiting, ...goesAlong(waiting, pass) };
  if (Object.keys(again).length === 0) return { is: 'again', remember: { facts: withPending(memory.facts, []) } };
  if (memory.facts.takenOverGeneration === subject.generation) return noLongerInDoubt(memory.facts);
  const call: Call<HostedAppFacts> = {
    request: patchApp({ appId: id, ...bodyOf(again, pass), applyImmediately: true }),
    alone: environmentIds(pass),
    words: `apply ${Object.keys(again).join(', ')} of app "${nameOf(pass)}" at once`,
    urgency: 'edit',
    whileInFlight: { facts: countedIn(again, pass) },
    committed: () => ({ facts: { ...withPending(memory.facts, []), applyInDoubt: undefined } }),
  };
  return sentOften(again, pass) ?? environmentInDoubt(pass) ?? { is: 'call', call };
}

/** Builds the condition `PendingChanges`, which names the fields that were changed and wait for a deployment. */
export function pendingCondition({ pendingChanges = [] }: HostedAppFacts): OwnCondition {
  const pending = about('PendingChanges');
  return pendingChanges.length === 0
    ? pending.no('NoChangesPending', 'no change waits for a deployment')
    : pending.yes('ChangesPending', waiting(pendingChanges));
}

function waiting(fields: readonly string[]): string {
  return `the change of ${fields.join(', ')} takes effect in each environment with its next deployment; the operator does not notice deployments that are made without an AppEnvironment`;
}

/**
 * Reports the app as Ready. The message names the fields of the spec that are not in effect in the environments, and explains
 * why.
 */
export function atRest(pass: AppPass): AppStep {
  const { spec, memory, subject } = pass;
  const { pendingChanges = [], takenOverGeneration } = memory.facts;
  const deployers = spec.image === undefined ? [] : boundDeployers(pass);
  const message = ['the service equals the spec'];
  if (deployers.length > 0) {
    message.push(`spec.image is only used to create the app; the image that runs comes from ${fewOf(deployers, 1)}`);
  }
  if (spec.applyImmediately !== true && pendingChanges.length > 0) message.push(waiting(pendingChanges));
  if (spec.applyImmediately === true && takenOverGeneration === subject.generation) {
    message.push(
      `the service does not show ${pendingChanges.join(', ')} of the adopted app, so the operator sent the values in the spec; each environment uses these values after its next deployment, or after the next edit of this spec`,
    );
  }
  return { is: 'ready', message: message.join('; ') };
}

/** True if the request for these changes asks the service to apply them at once. */
export function isAppliedAtOnce(changed: Fields, pass: AppPass): boolean {
  if (pass.spec.applyImmediately !== true || replacing(changed, pass).length > 0) return false;
  return !isTakenOver(pass) || Object.keys(changed).some((field) => !isHidden(field, pass));
}

/**
 * Returns the changed fields that must be sent alone, before the other changed fields; undefined if one request can
 * carry all changes.
 */
export function sentFirst(changed: Fields, pass: AppPass): readonly string[] | undefined {
  // A change of the preset to or from FUNCTION is sent alone, because the service accepts it only so.
  //
  // If an AppEnvironment deploys an image, and spec.applyImmediately is true, `useImage` is sent alone and first,
  // without `applyImmediately`. Otherwise an app that is still built from source would deploy a build in place of that
  // image.
  const isAtOnce = pass.spec.applyImmediately === true;
  const first = converts(changed, pass) ? ['preset'] : isAtOnce ? replacing(changed, pass) : [];
  return first.length === 0 || first.length === Object.keys(changed).length ? undefined : first;
}

/** True for the fields that describe the image of the app itself. An AppEnvironment may deploy another image. */
function isAboutImage(field: string): boolean {
  return field === 'useImage' || field === 'image.reference';
}

/** Returns the changed fields that would make the app's own image replace an image that an AppEnvironment deploys. */
function replacing(changed: Fields, pass: AppPass): readonly string[] {
  const fields = Object.keys(changed).filter((field) => isAboutImage(field));
  return fields.length > 0 && isDeployedByEnvironment(pass) ? fields : [];
}

/** True if the app was adopted, and nothing was sent to it yet. */
function isTakenOver({ memory: { ownership, applied } }: AppPass): boolean {
  return ownership === 'Adopted' && (applied?.generation ?? -1) === -1;
}

const mostCalls = 2;

/**
 * Returns the changed fields that the service does not show for this app. Only the response to the request proves that
 * their values arrived.
 */
function unseenOf(changed: Fields, pass: AppPass): Fields {
  return Object.fromEntries(Object.entries(changed).filter(([field]) => isHidden(field, pass)));
}

/**
 * Returns the status fields after counting one more request that sends this change with `applyImmediately`. The count
 * of a different change is dropped.
 */
function countedIn(unseen: Fields, pass: AppPass): HostedAppFacts {
  const { facts } = pass.memory;
  if (Object.keys(unseen).length === 0) return facts;
  return { ...facts, applyInDoubt: { digest: pass.fingerprint(definedIn(unseen)), calls: callsOf(unseen, pass) + 1 } };
}

/** Stalls if the same change was sent twice with `applyImmediately`, and both outcomes are unknown. */
function sentOften(unseen: Fields, pass: AppPass): AppStep | undefined {
  const calls = callsOf(unseen, pass);
  if (calls < mostCalls) return undefined;
  const message = `the outcome of ${calls} attempts to change ${Object.keys(unseen).join(', ')} is not known, and the service does not show whether the change took effect; each request may restart the environments, so the change is not sent again. To send it again, edit the changed field or remove applyImmediately`;
  return { is: 'stall', reason: 'ApplyInDoubt', message };
}

function callsOf(unseen: Fields, pass: AppPass): number {
  const { applyInDoubt } = pass.memory.facts;
  if (applyInDoubt === undefined || Object.keys(unseen).length === 0) return 0;
  return applyInDoubt.digest === pass.fingerprint(definedIn(unseen)) ? applyInDoubt.calls : 0;
}
