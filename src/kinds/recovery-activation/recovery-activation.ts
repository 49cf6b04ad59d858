import { about } from '../../engine/kind/contract/step.ts';
import { readOf } from '../../engine/kind/planner/observe.ts';
import {
  drPointsOf,
  drSourcesOf,
  postDisasterReadinessActivate,
  receiptOf,
  type Activation,
  type ConfigurationItem,
} from '../../hosting/requests.ts';
import { resultFacts } from '../disaster-protection/facts.ts';
import { never } from '../recovery/approval.ts';
import {
  activeIdOf,
  failedOrCancelled,
  isActivation,
  isWarm,
  lookAt,
  operationIn,
  operationInWords,
  provenTwice,
  sameMoment,
  shownOperation,
} from '../recovery/configurations.ts';
import { accepted, ended, waitUntilShown } from '../recovery/following.ts';
import { defineRequest } from '../recovery/one-shot.ts';
import type { RequestPlan } from '../recovery/plan.ts';
import { atStage } from '../recovery/stages.ts';
import {
  activationId,
  bodyOf,
  namesOf,
  protectionOf,
  type ActivationPass,
  type ActivationStep,
  type SeenProtection,
} from './content.ts';
import { fence, sameRequest } from './fences.ts';
import { isOfPoint, namesMatch, newActivationId, findOperation, signsOfEffect, type Result } from './ours.ts';
import { identity, type RecoveryActivationFacts, type RecoveryActivationSpec } from './schema.ts';

/**
 * Reads the configuration and its source (the protected environment). While the activation may still be sent, also
 * reads the recovery point in the spec.
 */
function look(pass: ActivationPass, since: number): ActivationStep | SeenProtection {
  const { configurationId, recoveryPoint } = pass.spec;
  const { accountId } = pass.account;
  const found = lookAt(pass, configurationId, since);
  if ('is' in found) return found;
  const { configuration } = found;
  const sources = drSourcesOf(accountId);
  const listed = pass.view.one(sources, configuration?.sourceAppEnvId ?? protectionOf(pass)?.appEnvId ?? '');
  // The names of a recovered environment are in the list of sources (environments that can be protected). A list that
  // was read before the activation had a result may not contain these names yet, so a newer list is needed.
  const needed = configuration?.activationResult === undefined ? Number.NEGATIVE_INFINITY : found.snapshot.begunAt;
  const isOld = listed === undefined || listed.snapshot.begunAt < needed;
  if (isOld && pass.view.problem(sources) === undefined) return readOf(pass, sources, needed);
  const seen = { ...found, source: listed?.item };
  if (pass.memory.facts.acceptedTime !== undefined || configuration === undefined) {
    return { ...seen, point: undefined };
  }
  const read = drPointsOf(accountId, configurationId);
  const points = pass.view.one(read, `${recoveryPoint.selectedOperationId}/${recoveryPoint.pointId}`);
  if (points === undefined || points.snapshot.begunAt < since) return readOf(pass, read, since);
  return { ...seen, point: points.item };
}

/** Waits until an accepted activation has ended, then ends the request. */
function followAccepted(pass: ActivationPass, seen: SeenProtection): ActivationStep {
  const { configuration } = seen;
  const { id } = pass.memory;
  if (configuration === undefined) return vanished(pass, seen);
  if (id !== undefined && id === pass.spec.afterOperationId) {
    return ended(pass, never('AlreadyActivated', sameRequest(id)));
  }
  const fresh = id === undefined && pass.memory.journal ? newActivationId(pass, configuration, true) : undefined;
  if (fresh !== undefined) {
    const remember = { id: fresh, ownership: 'Presumed', journal: undefined, facts: accepted(pass) } as const;
    return { is: 'again', remember };
  }
  const { activationResult } = configuration;
  const concluded = activationResult && ofResult(pass, seen, activationResult);
  if (concluded !== undefined) return concluded;
  if (id !== undefined && activeIdOf(configuration) === id) {
    return { is: 'wait', reason: 'InProgress', message: working(configuration, id), note: { activationSeen: true } };
  }
  const operation = operationIn(configuration, id);
  const isSeen = operation !== undefined || wasShown(pass);
  const unseen = isSeen ? undefined : waitUntilShown(pass, seen.snapshot, 'activation');
  if (unseen !== undefined) return unseen;
  if (isSeen && !mayBeLive(pass, configuration)) return vanished(pass, seen);
  const stage = operation?.phase === undefined ? '' : ` (${operation.phase})`;
  const message = `the service accepted the activation${id === undefined ? '' : ` as operation ${id}`}${stage}, but does not show the result; check in the service whether environment "${namesOf(pass.spec).envName}" is live`;
  return { is: 'wait', reason: 'NotDisclosed', message, conditions: [notTold] };
}

/**
 * True if the operation of this request may have made an environment live: the service shows it as neither failed nor
 * ended without an outcome. If the service does not show the operation, an activation without an id in the history is
 * enough, if it has the cutoff time in the spec and an outcome that is not a failure.
 */
function mayBeLive({ memory, spec }: ActivationPass, configuration: ConfigurationItem): boolean {
  const operation = operationIn(configuration, memory.id);
  if (operation !== undefined) {
    return !failedOrCancelled(operation) && (operation.endedAt === undefined || operation.outcome !== undefined);
  }
  return configuration.activities.some(
    (one) =>
      one.operationId === undefined &&
      one.outcome !== undefined &&
      isActivation(one) &&
      !failedOrCancelled(one) &&
      sameMoment(one.cutoffAt, spec.recoveryPoint.cutoffTime),
  );
}

/** After this many consecutive failed steps, the service may allow a discard of the activation. */
const discardAfterSteps = 6;

/**
 * Builds the message about the operation that the service works on. If steps of the operation have failed, the message
 * also says how to end the operation.
 */
function working(configuration: ConfigurationItem, id: string): string {
  const { phase, failedSteps = 0 } = operationIn(configuration, id) ?? {};
  const work = `the service works on operation ${id}${phase === undefined ? '' : ` (${phase})`}`;
  if (failedSteps === 0) return work;
  const failing = `${work}; ${failedSteps} steps in a row have failed`;
  if (isWarm(configuration))
    return `${failing}; if the steps keep failing, create a DisasterReset to end the operation`;
  return failedSteps < discardAfterSteps
    ? `${failing}; after ${discardAfterSteps} failed steps in a row, the service may accept an ActivationDiscard`
    : `${failing}; to end the activation, create an ActivationDiscard, which the service may accept now`;
}

/**
 * True if the service has shown the operation of this request before. An operation that was shown before and is not
 * shown any more has ended.
 */
function wasShown(pass: ActivationPass): boolean {
  const { id, ownership } = pass.memory;
  const isRecorded = protectionOf(pass)?.operations.some(({ operationId }) => operationId === id) === true;
  return id !== undefined && (ownership === 'Presumed' || isRecorded || pass.notes.activationSeen === true);
}

/**
 * Decides from the result of an activation whether this request has succeeded. If it is certain which operation the
 * request began, the result must be of that operation. Otherwise the recovery point and the names in the result must
 * equal the spec; while the service does not show the names, the request waits. Returns undefined if the result is of
 * another activation.
 */
function ofResult(pass: ActivationPass, seen: SeenProtection, result: Result): ActivationStep | undefined {
  const { id, ownership } = pass.memory;
  if (id === undefined ? !isOfPoint(pass, result) : result.operationId !== id) return undefined;
  const isOtherPoint = result.pointId !== undefined && result.pointId !== pass.spec.recoveryPoint.pointId;
  const isOurs = ownership === 'Created' || (!isOtherPoint && namesMatch(pass.spec, result, seen.source));
  if (isOurs === true) return promoted(pass, result);
  const which = `${operationInWords(result)} activated the configuration`;
  if (isOurs === undefined) {
    const message = `${which}; it is not known if this request began the operation, because no answer of the service named the operation, and the service does not show the names of the recovered app and environment`;
    return { is: 'wait', reason: 'UnknownState', message, conditions: [notTold] };
  }
  const message = `${which}, but the recovery point or the names of the recovered app and environment differ from the spec`;
  return id === undefined ? undefined : ended(pass, never('Superseded', message));
}

function promoted(pass: ActivationPass, result: Result): ActivationStep {
  const facts = { ...pass.memory.facts, result: resultFacts(result) };
  const message = `environment ${result.targetAppEnvId ?? '(id unknown)'} is live`;
  const isNew = pass.memory.id === undefined && result.operationId !== undefined;
  const more = { facts, ...(isNew && { id: result.operationId, ownership: 'Presumed' as const }) };
  const end = ended(pass, { is: 'ready', reason: 'Succeeded', message }, more);
  return { ...end, conditions: [...(end.conditions ?? []), promotion.yes('Promoted', message)] };
}

/**
 * Ends an accepted activation if two lists, read some time apart, show that the service no longer works on it and has
 * no result for it.
 */
function vanished(pass: ActivationPass, seen: SeenProtection): ActivationStep {
  const { id } = pass.memory;
  const { endedAt, outcome } = (seen.configuration && operationIn(seen.configuration, id)) ?? {};
  const name = id === undefined ? 'the activation' : `operation ${id}`;
  const message =
    seen.configuration === undefined
      ? `the service no longer lists the configuration, so the result of ${name} is not known; check in the service whether environment "${namesOf(pass.spec).envName}" is live`
      : `the service is no longer working on ${name}, but shows no result`;
  const apartMs = endedAt === undefined ? pass.horizonMs : undefined;
  const unproven = `${message}; this counts only if a second read shows the same`;
  const unsure = provenTwice(pass, seen.snapshot, 'InProgress', unproven, apartMs);
  if (unsure !== undefined) return unsure;
  const again = 'to try again, create a new RecoveryActivation with a higher spec.attempt';
  const said = outcome === undefined ? '' : `; the service says: ${outcome}`;
  // The activation may have made the environment live before the configuration was removed. So the outcome is unknown.
  if (seen.configuration === undefined) return ended(pass, never('UnknownState', message));
  return ended(pass, never('OperationFailed', `${message}${said}; it counts as failed; ${again}`));
}

const promotion = about('Promoted');
const notTold = promotion.unknown(
  'NotDisclosed',
  'the service does not show whether the recovered environment is live',
);

const plan: RequestPlan<RecoveryActivationSpec, RecoveryActivationFacts, SeenProtection, Activation> = {
  noun: 'activation',
  operation: 'activate',
  power: () => 'activation',
  factsAtStart: ({ spec, account }) => ({
    requestId: activationId({ spec, account }),
    configurationId: spec.configurationId,
    configurationGeneration: spec.recoveryPoint.configurationGeneration,
  }),
  look,
  findOperation,
  fence,
  body: bodyOf,
  request: postDisasterReadinessActivate,
  words: ({ spec }) => `activate configuration ${spec.configurationId} from ${spec.recoveryPoint.cutoffTime}`,
  committed: (pass, answer) => {
    const { operationId: id, phase } = receiptOf(answer) ?? {};
    const memory = { facts: accepted(pass, phase), journal: pass.memory.journal };
    return id === undefined ? memory : { ...memory, id, ownership: 'Created' };
  },
  signsOfEffect,
  followAccepted,
  factsNow: (pass) => {
    const { memory, spec, wallMs } = pass;
    const operation = shownOperation(pass, spec.configurationId, memory.id);
    const { phase, failedSteps = memory.facts.failedSteps } = operation ?? {};
    return atStage({ ...memory.facts, failedSteps }, phase, wallMs);
  },
  conditions: ({ memory }) => [
    memory.facts.result === undefined
      ? promotion.no(
          'NotPromoted',
          'the service has not reported that this activation made the recovered environment live',
        )
      : promotion.yes('Promoted', 'the recovered environment is live'),
  ],
  conditionsIfUnknown: [notTold],
};

/**
 * The RecoveryActivation kind: recovers a protected environment once, from one recovery point, and makes the result
 * live.
 */
export const recoveryActivation = defineRequest(plan, {
  ...identity,
  claims: ({ configurationId }) => [configurationId],
  always: ['Promoted'],
});
