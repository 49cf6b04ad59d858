// The immediate effects of an accepted activation, discard or reset; the rest happens on the clock.
import { stepLengthMs } from './durations.ts';
import type { Configuration, Operation, Pinned, TargetNames } from './model.ts';
import { begin, happened, type Happening, type Moment, type OperationOutcome } from './operations.ts';
import { runningActivation, unchanged, withOperation } from './operations.ts';
import type { SelectablePoint } from './evidence.ts';

/** Journals an activation: point and target are pinned, the ids of the recovered environment are set aside. */
export function acceptActivation(
  configuration: Configuration,
  point: SelectablePoint,
  target: TargetNames,
  { now, newId }: Moment,
): OperationOutcome {
  const operationId = newId('op');
  const { standby, source } = configuration;
  const { pointId, cutoffAt } = point;
  const pinned: Pinned = {
    pointId,
    cutoffAt,
    target,
    targetAppEnvId: standby?.targetAppEnvId ?? newId('env'),
    targetAppId: standby?.targetAppId ?? (target.createNewApp ? newId('app') : source.appId),
  };
  const begun = begin({ ...configuration, rollover: undefined }, { operationId, kind: 'activation', now, pinned });
  return happened(
    { ...begun, activeOperationId: operationId },
    { kind: 'activation.accepted', operationId, detail: { pointId, cutoffAt } },
  );
}

/**
 * The worker loses its lease at once, and with it ends what the control surface said of its steps; what the activation built is cleaned
 * up on the clock.
 */
export function acceptDiscard(configuration: Configuration, operation: Operation, now: number): OperationOutcome {
  const cleaning: Operation = {
    ...operation,
    phase: 'cleaning',
    failedSteps: 0,
    discardedAt: now,
    stepDueAt: now + stepLengthMs('activation', 'cleaning'),
  };
  return happened(
    { ...withOperation(configuration, cleaning), told: { ...configuration.told, failSteps: 0 } },
    { kind: 'discard.accepted', operationId: operation.operationId },
  );
}

/** Stops all protection work for good, before anything is deleted. */
export function fence(configuration: Configuration, now: number): OperationOutcome {
  if (configuration.fencedAt !== undefined) return unchanged(configuration);
  return happened({ ...configuration, fencedAt: now }, { kind: 'configuration.fenced' });
}

/** The recovery destinations a configuration still owns: a standby, or what an unfinished activation builds. */
export function ownedDestinations(configuration: Configuration): number {
  return configuration.standby !== undefined || runningActivation(configuration) !== undefined ? 1 : 0;
}

/** The disks that stay after a configuration is wiped: one for each destination it owned. */
export function wiped(configuration: Configuration): readonly Happening[] {
  const disk = ownedDestinations(configuration) > 0 ? ({ retainsDisk: true } as const) : {};
  return [{ kind: 'configuration.wiped', ...disk }];
}
