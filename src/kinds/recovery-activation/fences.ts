/**
 * Checks, on fresh reads, whether an activation may be sent. All checks are made again before the activation is sent
 * again. The first check that fails ends the request or makes it wait.
 *
 * Why: docs/design/recovery-requests.md#a-further-activation-must-name-the-one-before-it
 */
import type { Related } from '../../engine/kind/contract/pass.ts';
import type { ConfigurationItem, DestinationNames, DrOperation } from '../../hosting/requests.ts';
import { never, notYet, unreferred, type Fence } from '../recovery/approval.ts';
import {
  activationUnderWay,
  activeOf,
  failedOrCancelled,
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

/**
 * Checks that the DisasterProtection still has the configuration in the spec, and that this configuration still has the
 * generation in the spec. Returns the first reason not to send the activation; undefined if there is none.
 */
function superseded(pass: ActivationPass, configuration: ConfigurationItem): Fence | undefined {
  const { configurationId, recoveryPoint } = pass.spec;
  // Check first that the DisasterProtection can be found. Only its status shows whether this request has already begun
  // an operation, and the checks after this one may end the request for good.
  return (
    unreferred(pass) ??
    rebound(pass, configurationId) ??
    movedOn(configuration.generation, recoveryPoint.configurationGeneration)
  );
}

function confirmation(pass: ActivationPass, { source }: SeenProtection): Fence | undefined {
  const remembered = protectionOf(pass)?.source;
  const appName = source?.appName ?? remembered?.appName;
  const environmentName = source?.environmentName ?? remembered?.environmentName;
  if (appName === undefined || environmentName === undefined) {
    const message =
      'the service does not show the names of the source app and environment, so spec.confirmation cannot be checked';
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
 * Stalls the request if another activation of the configuration succeeded or may still succeed. Ignores the activation
 * in spec.afterOperationId and all activations before it.
 */
function another(pass: ActivationPass, configuration: ConfigurationItem): Fence | undefined {
  const why = activated(pass, configuration) ?? alongside(pass, configuration);
  return why === undefined ? undefined : never('AlreadyActivated', why);
}

/**
 * Builds the message for the case that the service responds with the operation in spec.afterOperationId. The service
 * has then taken the request for a repeated one, and has begun no new operation.
 */
export function sameRequest(operationId: string): string {
  return `the service took this request for a repeat of the request that began operation ${operationId} (spec.afterOperationId), and began no new operation; to activate again, create a new RecoveryActivation with a higher spec.attempt`;
}

/** Returns the part of a message that tells users how to activate a configuration again after an earlier activation. */
function howToFollow(operationId = "the operation's id"): string {
  return `to activate the configuration again, create a new RecoveryActivation whose spec.afterOperationId is ${operationId}`;
}

/**
 * Returns a message if the service shows another activation that made an environment live or may still do so. Ignores
 * the activation in spec.afterOperationId and all activations before it.
 */
function activated(pass: ActivationPass, configuration: ConfigurationItem): string | undefined {
  const { afterOperationId = '' } = pass.spec;
  const { activationResult, activities } = configuration;
  if (activationResult !== undefined && activationResult.operationId !== afterOperationId) {
    return `${operationInWords(activationResult)} activated the configuration; ${howToFollow(activationResult.operationId)}`;
  }
  const active = activationUnderWay(configuration);
  if (active !== undefined) {
    return `activation ${active.operationId ?? '(id unknown)'} is under way`;
  }
  const others = activities.filter(
    (activity) =>
      isActivation(activity) && !failedOrCancelled(activity) && !isCovered(activity, afterOperationId, configuration),
  );
  const earlier = others.find(({ operationId }) => operationId !== undefined);
  if (earlier === undefined) return nameless(pass, configuration, others);
  const what = `the history of the configuration lists activation ${earlier.operationId}`;
  const named = operationIn(configuration, afterOperationId);
  const mayBeNamed = activationResult === undefined && (named === undefined || wasOverBefore(named, earlier));
  if (mayBeNamed) return `${what}; ${howToFollow(earlier.operationId)}`;
  return `${what}, and it is not known whether this activation ended before operation ${afterOperationId} (spec.afterOperationId) began. When this activation has ended, create a new resource; if the service shows no end, ${anew}`;
}

const anew =
  'create a DisasterReset (which deletes all recovery points), then raise spec.enrollment of the DisasterProtection';

/**
 * True for the activation in spec.afterOperationId (its id is `named`), and for any activation that was over before the
 * named one began. If the service shows when the named activation was complete, an activation that began before that
 * time counts as over too, because the service runs one activation at a time.
 */
function isCovered(activity: DrOperation, named: string, configuration: ConfigurationItem): boolean {
  const { operationId, startedAt } = activity;
  if (operationId === named || wasOverBefore(activity, operationIn(configuration, named))) return true;
  const { activationResult } = configuration;
  if (activationResult === undefined) return false;
  const began = Date.parse(startedAt ?? '');
  const completed = Date.parse(activationResult.completedAt ?? '');
  // A history entry without an id may describe the activation in spec.afterOperationId itself. It certainly describes
  // another activation only if it shows a start after the completion of the activation in spec.afterOperationId.
  return operationId === undefined ? !(began > completed) : began < completed;
}

/**
 * Returns a message if the history shows an activation without an id that no RecoveryActivation in this cluster
 * explains; otherwise undefined.
 *
 * A RecoveryActivation explains one history entry with the same cutoff time, unless the service shows its operation
 * with an id. Only two kinds of RecoveryActivation explain an entry: the one whose operation is in
 * spec.afterOperationId, and finished ones that the service accepted before that one.
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
  // Two RecoveryActivations may have the same operation, which has only one entry in the history. So count each
  // operation once.
  const moments = [...new Map(known.map((one) => [one.id, cutoffOf(one)])).values()];
  const isUnexplained = ({ cutoffAt }: DrOperation, index: number) => {
    const before = entries.slice(0, index).filter((entry) => sameMoment(entry.cutoffAt, cutoffAt));
    return before.length >= moments.filter((moment) => sameMoment(moment, cutoffAt)).length;
  };
  if (!entries.some(isUnexplained)) return undefined;
  const isLast = all.every((one) => one.id === spec.afterOperationId || isBehind(one, named));
  const way = isLast
    ? `to activate again, ${anew}`
    : 'to activate again, create a new RecoveryActivation with spec.afterOperationId set to status.externalId of the last RecoveryActivation';
  return `the history of the configuration lists an activation without an id, so a recovered environment may already be live; ${way}`;
}

function cutoffOf({ spec }: Related): string | undefined {
  return (spec as RecoveryActivationSpec | undefined)?.recoveryPoint.cutoffTime;
}

/**
 * Looks for another RecoveryActivation of this configuration that the service accepted, that has not ended, and whose
 * operation the list does not show yet. Returns a message about it; undefined if there is none.
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
  const instead =
    'check the state of the operation in the service. To activate again, delete that RecoveryActivation, then create a new one';
  return `the service accepted ${other.name}, but does not list the operation; ${instead}`;
}

/**
 * True if the service accepted the first RecoveryActivation before the second. The first has then ended, because the
 * service runs only one activation at a time.
 */
function isBehind(one: Related, later: Related | undefined): boolean {
  return Date.parse(String(one.facts['acceptedTime'])) < Date.parse(String(later?.facts['acceptedTime']));
}

/**
 * Stalls the request if the service works on an operation, unless that operation only keeps the standby of a warm
 * configuration.
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
    const message =
      'the service does not show which names the recovered environment must have, so spec.target cannot be checked';
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

/**
 * Returns a reason not to send the activation if the service no longer lists the recovery point, or lists it with
 * another cutoff time or generation than the spec.
 */
function point({ spec }: ActivationPass, { point: live }: SeenProtection): Fence | undefined {
  const { pointId, cutoffTime, configurationGeneration } = spec.recoveryPoint;
  if (live === undefined) return never('Superseded', `the service no longer lists recovery point ${pointId}`);
  if (live.cutoffAt !== cutoffTime) {
    const message = `the cutoff time of recovery point ${pointId} is ${live.cutoffAt}, but the spec has ${cutoffTime}`;
    return never('Superseded', message);
  }
  return live.generation === undefined ? undefined : movedOn(live.generation, configurationGeneration);
}
