// Disaster readiness as clients see it: the items of the lists, receipts and points. Nothing here is stored. Optional
// fields without a value are there with the value undefined; how those are shown is decided for all areas at once.
import { warmHints } from '../activation/admission.ts';
import type { RegionFacts, SourceFacts } from '../protection/eligibility.ts';
import { eligibleDestinations, unsupportedReasons } from '../protection/eligibility.ts';
import type {
  ConfigurationRecord,
  Operation,
  CleanupRecord,
  Phase,
  ReceiptRecord,
  RetainedDisk,
  ValidationCleanup,
} from '../model.ts';
import { countsFailedSteps, operationOf } from '../operations.ts';
import type { SelectablePoint } from '../evidence/points.ts';
import { hash, keepsContract } from '../evidence/points.ts';
import { readinessAt } from '../evidence/readiness.ts';
import { defaultSettings } from '../protection/settings.ts';
import { caughtUp } from '../evidence/standby.ts';

/** A JSON object on its way out. */
export type Item = Readonly<Record<string, unknown>>;

/** The present moment and the readings that shape items and receipts. */
export interface ItemView {
  readonly now: number;
  readonly date: (at: number) => string;
  readonly opaquePhases: boolean;
  readonly readyWord: string;
}

/** The target environment of a protected source, once there is one. */
export interface TargetEnvironment {
  readonly appEnvId: string;
  readonly appId: string;
  readonly appName: string;
  readonly environmentName: string;
}

/** An environment as a candidate for protection. */
export function sourceItem(
  facts: SourceFacts,
  about: {
    readonly configuration?: ConfigurationRecord;
    readonly target?: TargetEnvironment;
    readonly regions: readonly RegionFacts[];
    readonly disks: readonly RetainedDisk[];
  },
  view: ItemView,
): Item {
  const reasons = unsupportedReasons(facts, about.regions);
  const destinations = eligibleDestinations(facts, about.regions);
  const { configuration, target } = about;
  const { appId, appName, environmentName, region } = facts.source;
  return {
    sourceAppEnvId: facts.appEnvId,
    appId,
    appName,
    environmentName,
    region,
    mode: configuration?.settings.mode,
    eligible: reasons.length === 0,
    volumes: volumesOf(facts, reasons),
    unsupportedReasons: reasons,
    eligibleDestinations: destinations,
    suggestedSettings: defaultSettings(destinations),
    configurationId: configuration?.configurationId,
    target,
    pendingCleanup: pendingCleanup(configuration, about.disks, view),
  };
}

function volumesOf({ volumes }: SourceFacts, reasons: readonly string[]): readonly Item[] {
  const [reason] = reasons;
  return Array.from({ length: volumes }, (_, index) => ({
    name: `volume-${index + 1}`,
    eligible: reason === undefined,
    reason,
  }));
}

const NO_HINTS = { warmValidationOperationId: undefined, warmRecoveryOperationId: undefined };

/** A protection with its readiness as of now. */
export function configurationItem(
  configuration: ConfigurationRecord,
  disks: readonly RetainedDisk[],
  view: ItemView,
): Item {
  const { settings, target, told, nextSnapshotAt, nextValidationAt } = configuration;
  return {
    configurationId: configuration.configurationId,
    sourceAppEnvId: configuration.sourceAppEnvId,
    generation: configuration.generation,
    settings: settingsOf(configuration),
    readiness: readinessOf(configuration, view),
    ...activeOf(configuration, view),
    activities: configuration.operations.map((operation) => activity(operation, view)),
    standby: standbyOf(configuration),
    warmDestination: settings.mode === 'warm' ? target : undefined,
    plannedDestination: settings.mode === 'cold' ? target : undefined,
    ...NO_HINTS,
    ...warmHints(configuration),
    activationUnavailableReason: told.engineUnavailableReason,
    activationResult: resultOf(configuration, view),
    canRequestDiscard: discardAccepted(configuration),
    pendingCleanup: pendingCleanup(configuration, disks, view),
    validationScheduleEstablished: nextValidationAt !== undefined,
    nextSnapshotAt: dated(nextSnapshotAt, view),
    nextValidationAt: dated(nextValidationAt, view),
  };
}

function settingsOf({ settings, target }: ConfigurationRecord): Item {
  const { storage, ...plain } = settings;
  const credential = {
    inherited: {},
    platform: { storageCredentialId: null },
    credential: { storageCredentialId: storage.kind === 'credential' ? storage.credentialId : null },
  };
  return { ...plain, ...credential[storage.kind], target };
}

function readinessOf(configuration: ConfigurationRecord, view: ItemView): Item {
  const { state, reason, warnings, cutoffAt, recoveryPointAgeMs } = readinessAt(configuration, view.now);
  const word = state === 'ready' ? view.readyWord : state;
  return { state: word, reason, warnings, cutoffAt: dated(cutoffAt, view), recoveryPointAgeMs };
}

function activeOf(configuration: ConfigurationRecord, view: ItemView): Item {
  const active = operationOf(configuration, configuration.activeOperationId);
  if (active === undefined) return { activeOperationId: undefined, activeOperation: undefined };
  const { operationId, kind, phase, failedSteps, pinned } = active;
  const cleanup = configuration.told.validationCleanup ?? active.validationCleanup;
  const activeOperation = {
    operationId,
    kind,
    phase: phaseWord(phase, view),
    failedSteps: countsFailedSteps(phase) ? failedSteps : 0,
    cutoffAt: dated(pinned?.cutoffAt, view),
    validationCleanup: cleanup === undefined ? undefined : validationCleanupOf(cleanup, view),
  };
  return { activeOperationId: operationId, activeOperation };
}

function validationCleanupOf(
  { observedAt, retentionUntil, retentionPending }: ValidationCleanup,
  view: ItemView,
): Item {
  return {
    observedAt: view.date(observedAt),
    retentionUntil: dated(retentionUntil, view),
    retentionPending,
  };
}

function activity(operation: Operation, view: ItemView): Item {
  const { operationId, kind, phase, outcome, startedAt, endedAt, pinned } = operation;
  return {
    operationId,
    kind,
    phase: phaseWord(phase, view),
    outcome: outcome,
    startedAt: view.date(startedAt),
    endedAt: dated(endedAt, view),
    cutoffAt: dated(pinned?.cutoffAt, view),
  };
}

function standbyOf({ standby }: ConfigurationRecord): Item | undefined {
  if (standby === undefined) return undefined;
  const { shape, reason, lastApplySeconds, lastApplyBytes } = standby;
  return {
    shape,
    reason,
    caughtUp: caughtUp(standby),
    lastApplySeconds: lastApplySeconds,
    lastApplyBytes: lastApplyBytes,
  };
}

function resultOf({ activationResult }: ConfigurationRecord, view: ItemView): Item | undefined {
  if (activationResult === undefined) return undefined;
  const { cutoffAt, completedAt, ...result } = activationResult;
  return { ...result, cutoffAt: view.date(cutoffAt), completedAt: view.date(completedAt) };
}

function discardAccepted(configuration: ConfigurationRecord): true | undefined {
  const active = operationOf(configuration, configuration.activeOperationId);
  return active?.discardedAt === undefined ? undefined : true;
}

function pendingCleanup(
  configuration: ConfigurationRecord | undefined,
  disks: readonly RetainedDisk[],
  view: ItemView,
): Item | undefined {
  const told = configuration?.told.pendingCleanup;
  const counts = told ?? countsOf(disks.filter(({ retentionUntil }) => retentionUntil > view.now));
  if (counts === undefined) return undefined;
  const { earliestRetentionUntil, ...rest } = counts;
  return { ...rest, earliestRetentionUntil: dated(earliestRetentionUntil, view) };
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

/** A candidate for an activation. */
export function pointItem(configuration: ConfigurationRecord, point: SelectablePoint, view: ItemView): Item {
  return {
    selectedOperationId: point.selectedOperationId,
    pointId: point.pointId,
    cutoffAt: view.date(point.cutoffAt),
    availabilityRequiresVerification: true,
    retainedSizing: keepsContract(configuration, point) ? point.sizing : undefined,
  };
}

/** The answer to a journaled call. */
export function receiptItem(receipt: ReceiptRecord, view: ItemView): Item {
  return { ...receipt, phase: phaseWord(receipt.phase, view) };
}

function phaseWord(phase: Phase, { opaquePhases }: ItemView): string {
  return opaquePhases ? `stage-${hash(phase).slice(0, 8)}` : phase;
}

function dated(at: number | undefined, view: ItemView): string | undefined {
  return at === undefined ? undefined : view.date(at);
}
