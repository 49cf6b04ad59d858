// The live handoff: the one moment at which a recovered environment comes into being.
import type { ActivationResult, Configuration, Operation, RetainedSource } from './model.ts';
import { end, type OperationOutcome, unchanged } from './operations.ts';

/** The recovered environment becomes live and is named; the activation is over and cannot be discarded any more. */
export function promote(configuration: Configuration, operation: Operation, now: number): OperationOutcome {
  const { pinned } = operation;
  if (pinned === undefined) return unchanged(configuration);
  const { operationId } = operation;
  const { targetAppEnvId, targetAppId, pointId, cutoffAt } = pinned;
  const engine = nativeEngine(configuration.source);
  const activationResult: ActivationResult = {
    operationId,
    targetAppEnvId,
    targetAppId,
    pointId,
    cutoffAt,
    completedAt: now,
    ...(engine === undefined ? {} : { engine }),
  };
  const ended = end(withoutStandby({ ...configuration, activationResult }, now), operation, 'succeeded', now);
  const promoted = {
    kind: 'activation.promoted',
    operationId,
    detail: { targetAppEnvId, targetAppId },
    recovers: pinned,
  };
  return { ...ended, happenings: [promoted, ...ended.happenings] };
}

/** The engine of a database that the service hands over itself; undefined for everything the user deploys. */
export function nativeEngine({ dockerPreset }: RetainedSource): 'postgresql' | 'redis' | undefined {
  if (dockerPreset === 'POSTGRESQL') return 'postgresql';
  return dockerPreset === 'REDIS' ? 'redis' : undefined;
}

/** The configuration without the standby that went live: its schedules end, too. */
function withoutStandby(configuration: Configuration, now: number): Configuration {
  if (configuration.settings.mode === 'cold') return configuration;
  const operations = configuration.operations.map((operation) =>
    operation.operationId === configuration.receiverOperationId
      ? ({ ...operation, phase: 'succeeded', outcome: 'succeeded', endedAt: now } as const)
      : operation,
  );
  const ended = { standby: undefined, receiverOperationId: undefined, nextSnapshotAt: undefined };
  return { ...configuration, ...ended, nextValidationAt: undefined, operations };
}
