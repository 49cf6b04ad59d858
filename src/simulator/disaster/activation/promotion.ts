// The live handoff: the one moment at which a recovered environment comes into being.
import type { ActivationResult, ConfigurationRecord, Operation, RetainedSource } from '../model.ts';
import type { OperationOutcome } from '../operations.ts';
import { end, unchanged } from '../operations.ts';

/** The recovered environment becomes live and is named; the activation is over and cannot be discarded any more. */
export function promote(configuration: ConfigurationRecord, operation: Operation, now: number): OperationOutcome {
  const { pinned } = operation;
  if (pinned === undefined) return unchanged(configuration);
  const engine = nativeEngine(configuration.source);
  const activationResult: ActivationResult = {
    operationId: operation.operationId,
    targetAppEnvId: pinned.targetAppEnvId,
    targetAppId: pinned.targetAppId,
    pointId: pinned.pointId,
    cutoffAt: pinned.cutoffAt,
    completedAt: now,
    ...(engine === undefined ? {} : { engine }),
  };
  const ended = end(withoutStandby({ ...configuration, activationResult }, now), operation, 'succeeded', now);
  const promoted = {
    kind: 'activation.promoted',
    operationId: operation.operationId,
    detail: { targetAppEnvId: pinned.targetAppEnvId, targetAppId: pinned.targetAppId },
    recovers: pinned,
  };
  return { ...ended, happenings: [promoted, ...ended.happenings] };
}

/** The engine of a database that the service hands over itself; undefined for everything the user deploys. */
export function nativeEngine({ dockerPreset }: RetainedSource): 'postgresql' | 'redis' | undefined {
  switch (dockerPreset) {
    case 'POSTGRESQL':
      return 'postgresql';
    case 'REDIS':
      return 'redis';
    default:
      return undefined;
  }
}

/** The configuration without the standby that went live: its schedules end, too. */
function withoutStandby(configuration: ConfigurationRecord, now: number): ConfigurationRecord {
  if (configuration.settings.mode === 'cold') return configuration;
  const {
    standby: _live,
    receiverOperationId,
    nextSnapshotAt: _snapshots,
    nextValidationAt: _checks,
    ...rest
  } = configuration;
  const operations = rest.operations.map((operation) =>
    operation.operationId === receiverOperationId
      ? ({ ...operation, phase: 'succeeded', outcome: 'succeeded', endedAt: now } as const)
      : operation,
  );
  return { ...rest, operations };
}
