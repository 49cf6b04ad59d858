// Checks the rules of validate, activate, discard and reset, and makes the changes that these requests make at once. Timers do the rest.
import { found } from '../http/refusal.ts';
import { date, rejected, rejectIf } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import type { activateBody } from './calls/bodies.ts';
import { stepLengthMs } from './durations.ts';
import { caughtUp, protectedPoint, selectablePoints } from './copies.ts';
import type { Configuration, Happening, Operation, Pinned, RecoveryPoint, TargetNames } from './model.ts';
import { begin, busyOperation, countsFailedSteps, happened, runningActivation, withOperation } from './operations.ts';
import { sameNames } from './protection.ts';
import { isUp } from './source.ts';
import { obstacleTo } from './surroundings.ts';

/** The number of steps in a row that must fail before a cold activation may be discarded. */
const DISCARD_AFTER_FAILED_STEPS = 6;

/** Says why a configuration refuses every change; returns undefined when it does not. */
export function refusedAtAll(configuration: Configuration, expectedGeneration: number): string | undefined {
  if (expectedGeneration !== configuration.generation) {
    return 'expectedGeneration is not the current generation of this configuration';
  }
  return configuration.fencedAt === undefined ? undefined : 'this configuration is being reset';
}

function refusedWhileBusy(configuration: Configuration, expectedGeneration: number): string | undefined {
  const refusal = refusedAtAll(configuration, expectedGeneration);
  if (refusal !== undefined) return refusal;
  if (!configuration.enrolled) return 'the initial enrollment is not complete';
  const busy = busyOperation(configuration);
  return busy === undefined ? undefined : `another operation is in progress: ${busy.kind}`;
}

/**
 * Says why a check is refused now; returns undefined when it is not. A failed check that is being cleaned up does not block the next check.
 */
export function refusedValidation(configuration: Configuration, expectedGeneration: number): string | undefined {
  const refusal = refusedWhileBusy(configuration, expectedGeneration);
  if (refusal !== undefined) return refusal;
  return protectedPoint(configuration) === undefined ? 'there is no recovery point to validate' : undefined;
}

/** The fields of an activation request that the rules depend on. */
export interface ActivationRequest extends Omit<ReturnType<typeof activateBody>, 'requestId' | 'target'> {
  readonly target: TargetNames;
  /** An app name that was sent although no app is created. The name has no effect, but a repeated request must send it again. */
  readonly unusedAppName?: string;
}

/** Finds the recovery point that an activation names; refuses an activation that breaks a rule. */
export function pointFor(world: World, configuration: Configuration, request: ActivationRequest): RecoveryPoint {
  rejectIf(world, refusedWhileBusy(configuration, request.expectedGeneration) ?? refusedRecovery(configuration));
  rejectIf(world, refusedTarget(configuration, request) ?? obstacleTo(world, configuration, request.target));
  if (!isUp(world, configuration.source.region) && request.writerSafetyAcknowledged !== true) {
    throw rejected(world, 'the source cannot be fenced: writerSafetyAcknowledged is needed');
  }
  const points = selectablePoints(configuration);
  const point = found(
    points.find(({ pointId }) => pointId === request.pointId),
    'recovery point not found',
  );
  const isSameInstant = date(world, point.cutoffAt) === date(world, request.cutoffAt);
  if (point.operationId === request.selectedOperationId && isSameInstant) return point;
  throw rejected(world, 'selectedOperationId and cutoffAt do not belong to this point');
}

function refusedRecovery({ told, lastCheck, settings, standby }: Configuration): string | undefined {
  if (told.engineUnavailableReason !== undefined) return told.engineUnavailableReason;
  if (lastCheck?.result === 'fail') return 'the latest validation failed';
  if (settings.mode === 'cold') return undefined;
  if (standby === undefined) return 'the warm destination is live already';
  return caughtUp(standby) ? undefined : 'the warm standby has not caught up';
}

function refusedTarget({ settings, target: names }: Configuration, request: ActivationRequest): string | undefined {
  if (settings.mode === 'cold' || names === undefined) return undefined;
  const isSame = request.unusedAppName === undefined && sameNames(names, request.target);
  return isSame ? undefined : 'target differs from warmDestination';
}

/** Returns the operation ids that a client names to check and to recover a warm configuration; each is undefined while that is refused. */
export function warmHints(configuration: Configuration) {
  const { receiverOperationId, generation } = configuration;
  const isSettled = refusedValidation(configuration, generation) === undefined;
  const mayRecover = isSettled && refusedRecovery(configuration) === undefined;
  return {
    warmValidationOperationId: isSettled ? receiverOperationId : undefined,
    warmRecoveryOperationId: mayRecover ? receiverOperationId : undefined,
  };
}

/** Begins an activation; fixes its recovery point, its target and the ids of the recovered environment. */
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

/** Says why an operation may not be discarded now; returns undefined when it may. */
export function refusedDiscard(world: World, { settings }: Configuration, operation: Operation): string | undefined {
  const { kind, endedAt, phase } = operation;
  if (kind !== 'activation') return 'this operation is no activation';
  if (endedAt !== undefined) return 'this activation is not in progress';
  if (phase === 'cleaning') return 'this activation is being discarded already';
  if (phase === 'handingOver') return 'this activation is handing over live ownership';
  if (settings.mode === 'warm') return 'a warm activation is ended by a reset';
  if (phase === 'promoted') return undefined;
  if (world.readings['discard.window'] === 'table' && keepsFailing(operation)) return undefined;
  return 'this activation is not yet past promotion';
}

function keepsFailing({ phase, failedSteps }: Operation): boolean {
  return countsFailedSteps(phase) && failedSteps >= DISCARD_AFTER_FAILED_STEPS;
}

/**
 * Begins to discard an activation. Its work stops at once, and no more steps that the control surface demanded to fail do so. A timer later
 * cleans up what the activation has built.
 */
export function acceptDiscard(configuration: Configuration, operation: Operation, now: number): Configuration {
  const stepDueAt = now + stepLengthMs('activation', 'cleaning');
  const cleaning: Operation = { ...operation, phase: 'cleaning', failedSteps: 0, discardedAt: now, stepDueAt };
  const told = { ...configuration.told, failSteps: 0 };
  const accepted = { kind: 'discard.accepted', operationId: operation.operationId };
  return happened({ ...withOperation(configuration, cleaning), told }, accepted);
}

/** Says why a reset is refused: an activation is running and has not failed repeatedly. Returns undefined when the reset is allowed. */
export function refusedReset(configuration: Configuration): string | undefined {
  const activation = runningActivation(configuration);
  if (activation === undefined) return undefined;
  const failing = configuration.settings.mode === 'warm' ? activation.failedSteps > 0 : keepsFailing(activation);
  return failing ? undefined : 'an activation is in progress: it must be discarded and cleaned up first';
}

/** Stops all work of a configuration for good, before a reset deletes anything. */
export function fence(configuration: Configuration, now: number): Configuration {
  if (configuration.fencedAt !== undefined) return configuration;
  return happened({ ...configuration, fencedAt: now }, { kind: 'configuration.fenced' });
}

/** Counts the recovered environments that a configuration still owns: its standby, or the one that a running activation builds. */
export function ownedDestinations(configuration: Configuration): number {
  return configuration.standby !== undefined || runningActivation(configuration) !== undefined ? 1 : 0;
}

/** Makes the last event of a configuration; a disk is kept if the configuration owned a recovered environment. */
export function wiped(configuration: Configuration): Happening {
  return { kind: 'configuration.wiped', ...(ownedDestinations(configuration) > 0 && { retainsDisk: true }) };
}
