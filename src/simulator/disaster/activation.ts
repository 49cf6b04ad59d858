// The rules of validate, activate, discard and reset: each says yes, or why not, and changes nothing.
import { DISCARD_AFTER_FAILED_STEPS } from './durations.ts';
import { type Configuration, type Operation, type Refused, ruledOut, type TargetNames } from './model.ts';
import { busyOperation, countsFailedSteps, operationOf, runningActivation } from './operations.ts';
import { protectedPoint, type SelectablePoint, selectablePoints } from './evidence.ts';
import type { Readings } from '../readings.ts';
import { sameNames } from './settings.ts';
import { caughtUp } from './standby.ts';

function refusedAtAll(configuration: Configuration, expectedGeneration: number): Refused | undefined {
  if (expectedGeneration !== configuration.generation) {
    return ruledOut('expectedGeneration is not the current generation of this configuration');
  }
  if (configuration.fencedAt !== undefined) return ruledOut('this configuration is being reset');
  return undefined;
}

function refusedWhileBusy(configuration: Configuration): Refused | undefined {
  if (!configuration.enrolled) return ruledOut('the initial enrollment is not complete');
  const busy = busyOperation(configuration);
  if (busy !== undefined) return ruledOut(`another operation is in progress: ${busy.kind}`);
  return undefined;
}

/** The reason to refuse a check now, if any. A failed check that is cleaned up does not block another one. */
export function refusedValidation(configuration: Configuration, expectedGeneration: number): Refused | undefined {
  const refusal = refusedAtAll(configuration, expectedGeneration) ?? refusedWhileBusy(configuration);
  if (refusal !== undefined) return refusal;
  return protectedPoint(configuration) === undefined ? ruledOut('there is no recovery point to validate') : undefined;
}

/** The fields of an activation that its rules look at. */
export interface ActivationRequest {
  readonly expectedGeneration: number;
  readonly selectedOperationId: string;
  readonly pointId: string;
  readonly cutoffAt: number;
  readonly target: TargetNames;
  /** An app name that was sent although no app is created: it names nothing, but it is part of what was asked for. */
  readonly unusedAppName?: string;
  readonly writerSafetyAcknowledged: boolean;
}

/** The circumstances of an activation outside of its configuration. */
export interface ActivationFacts {
  readonly sourceRegionUp: boolean;
  /** The reason why no recovered environment can have these names, if any. */
  readonly obstacle: string | undefined;
  /** Tells if two instants look the same to a client. */
  readonly sameInstant: (one: number, other: number) => boolean;
}

/** The point an activation may start from, or why it may not start. */
export function admitActivation(
  configuration: Configuration,
  request: ActivationRequest,
  facts: ActivationFacts,
): SelectablePoint | Refused {
  const refusal =
    refusedAtAll(configuration, request.expectedGeneration) ??
    refusedWhileBusy(configuration) ??
    refusedRecovery(configuration) ??
    refusedTarget(configuration, request, facts);
  if (refusal !== undefined) return refusal;
  if (!facts.sourceRegionUp && !request.writerSafetyAcknowledged) {
    return ruledOut('the source cannot be fenced: writerSafetyAcknowledged is needed');
  }
  const point = selectablePoints(configuration).find(({ pointId }) => pointId === request.pointId);
  if (point === undefined) return { refused: 'unknown', message: 'recovery point not found' };
  const pinned =
    point.selectedOperationId === request.selectedOperationId && facts.sameInstant(point.cutoffAt, request.cutoffAt);
  return pinned ? point : ruledOut('selectedOperationId and cutoffAt do not belong to this point');
}

function refusedRecovery(configuration: Configuration): Refused | undefined {
  const { told, lastCheck, settings, standby } = configuration;
  if (told.engineUnavailableReason !== undefined) return ruledOut(told.engineUnavailableReason);
  if (lastCheck?.result === 'fail') return ruledOut('the latest validation failed');
  if (settings.mode === 'cold') return undefined;
  if (standby === undefined) return ruledOut('the warm destination is live already');
  return caughtUp(standby) ? undefined : ruledOut('the warm standby has not caught up');
}

function refusedTarget(
  configuration: Configuration,
  { target, unusedAppName }: ActivationRequest,
  facts: ActivationFacts,
): Refused | undefined {
  const { settings, target: warmDestination } = configuration;
  const differs = warmDestination !== undefined && (unusedAppName !== undefined || !sameNames(warmDestination, target));
  if (settings.mode === 'warm' && differs) return ruledOut('target differs from warmDestination');
  return facts.obstacle === undefined ? undefined : ruledOut(facts.obstacle);
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

/** The activation that may be discarded now, or why none may. */
export function admitDiscard(
  configuration: Configuration,
  request: { readonly operationId: string; readonly expectedGeneration: number },
  window: Readings['discard.window'],
): Operation | Refused {
  const operation = operationOf(configuration, request.operationId);
  if (operation === undefined) return { refused: 'unknown', message: 'operation not found' };
  const refusal = refusedAtAll(configuration, request.expectedGeneration);
  if (refusal !== undefined) return refusal;
  if (operation.kind !== 'activation') return ruledOut('this operation is no activation');
  if (operation.endedAt !== undefined) return ruledOut('this activation is not in progress');
  if (operation.phase === 'cleaning') return ruledOut('this activation is being discarded already');
  if (operation.phase === 'handingOver') return ruledOut('this activation is handing over live ownership');
  if (configuration.settings.mode === 'warm') return ruledOut('a warm activation is ended by a reset');
  if (operation.phase === 'promoted') return operation;
  if (window === 'table' && keepsFailing(operation)) return operation;
  return ruledOut('this activation is not yet past promotion');
}

function keepsFailing({ phase, failedSteps }: Operation): boolean {
  return countsFailedSteps(phase) && failedSteps >= DISCARD_AFTER_FAILED_STEPS;
}

/** The reason to refuse a reset, if any: an activation in progress, unless it keeps failing before promotion. */
export function refusedReset(configuration: Configuration): Refused | undefined {
  const activation = runningActivation(configuration);
  if (activation === undefined) return undefined;
  const failing = configuration.settings.mode === 'warm' ? activation.failedSteps > 0 : keepsFailing(activation);
  return failing ? undefined : ruledOut('an activation is in progress: it must be discarded and cleaned up first');
}
