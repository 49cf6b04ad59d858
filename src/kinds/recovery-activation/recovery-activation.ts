import { type OwnCondition, about } from '../../engine/kind/contract/step.ts';
import { sightLost, readOf } from '../../engine/kind/planner/observe.ts';
import {
  drPointsOf,
  drSourcesOf,
  postDisasterReadinessActivate,
  receiptOf,
  type Activation,
  type ConfigurationItem,
  type DrOperation,
} from '../../hosting/requests.ts';
import { resultFacts } from '../disaster-protection/facts.ts';
import { never } from '../recovery/approval.ts';
import {
  activeIdOf,
  activeOf,
  endedInVain,
  isWarm,
  lookAt,
  operationIn,
  provenTwice,
  shownConfiguration,
  shows,
} from '../recovery/configurations.ts';
import {
  accepted,
  defineRequest,
  ended,
  notShownYet,
  protectionNeed,
  stepOnce,
  type OncePlan,
} from '../recovery/one-shot.ts';
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
import { adopted, isOfPoint, mayBeOurs, namesMatch, newOperationId, trace, untold, type Result } from './ours.ts';
import { identity, type RecoveryActivationFacts, type RecoveryActivationSpec } from './schema.ts';

/** Reads the configuration and its source, and the pinned point while a request may still be sent. */
function look(pass: ActivationPass, since: number): ActivationStep | SeenProtection {
  const { configurationId, recoveryPoint } = pass.spec;
  const { accountId } = pass.account;
  const found = lookAt(pass, configurationId, since);
  if ('is' in found) return found;
  const { configuration } = found;
  const sources = drSourcesOf(accountId);
  const listed = pass.view.one(sources, configuration?.sourceAppEnvId ?? protectionOf(pass)?.appEnvId ?? '');
  const isReadable = pass.view.problem(sources) === undefined;
  if (listed === undefined && isReadable) return readOf(pass, sources);
  const seen = { ...found, source: listed?.item };
  if (pass.memory.facts.acceptedTime !== undefined || configuration === undefined) {
    return { ...seen, point: undefined };
  }
  // The result's names come from the list of sources: an older list would make our result look foreign.
  const isOld = listed !== undefined && listed.snapshot.begunAt < since && isReadable;
  if (isOld && configuration.activationResult !== undefined) return readOf(pass, sources, since);
  const read = drPointsOf(accountId, configurationId);
  const points = pass.view.one(read, `${recoveryPoint.selectedOperationId}/${recoveryPoint.pointId}`);
  if (points === undefined || points.snapshot.begunAt < since) return readOf(pass, read, since);
  return { ...seen, point: points.item };
}

/** Waits for the end of an accepted activation. */
function follow(pass: ActivationPass, seen: SeenProtection): ActivationStep {
  const { configuration } = seen;
  const { id, ownership } = pass.memory;
  if (configuration === undefined) return vanished(pass, seen);
  if (id !== undefined && id === pass.spec.afterOperationId) {
    return ended(pass, never('AlreadyActivated', sameRequest(id)));
  }
  const identified = id === undefined ? identify(pass, seen, configuration) : undefined;
  if (identified !== undefined) return identified;
  const { activationResult } = configuration;
  if (activationResult?.operationId !== undefined && activationResult.operationId === id) {
    const doubted = ownership === 'Presumed' ? doubt(pass, seen, activationResult) : undefined;
    return doubted ?? promoted(pass, activationResult);
  }
  if (id !== undefined && activeIdOf(configuration) === id) {
    return { is: 'wait', reason: 'InProgress', message: working(configuration, id), note: { seenActive: 1 } };
  }
  const unseen = unseenYet(pass, seen, configuration);
  if (unseen !== undefined) return unseen;
  if (keepsSilent(pass, configuration)) {
    const stage = operationIn(configuration, id)?.phase;
    const message = `the service accepted ${id === undefined ? 'the activation' : `operation ${id}`}${stage === undefined ? '' : ` (${stage})`} and does not show what came of it; look there whether environment "${namesOf(pass.spec).envName}" is live`;
    return { is: 'wait', reason: 'NotDisclosed', message };
  }
  return vanished(pass, seen);
}

/** After this many failed steps in a row, a discard of the activation may be possible. */
const discardAfterSteps = 6;

/** Says what the service works on, and how to end an operation that keeps failing. */
function working(configuration: ConfigurationItem, id: string): string {
  const { phase, failedSteps = 0 } = operationIn(configuration, id) ?? {};
  const work = `the service works on operation ${id}${phase === undefined ? '' : ` (${phase})`}`;
  if (failedSteps === 0) return work;
  const failing = `${work}; ${failedSteps} steps in a row have failed`;
  if (isWarm(configuration)) return `${failing}; if it does not recover, a DisasterReset ends it`;
  return failedSteps < discardAfterSteps
    ? `${failing}; from ${discardAfterSteps} on a discard may be possible`
    : `${failing}; a discard may be possible: an ActivationDiscard asks for it`;
}

/** Waits while lists may be too old to show an accepted operation. */
function unseenYet(
  pass: ActivationPass,
  { snapshot }: SeenProtection,
  configuration: ConfigurationItem,
): ActivationStep | undefined {
  const { notes, monotonicMs, memory, horizonMs } = pass;
  const isSeen = notes['seenActive'] !== undefined || shows(configuration, memory.id) || wasShown(pass);
  const followedSince = notes['followedSince'] ?? monotonicMs;
  if (isSeen || likeOurs(pass, configuration).length > 0 || snapshot.begunAt >= followedSince + horizonMs)
    return undefined;
  return { ...notShownYet(pass, 'activation'), note: { ...notes, followedSince } };
}

/** Looks for our operation when the receipt named none: a new operation, or a result like ours. */
function identify(
  pass: ActivationPass,
  seen: SeenProtection,
  configuration: ConfigurationItem,
): ActivationStep | undefined {
  const { journal } = pass.memory;
  const fresh = journal && newOperationId(pass, configuration, journal, true);
  if (fresh !== undefined) return { is: 'again', remember: adopted(pass, fresh, 'Presumed') };
  const { activationResult } = configuration;
  if (activationResult === undefined || !isOfPoint(pass, activationResult)) return undefined;
  const isSame = namesMatch(pass.spec, activationResult, seen.source);
  if (isSame === undefined) return unnamed(pass, seen, activationResult);
  return isSame ? promoted(pass, activationResult) : undefined;
}

/** True when the lists do not show how our operation ended and probably never will. */
function keepsSilent(pass: ActivationPass, configuration: ConfigurationItem): boolean {
  const { id } = pass.memory;
  const operation = operationIn(configuration, id);
  if (operation?.outcome !== undefined) return !endedInVain(operation);
  if (likeOurs(pass, configuration).some(({ outcome }) => outcome !== undefined)) return true;
  const active = activeOf(configuration);
  const isNamed = id !== undefined && active?.operationId !== undefined;
  if (active !== undefined && !isNamed && mayBeOurs(pass, active)) return true;
  if ((active !== undefined && id !== undefined) || pass.notes['seenActive'] !== undefined) return false;
  if (operation !== undefined) return operation.endedAt === undefined;
  return configuration.activities.length === 0 || (!wasShown(pass) && likeOurs(pass, configuration).length > 0);
}

/** True when the service has listed our operation by its id before. The operation has then ended once no list shows it. */
function wasShown(pass: ActivationPass): boolean {
  const { id, ownership } = pass.memory;
  if (id === undefined) return false;
  return (
    ownership === 'Presumed' || protectionOf(pass)?.operations.some(({ operationId }) => operationId === id) === true
  );
}

/** History entries without an id that may be our operation. */
function likeOurs(pass: ActivationPass, { activities }: ConfigurationItem): readonly DrOperation[] {
  return activities.filter((activity) => activity.operationId === undefined && mayBeOurs(pass, activity));
}

/**
 * Checks a result that is only presumed to be ours. Another point or name ends the request, and names that are not shown make
 * it wait.
 */
function doubt(pass: ActivationPass, seen: SeenProtection, result: Result): ActivationStep | undefined {
  const { spec } = pass;
  const isSame = namesMatch(spec, result, seen.source);
  if (isSame === false || (result.pointId !== undefined && result.pointId !== spec.recoveryPoint.pointId)) {
    const message = `operation ${result.operationId} activated the configuration, but with another point or other names than the spec`;
    return ended(pass, never('Superseded', message));
  }
  return isSame === true ? undefined : unnamed(pass, seen, result);
}

/** Waits for the names of a result: the list of sources does not show them, or is older than the result. */
function unnamed(pass: ActivationPass, seen: SeenProtection, result: Result): ActivationStep {
  const sources = drSourcesOf(pass.account.accountId);
  const listed = pass.view.all(sources);
  if (listed === undefined || listed.begunAt < seen.snapshot.begunAt)
    return readOf(pass, sources, seen.snapshot.begunAt);
  const message = `operation ${result.operationId ?? '(not shown)'} activated the configuration; its names are not shown, and no receipt named it, so that nobody can say whether it was this request`;
  return { is: 'wait', reason: 'UnknownState', message };
}

function promoted(pass: ActivationPass, result: Result): ActivationStep {
  const facts = { ...pass.memory.facts, result: resultFacts(result) };
  const message = `environment ${result.targetAppEnvId ?? '(not shown)'} is live`;
  const isNew = pass.memory.id === undefined && result.operationId !== undefined;
  const more = { facts, ...(isNew && { id: result.operationId, ownership: 'Presumed' as const }) };
  const end = ended(pass, { is: 'ready', reason: 'Succeeded', message }, more);
  return { ...end, conditions: [...(end.conditions ?? []), promotion.yes('Promoted', message)] };
}

/** Ends an accepted activation that is neither active nor has a result, once two lists agree and are late enough. */
function vanished(pass: ActivationPass, seen: SeenProtection): ActivationStep {
  const { id } = pass.memory;
  const blind = seen.configuration === undefined ? sightLost(pass) : undefined;
  if (blind !== undefined) return blind;
  const operation = seen.configuration && operationIn(seen.configuration, id);
  const name = id === undefined ? 'the activation' : `operation ${id}`;
  const message =
    seen.configuration === undefined
      ? `the configuration is not shown any more, and with it ${name}; look in the service whether environment "${namesOf(pass.spec).envName}" is live`
      : `${name} is not under way any more, and the service shows no result of it`;
  const since = pass.notes['followedSince'] ?? pass.monotonicMs;
  const note = { ...pass.notes, followedSince: since };
  if (operation?.endedAt === undefined && seen.snapshot.begunAt < since + pass.horizonMs) {
    return { is: 'wait', reason: 'InProgress', message: `${message}; it is looked at again`, retryInMs: 10_000, note };
  }
  const unsure = provenTwice({ ...pass, notes: note }, seen.snapshot, 'InProgress', message);
  if (unsure !== undefined) return unsure;
  const again = 'the same content is answered with this operation, so to try it again raise spec.attempt';
  const outcome = operation?.outcome === undefined ? '' : `; the service says: ${operation.outcome}; ${again}`;
  // The environment may have gone live before its configuration was removed.
  if (seen.configuration === undefined) return ended(pass, never('UnknownState', message));
  return ended(pass, never('OperationFailed', `${message}${outcome}`));
}

const plan: OncePlan<RecoveryActivationSpec, RecoveryActivationFacts, SeenProtection, Activation> = {
  noun: 'activation',
  operation: 'activate',
  power: () => 'activation',
  refersTo: protectionNeed,
  validUntil: ({ validUntil }) => validUntil,
  facts: ({ spec, account }) => ({
    requestId: activationId({ spec, account }),
    configurationId: spec.configurationId,
    configurationGeneration: spec.recoveryPoint.configurationGeneration,
  }),
  look,
  trace,
  fence,
  body: bodyOf,
  subject: ({ configurationId }) => configurationId,
  request: postDisasterReadinessActivate,
  words: ({ spec }) => `activate configuration ${spec.configurationId} from ${spec.recoveryPoint.cutoffTime}`,
  committed: (pass, answer) => {
    const { operationId: id, phase } = receiptOf(answer) ?? {};
    const memory = { facts: accepted(pass, phase), journal: pass.memory.journal };
    return id === undefined ? memory : { ...memory, id, ownership: 'Created' };
  },
  untold,
  follow,
  shown: (pass) => {
    const { memory, spec, wallMs } = pass;
    const configuration = shownConfiguration(pass, spec.configurationId);
    const operation = configuration && operationIn(configuration, memory.id);
    const { phase, failedSteps = memory.facts.failedSteps } = operation ?? {};
    return atStage({ ...memory.facts, failedSteps }, phase, wallMs);
  },
  conditions: (pass) => [promotedCondition(pass, shownConfiguration(pass, pass.spec.configurationId))],
};

const promotion = about('Promoted');
const notTold = promotion.unknown('NotDisclosed', 'the service does not show what came of it');

/** Sets Promoted to Unknown when the request ends and nobody knows how. */
function unlessUntold(step: ActivationStep): ActivationStep {
  if (step.is !== 'stall' || step.reason !== 'UnknownState') return step;
  return { ...step, conditions: [...(step.conditions ?? []), notTold] };
}

function promotedCondition(pass: ActivationPass, configuration: ConfigurationItem | undefined): OwnCondition {
  const { result, acceptedTime } = pass.memory.facts;
  if (result !== undefined) return promotion.yes('Promoted', 'the recovered environment is live');
  if (acceptedTime !== undefined && configuration !== undefined && keepsSilent(pass, configuration)) return notTold;
  return promotion.no('NotPromoted', 'no result of this activation is shown');
}

/** Recovers a protected environment once, from one recovery point, and makes the result live. */
export const recoveryActivation = defineRequest(plan, {
  ...identity,
  claims: ({ configurationId }) => [configurationId],
  always: ['Promoted'],
  step: (pass) => unlessUntold(stepOnce(plan, pass)),
});
