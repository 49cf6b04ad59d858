// Formats the objects in responses about disaster readiness: sources, configurations, recovery points and receipts. An
// optional field without a value is undefined; the simulator option `fields.nulls` decides whether clients see null or
// no field.
import type { Environment } from '../../environments/environment.ts';
import { date } from '../../shape.ts';
import type { World } from '../../../store/store.ts';
import { warmHints } from '../rules.ts';
import { caughtUp, hash, keepsContract } from '../copies.ts';
import type { Phase } from '../durations.ts';
import type { ActivationResult, CleanupRecord, Configuration, Operation, Standby } from '../model.ts';
import type { ReceiptRecord, RecoveryPoint } from '../model.ts';
import { countsFailedSteps, operationOf } from '../operations.ts';
import { defaultSettings } from '../protection.ts';
import { readinessAt } from '../readiness.ts';
import { disksOf } from '../rows.ts';
import { eligibleDestinations, sourceOf, unsupportedReasons } from '../source.ts';
import { targetOf } from '../surroundings.ts';

/** Formats an environment as an item of GET /disaster-readiness/sources, with its protection and target environment if they exist. */
export function sourceItem(world: World, environment: Environment, configuration: Configuration | undefined) {
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
    pendingCleanup: pendingCleanup(world, environment.appEnvId, configuration),
  };
}

/** Formats a protection as an item of GET /disaster-readiness/configurations, with its current readiness. */
export function configurationItem(world: World, configuration: Configuration) {
  const { configurationId, sourceAppEnvId, generation, settings, target, told } = configuration;
  const { operations, standby, activationResult, nextSnapshotAt, nextValidationAt } = configuration;
  const active = operationOf(configuration, configuration.activeOperationId);
  return {
    configurationId,
    sourceAppEnvId,
    generation,
    settings: { ...settings, target },
    readiness: readinessOf(world, configuration),
    activeOperationId: active?.operationId,
    activeOperation: active && activeOperation(world, active, told.validationCleanup),
    activities: operations.map((operation) => activity(world, operation)),
    standby: standby && standbyItem(standby),
    warmDestination: settings.mode === 'warm' ? target : undefined,
    plannedDestination: settings.mode === 'cold' ? target : undefined,
    ...warmHints(configuration),
    activationUnavailableReason: told.engineUnavailableReason,
    activationResult: activationResult && resultItem(world, activationResult),
    canRequestDiscard: active?.discardedAt === undefined ? undefined : true,
    pendingCleanup: pendingCleanup(world, sourceAppEnvId, configuration),
    validationScheduleEstablished: nextValidationAt !== undefined,
    nextSnapshotAt: date(world, nextSnapshotAt),
    nextValidationAt: date(world, nextValidationAt),
  };
}

function readinessOf(world: World, configuration: Configuration) {
  const readiness = readinessAt(configuration, world.now);
  const state = readiness.state === 'ready' ? world.readings['dr.readinessWord'] : readiness.state;
  return { ...readiness, state, cutoffAt: date(world, readiness.cutoffAt) };
}

/** Formats the fields that `activeOperation` and an item of `activities` both have. */
function operationItem(world: World, { operationId, kind, phase, pinned }: Operation) {
  return { operationId, kind, phase: phaseWord(world, phase), cutoffAt: date(world, pinned?.cutoffAt) };
}

function activeOperation(world: World, operation: Operation, toldCleanup: Operation['validationCleanup']) {
  const cleanup = toldCleanup ?? operation.validationCleanup;
  return {
    ...operationItem(world, operation),
    failedSteps: countsFailedSteps(operation.phase) ? operation.failedSteps : 0,
    validationCleanup: cleanup && {
      observedAt: date(world, cleanup.observedAt),
      retentionUntil: date(world, cleanup.retentionUntil),
      retentionPending: cleanup.retentionPending,
    },
  };
}

function activity(world: World, operation: Operation) {
  const { outcome, startedAt, endedAt } = operation;
  const times = { startedAt: date(world, startedAt), endedAt: date(world, endedAt) };
  return { ...operationItem(world, operation), outcome, ...times };
}

function standbyItem(standby: Standby) {
  const { shape, reason, lastApplySeconds, lastApplyBytes } = standby;
  return { shape, reason, caughtUp: caughtUp(standby), lastApplySeconds, lastApplyBytes };
}

function resultItem(world: World, { cutoffAt, completedAt, ...result }: ActivationResult) {
  return { ...result, cutoffAt: date(world, cutoffAt), completedAt: date(world, completedAt) };
}

/**
 * Returns the `pendingCleanup` counts of a source environment: those that a control request (/_sim) has set, or else the number of disks
 * that are still retained.
 */
function pendingCleanup(world: World, sourceAppEnvId: string, configuration: Configuration | undefined) {
  const ends = disksOf(world, sourceAppEnvId).map(({ retentionUntil }) => retentionUntil);
  const kept = ends.filter((at) => at > world.now);
  const pendingCount = kept.length;
  const counts = { pendingCount, retainedDiskCount: pendingCount, retryingCount: 0 };
  const counted = pendingCount > 0 ? { ...counts, earliestRetentionUntil: Math.min(...kept) } : undefined;
  const shown: CleanupRecord | undefined = configuration?.told.pendingCleanup ?? counted;
  return shown && { ...shown, earliestRetentionUntil: date(world, shown.earliestRetentionUntil) };
}

/** Formats a recovery point as an item of GET /disaster-readiness/points. */
export function pointItem(world: World, configuration: Configuration, point: RecoveryPoint) {
  return {
    selectedOperationId: point.operationId,
    pointId: point.pointId,
    cutoffAt: date(world, point.cutoffAt),
    availabilityRequiresVerification: true,
    retainedSizing: keepsContract(configuration, point) ? point.sizing : undefined,
  };
}

/** Formats the receipt that the service returns when it accepts a configure item, or a request to validate, activate or discard. */
export function receiptItem(world: World, receipt: ReceiptRecord) {
  return { ...receipt, phase: phaseWord(world, receipt.phase) };
}

function phaseWord({ readings }: World, phase: Phase): string {
  return readings['dr.phases'] === 'opaque' ? `stage-${hash(phase).slice(0, 8)}` : phase;
}
