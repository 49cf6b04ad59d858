/**
 * Builds the status of a DisasterProtection from what the service shows. Nothing is assumed about what the service does
 * not show.
 */
import { definedIn, stated, unlessEmpty } from '../../base/json.ts';
import type { Snapshot } from '../../engine/ports.ts';
import type {
  ConfigurationItem,
  DestinationNames,
  DrOperation,
  PointItem,
  ProtectionSettings,
  SourceItem,
} from '../../hosting/requests.ts';
import { activeOf, cleanupFacts } from '../recovery/configurations.ts';
import { codeInWords } from '../recovery/words.ts';
import type { ProtectionPass } from './binding.ts';
import { inSeconds, settingsShown } from './settings.ts';
import { pointsShown } from './points.ts';
import type { DisasterProtectionFacts } from './schema.ts';

/** What was read from the service to build the status of a DisasterProtection. */
export interface Shown {
  readonly environmentId: string;
  readonly configuration: ConfigurationItem;
  readonly source?: SourceItem | undefined;
  readonly points?: Snapshot<PointItem> | undefined;
  /** The reason why reads of the service fail. Present only once the last successful read is too old to use. */
  readonly unread?: string | undefined;
}

const longestList = 20;

/** Returns the settings that the service suggests; leaves out the storage if the service suggests none. */
function suggested(settings: ProtectionSettings | undefined): DisasterProtectionFacts['settings'] {
  const { storage, ...others } = settingsShown(settings ?? {});
  return stated({ ...others, storage: settings?.storageCredentialId === undefined ? undefined : storage });
}

function destinationFacts(shown: DestinationNames | undefined): DisasterProtectionFacts['plannedDestination'] {
  return stated({ environmentName: shown?.envName, appName: shown?.appName, createNewApp: shown?.createNewApp });
}

type OperationFacts = NonNullable<DisasterProtectionFacts['operations']>[number];

function operationFacts(operation: DrOperation, requestId: string | undefined): OperationFacts {
  const { operationId, kind, phase, outcome, failedSteps, startedAt, endedAt, cutoffAt } = operation;
  return definedIn({
    operationId,
    kind,
    stage: phase,
    outcome,
    failedSteps,
    startedTime: startedAt,
    endedTime: endedAt,
    cutoffTime: cutoffAt,
    requestId,
    validationCleanup: cleanupFacts(operation),
  });
}

/**
 * Returns the operations that status lists, newest first. If a RecoveryActivation began an operation, the entry has the
 * requestId of that RecoveryActivation. Such an entry stays in status even when the service no longer shows the
 * operation.
 */
function operations(pass: ProtectionPass, configuration: ConfigurationItem): DisasterProtectionFacts['operations'] {
  const requests = requestsOf(pass, configuration);
  const active = activeOf(configuration);
  const others = configuration.activities.filter(
    ({ operationId: id }) => id === undefined || id !== active?.operationId,
  );
  const shown = [...(active === undefined ? [] : [active]), ...others].map((operation) =>
    operationFacts(operation, requests.get(operation.operationId)),
  );
  const ids = new Set(shown.map(({ operationId }) => operationId));
  const before = pass.memory.facts.operations ?? [];
  const forgotten = before.filter(({ operationId, requestId }) => requestId !== undefined && !ids.has(operationId));
  const rows = [...shown.filter((row) => Object.keys(row).length > 0), ...forgotten];
  return unlessEmpty(mostTelling(rows.toSorted((a, b) => compareTimes(b.startedTime, a.startedTime))));
}

/**
 * Returns a map from the id of each operation to the requestId of the RecoveryActivation that began it, as far as that
 * is known.
 */
function requestsOf(pass: ProtectionPass, { configurationId }: ConfigurationItem) {
  const before = pass.memory.facts.operations ?? [];
  const requests = new Map(before.map(({ operationId, requestId }) => [operationId, requestId]));
  for (const { id, facts, ownership } of pass.related?.('RecoveryActivation', configurationId) ?? []) {
    const { requestId, result } = facts;
    // If no response of the service named the operation, it is only assumed that the RecoveryActivation began it.
    // Ignore such an operation until its result proves that the RecoveryActivation began it.
    const isOurs = ownership !== 'Presumed' || result !== undefined;
    if (isOurs && id !== undefined && typeof requestId === 'string') requests.set(id, requestId);
  }
  return requests;
}

/**
 * Shortens the list of operations to its limit. Drops the oldest operations first. Operations that a RecoveryActivation
 * began are dropped only after all others.
 */
function mostTelling(all: readonly OperationFacts[]): OperationFacts[] {
  const surplus = Math.max(0, all.length - longestList);
  const others = all.filter(({ requestId }) => requestId === undefined);
  const dropped = new Set(others.slice(Math.max(0, others.length - surplus)));
  return all.filter((operation) => !dropped.has(operation)).slice(0, longestList);
}

function compareTimes(a: string | undefined, b: string | undefined): number {
  return Date.parse(a ?? '') - Date.parse(b ?? '') || 0;
}

/** Builds the status fields that describe the source (the environment to protect). */
export function sourceFacts(source: SourceItem | undefined): DisasterProtectionFacts['source'] {
  if (source === undefined) return undefined;
  const { target } = source;
  return stated({
    appName: source.appName,
    environmentName: source.environmentName,
    eligible: source.eligible,
    region: source.region,
    eligibleDestinations: unlessEmpty(source.eligibleDestinations),
    unsupportedReasons: unlessEmpty(source.unsupportedReasons.map(codeInWords)),
    volumes: unlessEmpty(
      source.volumes.map((volume) => ({ ...volume, reason: volume.reason && codeInWords(volume.reason) })),
    ),
    suggestedSettings: suggested(source.suggestedSettings),
    target: target && {
      environmentId: target.appEnvId,
      appId: target.appId,
      appName: target.appName,
      environmentName: target.environmentName,
    },
    pendingCleanup: source.pendingCleanup,
  });
}

/** Converts the result of an activation to the field names of status. */
export function resultFacts(shown: ConfigurationItem['activationResult']): DisasterProtectionFacts['activationResult'] {
  const { cutoffAt: cutoffTime, completedAt: completedTime, targetAppEnvId, ...result } = shown ?? {};
  return stated({ ...result, targetEnvironmentId: targetAppEnvId, cutoffTime, completedTime });
}

/** Builds the status of a DisasterProtection. */
export function protectionFacts(pass: ProtectionPass, shown: Shown): DisasterProtectionFacts {
  const { configuration, source, points, environmentId } = shown;
  const { readiness, standby } = configuration;
  const { facts: before } = pass.memory;
  const active = activeOf(configuration);
  const begunBefore = before.operations?.find(({ operationId }) => operationId === active?.operationId);
  return {
    environmentId,
    // The list may be older than the service's last response. So keep the generation in that response if it is newer
    // than the generation in the list.
    configurationGeneration: Math.max(configuration.generation, before.configurationGeneration ?? 0),
    enrollment: before.enrollment,
    firstReadyTime: before.firstReadyTime,
    settings: configuration.settings && settingsShown(configuration.settings),
    readiness: stated({
      state: readiness?.state,
      reason: readiness?.reason,
      warnings: readiness && [...readiness.warnings],
      cutoffTime: readiness?.cutoffAt,
      recoveryPointAgeSeconds: inSeconds(readiness?.recoveryPointAgeMs),
    }),
    standby: stated({
      ...standby,
      lastApplySeconds: standby?.lastApplySeconds && Math.round(standby.lastApplySeconds),
    }),
    activeOperation: active && operationFacts(active, begunBefore?.requestId),
    warmValidationOperationId: configuration.warmValidationOperationId,
    warmRecoveryOperationId: configuration.warmRecoveryOperationId,
    warmDestination: destinationFacts(configuration.warmDestination),
    plannedDestination: destinationFacts(configuration.plannedDestination),
    activationUnavailableReason: configuration.activationUnavailableReason,
    activationResult: resultFacts(configuration.activationResult),
    canRequestDiscard: configuration.canRequestDiscard,
    validationSchedule: stated({
      established: configuration.validationScheduleEstablished,
      nextValidationTime: configuration.nextValidationAt,
      nextSnapshotTime: configuration.nextSnapshotAt,
    }),
    recoveryPoints: points === undefined ? before.recoveryPoints : pointsShown(points.items.values(), configuration),
    operations: operations(pass, configuration),
    source: sourceFacts(source) ?? before.source,
    pendingCleanup: configuration.pendingCleanup,
  };
}
