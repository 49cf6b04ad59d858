// Checks the rules for validate, activate, discard and reset, and makes the changes that take effect at once. Timers make the later
// changes.
import { found } from '../../http/refusal.ts';
import { date, rejected, rejectIf } from '../shape.ts';
import type { World } from '../../store/store.ts';
import type { activateBody } from './bodies.ts';
import { stepLengthMs } from './durations.ts';
import { caughtUp, protectedPoint, selectablePoints } from './copies.ts';
import type { Configuration, Happening, Operation, Pinned, RecoveryPoint, TargetNames } from './model.ts';
import { begin, busyOperation, countsFailedSteps, happened, runningActivation, withOperation } from './operations.ts';
import { sameNames } from './protection.ts';
import { isUp } from './source.ts';
import { obstacleTo } from './surroundings.ts';

/** Number of consecutive failed steps after which a cold activation can be discarded. */
const DISCARD_AFTER_FAILED_STEPS = 6;

/**
 * Returns the reason why a configuration rejects a request: `expectedGeneration` in the request is not the current
 * generation, or a reset of the configuration is running. Returns undefined if neither is the case.
 */
export function refusedAtAll(configuration: Configuration, expectedGeneration: number): string | undefined {
  if (expectedGeneration !== configuration.generation) {
    return 'expectedGeneration is not the current generation of this configuration';
  }
  return configuration.fencedAt === undefined ? undefined : 'this configuration is being reset';
}

function refusedWhileBusy(configuration: Configuration, expectedGeneration: number): string | undefined {
  const refusal = refusedAtAll(configuration, expectedGeneration);
  if (refusal !== undefined) return refusal;
  if (!configuration.enrolled) return 'the initial enrollment of this configuration is not complete';
  const busy = busyOperation(configuration);
  return busy === undefined ? undefined : `another operation of this configuration is in progress: ${busy.kind}`;
}

/** Returns the reason why a validation cannot begin now; undefined if it can. */
export function refusedValidation(configuration: Configuration, expectedGeneration: number): string | undefined {
  const refusal = refusedWhileBusy(configuration, expectedGeneration);
  if (refusal !== undefined) return refusal;
  return protectedPoint(configuration) === undefined
    ? 'the configuration has no recovery point to validate'
    : undefined;
}

/**
 * All fields of an activation request except the requestId, with complete target names. The rules for activations are checked on this data.
 */
export interface ActivationRequest extends Omit<ReturnType<typeof activateBody>, 'requestId' | 'target'> {
  readonly target: TargetNames;
  /**
   * The app name in a request that creates no new app. The service gives this name to no app, but a repeated request
   * must contain it again. For a warm configuration, a request with such a name is rejected.
   */
  readonly unusedAppName?: string;
}

/** Finds the recovery point of an activation request; fails if the request breaks a rule. */
export function pointFor(world: World, configuration: Configuration, request: ActivationRequest): RecoveryPoint {
  rejectIf(world, refusedWhileBusy(configuration, request.expectedGeneration) ?? refusedRecovery(configuration));
  rejectIf(world, refusedTarget(configuration, request) ?? obstacleTo(world, configuration, request.target));
  if (!isUp(world, configuration.source.region) && request.writerSafetyAcknowledged !== true)
    throw rejected(world, 'the source region is down, so writerSafetyAcknowledged must be true');
  const points = selectablePoints(configuration);
  const point = found(
    points.find(({ pointId }) => pointId === request.pointId),
    'recovery point not found',
  );
  const isSameInstant = date(world, point.cutoffAt) === date(world, request.cutoffAt);
  if (point.operationId === request.selectedOperationId && isSameInstant) return point;
  throw rejected(world, 'selectedOperationId and cutoffAt are not those of the recovery point with this pointId');
}

function refusedRecovery({ told, lastCheck, settings, standby }: Configuration): string | undefined {
  if (told.engineUnavailableReason !== undefined) return told.engineUnavailableReason;
  if (lastCheck?.result === 'fail') return 'the latest validation of this configuration failed';
  if (settings.mode === 'cold') return undefined;
  if (standby === undefined) return 'the warm destination is already live';
  return caughtUp(standby) ? undefined : 'the warm standby has not caught up';
}

function refusedTarget({ settings, target: names }: Configuration, request: ActivationRequest): string | undefined {
  if (settings.mode === 'cold' || names === undefined) return undefined;
  const isSame = request.unusedAppName === undefined && sameNames(names, request.target);
  return isSame ? undefined : 'target differs from warmDestination';
}

/**
 * Returns the fields `warmValidationOperationId` and `warmRecoveryOperationId` of a warm configuration. They tell
 * clients that a validation or an activation can be requested. Each is undefined while the service would reject such a
 * request.
 */
export function warmHints(configuration: Configuration) {
  const { receiverOperationId, generation } = configuration;
  const isSettled = refusedValidation(configuration, generation) === undefined;
  const mayRecover = isSettled && refusedRecovery(configuration) === undefined;
  return {
    warmValidationOperationId: isSettled ? receiverOperationId : undefined,
    warmRecoveryOperationId: mayRecover ? receiverOperationId : undefined,
  };
}

/** Begins an activation, and stores with it the recovery point, the target names, and the ids for the recovered environment and its app. */
export function acceptActivation(
  world: World,
  configuration: Configuration,
  { pointId, cutoffAt }: RecoveryPoint,
  target: TargetNames,
): Configuration {
  const { standby, source } = configuration;
  const pinned: Pinned = {
    pointId,
    cutoffAt,
    target,
    targetAppEnvId: standby?.targetAppEnvId ?? world.id('env'),
    targetAppId: standby?.targetAppId ?? (target.createNewApp ? world.id('app') : source.appId),
  };
  return begin(world, { ...configuration, rollover: undefined }, 'activation', 'activation.accepted', pinned);
}

/** Returns the reason why an operation cannot be discarded now; undefined if it can. */
export function refusedDiscard(world: World, { settings }: Configuration, operation: Operation): string | undefined {
  const { kind, endedAt, phase } = operation;
  if (kind !== 'activation') return 'this operation is not an activation';
  if (endedAt !== undefined) return 'this activation is not in progress';
  if (phase === 'cleaning') return 'this activation is already being discarded';
  if (phase === 'handingOver') return 'this activation is handing over live ownership';
  if (settings.mode === 'warm') return 'a warm activation cannot be discarded: use a reset';
  if (phase === 'promoted') return undefined;
  if (world.readings['discard.window'] === 'table' && keepsFailing(operation)) return undefined;
  return 'this activation cannot be discarded yet: its promotion is not complete';
}

function keepsFailing({ phase, failedSteps }: Operation): boolean {
  return countsFailedSteps(phase) && failedSteps >= DISCARD_AFTER_FAILED_STEPS;
}

/**
 * Begins to discard an activation; the next step of the activation is its cleanup. If a control request (/_sim) has
 * made steps fail, they stop failing, so that the cleanup can succeed.
 */
export function acceptDiscard(configuration: Configuration, operation: Operation, now: number): Configuration {
  const stepDueAt = now + stepLengthMs('activation', 'cleaning');
  const cleaning: Operation = { ...operation, phase: 'cleaning', failedSteps: 0, discardedAt: now, stepDueAt };
  const told = { ...configuration.told, failSteps: 0 };
  const accepted = { kind: 'discard.accepted', operationId: operation.operationId };
  return happened({ ...withOperation(configuration, cleaning), told }, accepted);
}

/**
 * Returns the reason why a reset is rejected; undefined if it is allowed. A running activation prevents a reset unless
 * its last steps have failed: in a cold configuration at least six in a row, in the phase `promoting` or `starting`; in a
 * warm configuration at least one, in any phase.
 */
export function refusedReset(configuration: Configuration): string | undefined {
  const activation = runningActivation(configuration);
  if (activation === undefined) return undefined;
  const failing = configuration.settings.mode === 'warm' ? activation.failedSteps > 0 : keepsFailing(activation);
  return failing ? undefined : 'an activation is in progress: discard the activation and wait for its cleanup first';
}

/**
 * Stops all work of a configuration for good. A reset does this if it cannot delete the configuration yet, because the
 * provider still has an earlier cleanup to finish.
 */
export function fence(configuration: Configuration, now: number): Configuration {
  if (configuration.fencedAt !== undefined) return configuration;
  return happened({ ...configuration, fencedAt: now }, { kind: 'configuration.fenced' });
}

/** Counts the recovered environments that a configuration still owns: its standby, or the environment that a running activation creates. */
export function ownedDestinations(configuration: Configuration): number {
  return configuration.standby !== undefined || runningActivation(configuration) !== undefined ? 1 : 0;
}

/**
 * Returns the event that records the deletion of a configuration. If the configuration has a standby or a running
 * activation, the event keeps the disk of the standby or of the recovered environment for some time.
 */
export function wiped(configuration: Configuration): Happening {
  return { kind: 'configuration.wiped', ...(ownedDestinations(configuration) > 0 && { retainsDisk: true }) };
}
