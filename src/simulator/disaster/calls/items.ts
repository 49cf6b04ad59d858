// Makes the JSON objects of answers about disaster readiness: items of lists, receipts and points. Nothing here is stored.
// Optional fields without a value are set to undefined; one place decides for all areas how to show them.
import type { Environment } from '../../environments/environment.ts';
import { date } from '../../public/shape.ts';
import type { World } from '../../store/store.ts';
import { warmHints } from '../rules.ts';
import { hash, keepsContract, type SelectablePoint } from '../evidence.ts';
import type { Phase } from '../durations.ts';
import type { CleanupRecord, Configuration, Operation, ReceiptRecord, RetainedDisk } from '../model.ts';
import { countsFailedSteps, operationOf } from '../operations.ts';
import { defaultSettings } from '../protection.ts';
import { readinessAt } from '../readiness.ts';
import { caughtUp } from '../standby.ts';
import { eligibleDestinations, sourceOf, targetOf, unsupportedReasons } from '../surroundings.ts';

/** A JSON object in an answer. */
export type Item = Readonly<Record<string, unknown>>;

/** Shows an environment that may be protected, with its protection and the target environment, if they exist. */
export function sourceItem(
  environment: Environment,
  configuration: Configuration | undefined,
  disks: readonly RetainedDisk[],
  world: World,
): Item {
  const reasons = unsupportedReasons(world, environment);
  const destinations = eligibleDestinations(world, environment);
  const { appId, appName, environmentName, region } = sourceOf(world, environment);
  const eligible = reasons.length === 0;
  const volume = (_: unknown, n: number) => ({ name: `volume-${n + 1}`, eligible, reason: reasons[0] });
  return {
    sourceAppEnvId: environment.appEnvId,
    appId,
    appName,
    environmentName,
    region,
    mode: configuration?.settings.mode,
    eligible,
    volumes: Array.from({ length: environment.volumes }, volume),
    unsupportedReasons: reasons,
    eligibleDestinations: destinations,
    suggestedSettings: defaultSettings(destinations),
    configurationId: configuration?.configurationId,
    target: configuration && targetOf(world, configuration),
    pendingCleanup: pendingCleanup(configuration, disks, world),
  };
}

/** Shows a protection with its current readiness. */
export function configurationItem(configuration: Configuration, disks: readonly RetainedDisk[], world: World): Item {
  const { settings, target, told, nextSnapshotAt, nextValidationAt } = configuration;
  return {
    configurationId: configuration.configurationId,
    sourceAppEnvId: configuration.sourceAppEnvId,
    generation: configuration.generation,
    settings: settingsOf(configuration),
    readiness: readinessOf(configuration, world),
    ...activeOf(configuration, world),
    activities: configuration.operations.map((operation) => activity(operation, world)),
    standby: standbyOf(configuration),
    warmDestination: settings.mode === 'warm' ? target : undefined,
    plannedDestination: settings.mode === 'cold' ? target : undefined,
    ...warmHints(configuration),
    activationUnavailableReason: told.engineUnavailableReason,
    activationResult: resultOf(configuration, world),
    canRequestDiscard: discardAccepted(configuration),
    pendingCleanup: pendingCleanup(configuration, disks, world),
    validationScheduleEstablished: nextValidationAt !== undefined,
    nextSnapshotAt: date(world, nextSnapshotAt),
    nextValidationAt: date(world, nextValidationAt),
  };
}

function settingsOf({ settings, target }: Configuration): Item {
  const { storage, ...plain } = settings;
  const storageCredentialId = storage.kind === 'credential' ? storage.credentialId : null;
  return { ...plain, ...(storage.kind !== 'inherited' && { storageCredentialId }), target };
}

function readinessOf(configuration: Configuration, world: World): Item {
  const { state, reason, warnings, cutoffAt, recoveryPointAgeMs } = readinessAt(configuration, world.now);
  const word = state === 'ready' ? world.readings['dr.readinessWord'] : state;
  return { state: word, reason, warnings, cutoffAt: date(world, cutoffAt), recoveryPointAgeMs };
}

function activeOf(configuration: Configuration, world: World): Item {
  const active = operationOf(configuration, configuration.activeOperationId);
  if (active === undefined) return { activeOperationId: undefined, activeOperation: undefined };
  const { operationId, kind, phase, failedSteps, pinned } = active;
  const cleanup = configuration.told.validationCleanup ?? active.validationCleanup;
  const activeOperation = {
    operationId,
    kind,
    phase: phaseWord(phase, world),
    failedSteps: countsFailedSteps(phase) ? failedSteps : 0,
    cutoffAt: date(world, pinned?.cutoffAt),
    validationCleanup: cleanup && {
      observedAt: date(world, cleanup.observedAt),
      retentionUntil: date(world, cleanup.retentionUntil),
      retentionPending: cleanup.retentionPending,
    },
  };
  return { activeOperationId: operationId, activeOperation };
}

function activity(operation: Operation, world: World): Item {
  const { operationId, kind, phase, outcome, startedAt, endedAt, pinned } = operation;
  return {
    operationId,
    kind,
    phase: phaseWord(phase, world),
    outcome,
    startedAt: date(world, startedAt),
    endedAt: date(world, endedAt),
    cutoffAt: date(world, pinned?.cutoffAt),
  };
}

function standbyOf({ standby }: Configuration): Item | undefined {
  if (standby === undefined) return undefined;
  const { shape, reason, lastApplySeconds, lastApplyBytes } = standby;
  return { shape, reason, caughtUp: caughtUp(standby), lastApplySeconds, lastApplyBytes };
}

function resultOf({ activationResult }: Configuration, world: World): Item | undefined {
  if (activationResult === undefined) return undefined;
  const { cutoffAt, completedAt, ...result } = activationResult;
  return { ...result, cutoffAt: date(world, cutoffAt), completedAt: date(world, completedAt) };
}

function discardAccepted(configuration: Configuration): true | undefined {
  const active = operationOf(configuration, configuration.activeOperationId);
  return active?.discardedAt === undefined ? undefined : true;
}

function pendingCleanup(
  configuration: Configuration | undefined,
  disks: readonly RetainedDisk[],
  world: World,
): Item | undefined {
  const told = configuration?.told.pendingCleanup;
  const counts = told ?? countsOf(disks.filter(({ retentionUntil }) => retentionUntil > world.now));
  if (counts === undefined) return undefined;
  const { earliestRetentionUntil, ...rest } = counts;
  return { ...rest, earliestRetentionUntil: date(world, earliestRetentionUntil) };
}

function countsOf(retained: readonly RetainedDisk[]): CleanupRecord | undefined {
  if (retained.length === 0) return undefined;
  return {
    pendingCount: retained.length,
    retainedDiskCount: retained.length,
    retryingCount: 0,
    earliestRetentionUntil: Math.min(...retained.map(({ retentionUntil }) => retentionUntil)),
  };
}

/** Shows a recovery point from which an activation may start. */
export function pointItem(configuration: Configuration, point: SelectablePoint, world: World): Item {
  return {
    selectedOperationId: point.selectedOperationId,
    pointId: point.pointId,
    cutoffAt: date(world, point.cutoffAt),
    availabilityRequiresVerification: true,
    retainedSizing: keepsContract(configuration, point) ? point.sizing : undefined,
  };
}

/** Shows the receipt of a request for an operation. */
export function receiptItem(receipt: ReceiptRecord, world: World): Item {
  return { ...receipt, phase: phaseWord(receipt.phase, world) };
}

function phaseWord(phase: Phase, { readings }: World): string {
  return readings['dr.phases'] === 'opaque' ? `stage-${hash(phase).slice(0, 8)}` : phase;
}
