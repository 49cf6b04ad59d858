/**
 * Checks, on fresh reads, what must hold before an activation is sent and before it is sent again. The first check that
 * fails ends the request or makes it wait.
 *
 * Why: docs/design/recovery-requests.md#an-activation-names-what-it-comes-after
 */
import type { Related } from '../../engine/kind/contract/pass.ts';
import type { ConfigurationItem, DestinationNames, DrOperation } from '../../hosting/requests.ts';
import { never, notYet, unreferred, type Fence } from '../recovery/approval.ts';
import {
  activationUnderWay,
  activeOf,
  endedInVain,
  isActivation,
  isSettledStandby,
  isWarm,
  movedOn,
  operationInWords,
  operationIn,
  rebound,
  sameMoment,
  shows,
  wasOverBefore,
  withoutConfiguration,
} from '../recovery/configurations.ts';
import { protectionNeed } from '../recovery/one-shot.ts';
import { namesOf, protectionOf, type ActivationPass, type ActivationStep, type SeenProtection } from './content.ts';
import type { RecoveryActivationSpec } from './schema.ts';

/** Returns the first reason not to send the activation now; undefined when it may be sent. */
export function fence(pass: ActivationPass, seen: SeenProtection): ActivationStep | undefined {
  const { configuration, snapshot } = seen;
  if (configuration === undefined) return withoutConfiguration(pass, snapshot, pass.spec.configurationId);
  return (
    superseded(pass, configuration) ??
    confirmation(pass, seen) ??
    unavailable(configuration) ??
    another(pass, configuration) ??
    busy(configuration) ??
    destination(pass.spec, configuration) ??
    point(pass, seen)
  );
}

/** Requires that the protection and the service still have the configuration and the generation that the spec names. */
function superseded(pass: ActivationPass, configuration: ConfigurationItem): Fence | undefined {
  const { configurationId, protectionRef, recoveryPoint, validUntil } = pass.spec;
  // Check the reference before any check that can end the request. Only the status of the DisasterProtection shows
  // whether this request has already begun an operation.
  return (
    unreferred(pass, protectionNeed(protectionRef), validUntil) ??
    rebound(pass, configurationId) ??
    movedOn(configuration.generation, recoveryPoint.configurationGeneration)
  );
}

function confirmation(pass: ActivationPass, { source }: SeenProtection): Fence | undefined {
  const remembered = protectionOf(pass)?.source;
  const appName = source?.appName ?? remembered?.appName;
  const environmentName = source?.environmentName ?? remembered?.environmentName;
  if (appName === undefined || environmentName === undefined) {
    const message = 'the service does not show the names of the source, so spec.confirmation cannot be checked';
    return notYet('ConfirmationMismatch', message);
  }
  if (pass.spec.confirmation === `${appName}/${environmentName}`) return undefined;
  return never('ConfirmationMismatch', `spec.confirmation must be ${appName}/${environmentName}`);
}

function unavailable({ activationUnavailableReason }: ConfigurationItem): Fence | undefined {
  if (activationUnavailableReason === undefined) return undefined;
  return never('ActivationUnavailable', `the service allows no activation: ${activationUnavailableReason}`);
}

/**
 * Stalls the resource if another activation succeeded or may still succeed. The activation in spec.afterOperationId, and any
 * activation before that one, do not count.
 */
function another(pass: ActivationPass, configuration: ConfigurationItem): Fence | undefined {
  const why = activated(pass, configuration) ?? alongside(pass, configuration);
  return why === undefined ? undefined : never('AlreadyActivated', why);
}

/**
 * Builds the message for a response that names the operation in spec.afterOperationId. Such a response means that the
 * service began no new operation.
 */
export function sameRequest(operationId: string): string {
  return `operation ${operationId}, which spec.afterOperationId names, was started by this request itself; to ask for another activation, raise spec.attempt`;
}

/** Returns the part of a message that says how to activate a configuration again after an earlier activation. */
function howToFollow(operationId = "the operation's id"): string {
  return `to activate the configuration again, set spec.afterOperationId to ${operationId}`;
}

/**
 * Builds a message if the service shows another activation of the configuration. Ignores the activation in
 * spec.afterOperationId, and any activation that was over before that one began.
 */
function activated(pass: ActivationPass, configuration: ConfigurationItem): string | undefined {
  const { afterOperationId = '' } = pass.spec;
  const { activationResult, activities } = configuration;
  if (activationResult !== undefined && activationResult.operationId !== afterOperationId) {
    const { operationId } = activationResult;
    return `operation ${operationId ?? '(not shown)'} activated the configuration; ${howToFollow(operationId)}`;
  }
  const active = activationUnderWay(configuration);
  if (active !== undefined) {
    return `activation ${active.operationId ?? '(id not shown)'} is under way`;
  }
  const others = activities.filter(
    (activity) =>
      isActivation(activity) && !endedInVain(activity) && !isCovered(activity, afterOperationId, configuration),
  );
  const earlier = others.find(({ operationId }) => operationId !== undefined);
  if (earlier === undefined) return nameless(pass, configuration, others);
  const what = `the history shows activation ${earlier.operationId}`;
  const named = operationIn(configuration, afterOperationId);
  const mayBeNamed = activationResult === undefined && (named === undefined || wasOverBefore(named, earlier));
  if (mayBeNamed) return `${what}; ${howToFollow(earlier.operationId)}`;
  return `${what}, and does not show that this activation was over before ${afterOperationId} (spec.afterOperationId) began; create a new resource when this activation has ended, or, if the service shows no end, ${anew}`;
}

const anew = 'create a DisasterReset, which deletes all recovery points, and raise spec.enrollment of the protection';

/**
 * True for the activation in spec.afterOperationId, and for any activation that was over before that one began. An
 * activation is also over if it began before the result in the configuration was complete, because the service runs one
 * activation at a time.
 */
function isCovered(activity: DrOperation, named: string, configuration: ConfigurationItem): boolean {
  const { operationId, startedAt } = activity;
  if (operationId === named || wasOverBefore(activity, operationIn(configuration, named))) return true;
  const { activationResult } = configuration;
  if (activationResult === undefined) return false;
  const began = Date.parse(startedAt ?? '');
  const completed = Date.parse(activationResult.completedAt ?? '');
  // A history entry without an id may be the activation in spec.afterOperationId itself. It is certainly another
  // activation only if it began after the result was complete.
  return operationId === undefined ? !(began > completed) : began < completed;
}

/**
 * Builds a message if the history shows activations without an id that no RecoveryActivation of this cluster explains.
 * The RecoveryActivation whose operation is in spec.afterOperationId explains one history entry with the same cutoff.
 * So does each finished RecoveryActivation that was accepted before that one.
 */
function nameless(
  pass: ActivationPass,
  configuration: ConfigurationItem,
  entries: readonly DrOperation[],
): string | undefined {
  const { spec, related } = pass;
  const all = related?.('RecoveryActivation', spec.configurationId).filter(({ id }) => id !== undefined) ?? [];
  const named = all.find(({ id }) => id === spec.afterOperationId);
  const known = all.filter(
    (one) =>
      operationIn(configuration, one.id) === undefined && (one === named || (one.finished && isBehind(one, named))),
  );
  // Two RecoveryActivations may have the same operation, so count each operation once.
  const moments = [...new Map(known.map((one) => [one.id, cutoffOf(one)])).values()];
  const isUnexplained = ({ cutoffAt }: DrOperation, index: number) => {
    const before = entries.slice(0, index).filter((entry) => sameMoment(entry.cutoffAt, cutoffAt));
    return before.length >= moments.filter((moment) => sameMoment(moment, cutoffAt)).length;
  };
  if (!entries.some(isUnexplained)) return undefined;
  const isLast = all.every((one) => one.id === spec.afterOperationId || isBehind(one, named));
  const way = isLast
    ? `to activate again, ${anew}`
    : 'put the operation id of the last RecoveryActivation into spec.afterOperationId';
  return `the history shows an activation without an id, which may have made an environment live; ${way}`;
}

function cutoffOf({ spec }: Related): string | undefined {
  return (spec as RecoveryActivationSpec | undefined)?.recoveryPoint.cutoffTime;
}

/**
 * Builds the message about another RecoveryActivation of this cluster that was accepted and has not ended, even if no
 * list shows its operation yet.
 */
function alongside({ related, spec }: ActivationPass, configuration: ConfigurationItem): string | undefined {
  const { configurationId, afterOperationId = '' } = spec;
  const all = related?.('RecoveryActivation', configurationId) ?? [];
  const named = all.find(({ id }) => id === afterOperationId);
  const other = all.find(
    (one) =>
      one.id !== afterOperationId &&
      one.facts['acceptedTime'] !== undefined &&
      !one.finished &&
      !shows(configuration, one.id) &&
      !isBehind(one, named),
  );
  if (other === undefined) return undefined;
  if (other.id !== undefined)
    return `the service accepted ${other.name} as operation ${other.id}; ${howToFollow(other.id)}`;
  const instead = 'check in the service how that activation ended; to activate again, delete that RecoveryActivation';
  return `the service accepted ${other.name}, and does not show its operation; ${instead}`;
}

/** True if `one` was accepted before `later`. Then `one` has ended, because the service runs one activation at a time. */
function isBehind(one: Related, later: Related | undefined): boolean {
  return Date.parse(String(one.facts['acceptedTime'])) < Date.parse(String(later?.facts['acceptedTime']));
}

/**
 * Stalls while the service works on an operation, unless that operation only keeps the standby of a warm configuration.
 */
function busy(configuration: ConfigurationItem): Fence | undefined {
  const active = activeOf(configuration);
  if (active === undefined || isSettledStandby(configuration)) return undefined;
  const message = `the service works on ${operationInWords(active)}; wait until this operation has ended, then create a new resource`;
  return never('OperationInProgress', message);
}

function destination(spec: RecoveryActivationSpec, configuration: ConfigurationItem): Fence | undefined {
  if (!isWarm(configuration)) return undefined;
  const { warmDestination } = configuration;
  if (warmDestination === undefined) {
    const message = 'the service does not show the warm destination, so spec.target cannot be checked';
    return never('DestinationMismatch', message);
  }
  const { envName, appName, createNewApp } = namesOf(spec);
  // A database always gets a new app, even if the spec gives only spec.target.appName and leaves createNewApp out.
  const mayBeNew = createNewApp || (appName !== undefined && spec.target.createNewApp === undefined);
  const same =
    warmDestination.envName === envName &&
    (warmDestination.createNewApp === true ? mayBeNew && warmDestination.appName === appName : !createNewApp);
  return same ? undefined : never('DestinationMismatch', `spec.target must be ${destinationInWords(warmDestination)}`);
}

function destinationInWords(destination: DestinationNames): string {
  const { envName, appName, createNewApp } = destination;
  const app = createNewApp === true ? ` in the new app "${appName ?? ''}"` : '';
  return `environment "${envName ?? ''}"${app}, as status.warmDestination of the protection says`;
}

/** Requires that the service lists the recovery point now, with exactly the cutoff time in the spec. */
function point({ spec }: ActivationPass, { point: live }: SeenProtection): Fence | undefined {
  const { pointId, cutoffTime, configurationGeneration } = spec.recoveryPoint;
  if (live === undefined) return never('Superseded', `the service does not list recovery point ${pointId} any more`);
  if (live.cutoffAt !== cutoffTime) {
    const message = `the cutoff time of recovery point ${pointId} is ${live.cutoffAt}, but the spec has ${cutoffTime}`;
    return never('Superseded', message);
  }
  return live.generation === undefined ? undefined : movedOn(live.generation, configurationGeneration);
}
