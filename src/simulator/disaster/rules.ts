// The rules of validate, activate, discard and reset, and their immediate effects; the rest happens on the clock.
import { found } from '../http/refusal.ts';
import { date, rejected } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import type { activateBody } from './calls/bodies.ts';
import { stepLengthMs } from './durations.ts';
import { protectedPoint, type SelectablePoint, selectablePoints } from './evidence.ts';
import type { Configuration, Happening, Operation, Pinned, TargetNames } from './model.ts';
import { begin, busyOperation, countsFailedSteps, happened, runningActivation, withOperation } from './operations.ts';
import { sameNames } from './protection.ts';
import { caughtUp } from './standby.ts';
import { isUp, obstacleTo } from './surroundings.ts';

/** Consecutive failed steps after which a cold activation may be discarded. */
const DISCARD_AFTER_FAILED_STEPS = 6;

/** The reason to refuse any change of a configuration, if there is one. */
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

/** The reason to refuse a check now, if any. A failed check that is cleaned up does not block another one. */
export function refusedValidation(configuration: Configuration, expectedGeneration: number): string | undefined {
  const refusal = refusedWhileBusy(configuration, expectedGeneration);
  if (refusal !== undefined) return refusal;
  return protectedPoint(configuration) === undefined ? 'there is no recovery point to validate' : undefined;
}

/** The fields of an activation that its rules look at. */
export interface ActivationRequest extends Required<Omit<ReturnType<typeof activateBody>, 'requestId' | 'target'>> {
  readonly target: TargetNames;
  /** An app name that was sent although no app is created: it names nothing, but it is part of what was asked for. */
  readonly unusedAppName?: string;
}

/** The point that an activation may start from; refuses one that may not start. */
export function pointFor(world: World, configuration: Configuration, request: ActivationRequest): SelectablePoint {
  const refusal =
    refusedWhileBusy(configuration, request.expectedGeneration) ??
    refusedRecovery(configuration) ??
    refusedTarget(configuration, request) ??
    obstacleTo(world, configuration, request.target);
  if (refusal !== undefined) throw rejected(world, refusal);
  if (!isUp(world, configuration.source.region) && !request.writerSafetyAcknowledged) {
    throw rejected(world, 'the source cannot be fenced: writerSafetyAcknowledged is needed');
  }
  const points = selectablePoints(configuration);
  const point = found(
    points.find(({ pointId }) => pointId === request.pointId),
    'recovery point not found',
  );
  const isSameInstant = date(world, point.cutoffAt) === date(world, request.cutoffAt);
  if (point.selectedOperationId === request.selectedOperationId && isSameInstant) return point;
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

/** The settled receiver: it permits another check, and a recovery once the standby has caught up. */
export function warmHints(configuration: Configuration) {
  const { receiverOperationId, generation } = configuration;
  const isSettled = refusedValidation(configuration, generation) === undefined;
  const mayRecover = isSettled && refusedRecovery(configuration) === undefined;
  return {
    warmValidationOperationId: isSettled ? receiverOperationId : undefined,
    warmRecoveryOperationId: mayRecover ? receiverOperationId : undefined,
  };
}

/** Journals an activation: point and target are pinned, the ids of the recovered environment are set aside. */
export function acceptActivation(
  world: World,
  configuration: Configuration,
  { pointId, cutoffAt }: SelectablePoint,
  target: TargetNames,
): Configuration {
  const operationId = world.id('op');
  const { standby, source } = configuration;
  const pinned: Pinned = {
    pointId,
    cutoffAt,
    target,
    targetAppEnvId: standby?.targetAppEnvId ?? world.id('env'),
    targetAppId: standby?.targetAppId ?? (target.createNewApp ? world.id('app') : source.appId),
  };
  const begun = begin(
    { ...configuration, rollover: undefined },
    { operationId, kind: 'activation', now: world.now, pinned },
  );
  const accepted = { kind: 'activation.accepted', operationId, detail: { pointId, cutoffAt } };
  return happened({ ...begun, activeOperationId: operationId }, accepted);
}

/** The reason why an operation may not be discarded now, if any. */
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
 * The worker loses its lease at once, and with it ends what the control surface said of its steps; what the activation built is cleaned
 * up on the clock.
 */
export function acceptDiscard(configuration: Configuration, operation: Operation, now: number): Configuration {
  const stepDueAt = now + stepLengthMs('activation', 'cleaning');
  const cleaning: Operation = { ...operation, phase: 'cleaning', failedSteps: 0, discardedAt: now, stepDueAt };
  const told = { ...configuration.told, failSteps: 0 };
  const accepted = { kind: 'discard.accepted', operationId: operation.operationId };
  return happened({ ...withOperation(configuration, cleaning), told }, accepted);
}

/** The reason to refuse a reset, if any: an activation in progress, unless it keeps failing before promotion. */
export function refusedReset(configuration: Configuration): string | undefined {
  const activation = runningActivation(configuration);
  if (activation === undefined) return undefined;
  const failing = configuration.settings.mode === 'warm' ? activation.failedSteps > 0 : keepsFailing(activation);
  return failing ? undefined : 'an activation is in progress: it must be discarded and cleaned up first';
}

/** Stops all protection work for good, before anything is deleted. */
export function fence(configuration: Configuration, now: number): Configuration {
  if (configuration.fencedAt !== undefined) return configuration;
  return happened({ ...configuration, fencedAt: now }, { kind: 'configuration.fenced' });
}

/** The recovery destinations a configuration still owns: a standby, or what an unfinished activation builds. */
export function ownedDestinations(configuration: Configuration): number {
  return configuration.standby !== undefined || runningActivation(configuration) !== undefined ? 1 : 0;
}

/** The end of a configuration: a disk stays for the destination that it owned. */
export function wiped(configuration: Configuration): Happening {
  return { kind: 'configuration.wiped', ...(ownedDestinations(configuration) > 0 && { retainsDisk: true }) };
}
