import { z } from 'zod';
import { isRecord, type JsonObject } from '../../base/json.ts';
import type { Read, Request } from '../../engine/ports.ts';
import {
  errorTextOf,
  wordsFrom,
  type BodySchemas,
  Id,
  Text,
  cursorList,
  write,
  id,
  listed,
  optional,
  parsed,
  shown,
  shownList,
  textOrNull,
  amounts,
  compared,
  time,
  word,
  words,
  number,
} from './endpoint.ts';

/** Names of a recovered environment, planned or made. */
export interface DestinationNames {
  readonly envName: string | undefined;
  readonly appName: string | undefined;
  readonly createNewApp: boolean | undefined;
}

/** Counts of clean-ups that the service has not finished. */
export interface PendingCleanup {
  readonly pendingCount: number | undefined;
  readonly retainedDiskCount: number | undefined;
  readonly retryingCount: number | undefined;
  readonly earliestRetentionUntil: string | undefined;
}

/** The settings of a protection, as far as the service shows them. */
export interface ProtectionSettings {
  readonly destinationRegion: string | undefined;
  readonly mode: string | undefined;
  /** Null is platform storage; undefined is not shown, or inherited. */
  readonly storageCredentialId: string | null | undefined;
  readonly snapshotIntervalMs: number | undefined;
  readonly validationIntervalMs: number | undefined;
  readonly rpoTargetMs: number | undefined;
  readonly rtoTargetMs: number | undefined;
  readonly sameRegionAcknowledged: boolean | undefined;
}

const Names: z.ZodType<DestinationNames> = z.object({
  envName: shown(compared),
  appName: shown(compared),
  createNewApp: shown(z.boolean()),
});

const Cleanup: z.ZodType<PendingCleanup> = z.object({
  pendingCount: shown(number),
  retainedDiskCount: shown(number),
  retryingCount: shown(number),
  earliestRetentionUntil: shown(time),
});

const Settings: z.ZodType<ProtectionSettings> = z.object({
  destinationRegion: optional(compared),
  mode: optional(compared),
  storageCredentialId: textOrNull,
  snapshotIntervalMs: optional(number),
  validationIntervalMs: optional(number),
  rpoTargetMs: optional(number),
  rtoTargetMs: optional(number),
  sameRegionAcknowledged: shown(z.boolean()),
});

/** An environment that may be protected. */
export interface SourceItem {
  readonly sourceAppEnvId: string;
  readonly appId: string | undefined;
  readonly appName: string | undefined;
  readonly environmentName: string | undefined;
  readonly region: string | undefined;
  readonly eligible: boolean | undefined;
  readonly volumes: readonly {
    readonly name: string;
    readonly eligible: boolean | undefined;
    readonly reason: string | undefined;
  }[];
  readonly unsupportedReasons: readonly string[];
  readonly eligibleDestinations: readonly string[];
  readonly suggestedSettings: ProtectionSettings | undefined;
  readonly configurationId: string | undefined;
  /** The environment that the standby or the recovery made. */
  readonly target:
    | {
        readonly appEnvId: string;
        readonly appId: string | undefined;
        readonly appName: string | undefined;
        readonly environmentName: string | undefined;
      }
    | undefined;
  readonly pendingCleanup: PendingCleanup | undefined;
}

/** A word, bare or in an object under the name that such a list would use. */
const Word = z.union([
  words,
  z.object({ reason: words }).transform(({ reason }) => reason),
  z.object({ name: words }).transform(({ name }) => name),
]);

/** A region, bare or in an object. */
const Region = z.union([
  compared,
  z.object({ region: compared }).transform(({ region }) => region),
  z.object({ name: compared }).transform(({ name }) => name),
]);

const Source: z.ZodType<SourceItem> = z.preprocess(
  (value) => (isRecord(value) ? { ...value, sourceAppEnvId: value['sourceAppEnvId'] ?? value['appEnvId'] } : value),
  z.object({
    sourceAppEnvId: id,
    appId: shown(id),
    appName: shown(compared),
    environmentName: shown(compared),
    region: shown(word),
    eligible: shown(z.boolean()),
    volumes: shownList(z.object({ name: words, eligible: shown(z.boolean()), reason: shown(words) })),
    unsupportedReasons: shownList(Word),
    eligibleDestinations: shownList(Region),
    suggestedSettings: shown(Settings),
    configurationId: shown(id),
    target: shown(
      z.object({ appEnvId: id, appId: shown(id), appName: shown(compared), environmentName: shown(compared) }),
    ),
    pendingCleanup: shown(Cleanup),
  }),
);

/** The sources of one page. */
export function sourcesIn(body: unknown): readonly SourceItem[] | undefined {
  return listed(Source, body, 'items');
}

/** An operation on a protection, finished or under way. */
export interface DrOperation {
  /** The interface promises no id beside what it shows of an operation; without one, it is still an operation. */
  readonly operationId: string | undefined;
  readonly kind: string | undefined;
  /** An open vocabulary. */
  readonly phase: string | undefined;
  readonly outcome: string | undefined;
  readonly failedSteps: number | undefined;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  readonly cutoffAt: string | undefined;
  readonly validationCleanup:
    | {
        readonly observedAt: string | undefined;
        readonly retentionUntil: string | undefined;
        readonly retentionPending: boolean | undefined;
      }
    | undefined;
}

/** A protection. */
export interface ConfigurationItem {
  readonly configurationId: string;
  readonly sourceAppEnvId: string | undefined;
  readonly generation: number;
  readonly settings: ProtectionSettings | undefined;
  readonly readiness:
    | {
        readonly state: string | undefined;
        readonly reason: string | undefined;
        readonly warnings: readonly string[];
        readonly cutoffAt: string | undefined;
      }
    | undefined;
  /** Moves while nothing happens. */
  readonly recoveryPointAgeMs: number | undefined;
  readonly activeOperationId: string | undefined;
  readonly activeOperation: DrOperation | undefined;
  readonly activities: readonly DrOperation[];
  readonly standby:
    | {
        readonly shape: string | undefined;
        readonly reason: string | undefined;
        readonly caughtUp: boolean | undefined;
      }
    | undefined;
  /** Moves while nothing happens. */
  readonly standbyPace:
    | { readonly lastApplySeconds: number | undefined; readonly lastApplyBytes: number | undefined }
    | undefined;
  readonly warmDestination: DestinationNames | undefined;
  readonly plannedDestination: DestinationNames | undefined;
  readonly warmValidationOperationId: string | undefined;
  readonly warmRecoveryOperationId: string | undefined;
  readonly activationUnavailableReason: string | undefined;
  readonly activationResult:
    | {
        readonly operationId: string | undefined;
        readonly targetAppEnvId: string | undefined;
        readonly targetAppId: string | undefined;
        readonly pointId: string | undefined;
        readonly cutoffAt: string | undefined;
        readonly completedAt: string | undefined;
        readonly engine: string | undefined;
      }
    | undefined;
  readonly canRequestDiscard: boolean | undefined;
  readonly pendingCleanup: PendingCleanup | undefined;
  readonly validationScheduleEstablished: boolean | undefined;
  readonly nextSnapshotAt: string | undefined;
  readonly nextValidationAt: string | undefined;
}

const Operation: z.ZodType<DrOperation> = z.object({
  operationId: shown(id),
  kind: shown(word),
  phase: shown(word),
  outcome: shown(word),
  failedSteps: shown(number),
  startedAt: shown(time),
  endedAt: shown(time),
  cutoffAt: shown(time),
  validationCleanup: shown(
    z.object({ observedAt: shown(time), retentionUntil: shown(time), retentionPending: shown(z.boolean()) }),
  ),
});

const unshown: DrOperation = {
  operationId: undefined,
  kind: undefined,
  phase: undefined,
  outcome: undefined,
  failedSteps: undefined,
  startedAt: undefined,
  endedAt: undefined,
  cutoffAt: undefined,
  validationCleanup: undefined,
};

/** The operation under way, by the id that stands beside it; where nothing at all is shown of it, there is none. */
function activeIn(operation: DrOperation | undefined, besideId: string | undefined): DrOperation | undefined {
  const active = { ...unshown, ...operation, operationId: besideId ?? operation?.operationId };
  return Object.values(active).some((value) => value !== undefined) ? active : undefined;
}

const Readiness = z.object({
  state: shown(word),
  reason: shown(words),
  warnings: shownList(Word),
  cutoffAt: shown(time),
  recoveryPointAgeMs: shown(number),
});

const Standby = z.object({
  shape: shown(word),
  reason: shown(words),
  caughtUp: shown(z.boolean()),
  lastApplySeconds: shown(number),
  lastApplyBytes: shown(number),
});

const Result = z.object({
  operationId: shown(id),
  targetAppEnvId: shown(id),
  targetAppId: shown(id),
  pointId: shown(id),
  cutoffAt: shown(time),
  completedAt: shown(time),
  engine: shown(word),
});

const Configuration: z.ZodType<ConfigurationItem> = z
  .object({
    configurationId: id,
    sourceAppEnvId: optional(id),
    generation: number,
    settings: shown(Settings),
    readiness: shown(Readiness),
    activeOperationId: optional(id),
    activeOperation: shown(Operation),
    activities: shownList(Operation),
    standby: shown(Standby),
    warmDestination: shown(Names),
    plannedDestination: shown(Names),
    warmValidationOperationId: optional(id),
    warmRecoveryOperationId: optional(id),
    /** Any value, even one that is no text, means that an activation is not possible. */
    activationUnavailableReason: optional(z.union([words, z.unknown().transform(() => 'not in words')])),
    /** A result that cannot be read is still a result: an activation must not follow it. */
    activationResult: optional(Result),
    canRequestDiscard: shown(z.boolean()),
    pendingCleanup: shown(Cleanup),
    validationScheduleEstablished: shown(z.boolean()),
    nextSnapshotAt: shown(time),
    nextValidationAt: shown(time),
  })
  .transform(({ readiness, standby, activeOperation, ...rest }) => ({
    ...rest,
    activeOperation: activeIn(activeOperation, rest.activeOperationId),
    readiness: readiness && {
      state: readiness.state,
      reason: readiness.reason,
      warnings: readiness.warnings,
      cutoffAt: readiness.cutoffAt,
    },
    recoveryPointAgeMs: readiness?.recoveryPointAgeMs,
    standby: standby && { shape: standby.shape, reason: standby.reason, caughtUp: standby.caughtUp },
    standbyPace: standby && { lastApplySeconds: standby.lastApplySeconds, lastApplyBytes: standby.lastApplyBytes },
  }));

/** The configurations of one page. */
export function configurationsIn(body: unknown): readonly ConfigurationItem[] | undefined {
  return listed(Configuration, body, 'items');
}

/** A point that a recovery may start from: a candidate, not a promise. */
export interface PointItem {
  readonly selectedOperationId: string;
  readonly pointId: string;
  /** Byte for byte as the service wrote it: an activation sends it back. */
  readonly cutoffAt: string;
  /** The generation of the configuration that this page was read at. */
  readonly generation: number | undefined;
  readonly availabilityRequiresVerification: boolean | undefined;
  /** A preview of resources, never sent. */
  readonly retainedSizing: JsonObject | undefined;
}

const Point = z.object({
  selectedOperationId: id,
  pointId: id,
  cutoffAt: time,
  availabilityRequiresVerification: shown(z.boolean()),
  retainedSizing: shown(amounts),
});

/** The points of one page. */
export function pointsIn(body: unknown): readonly PointItem[] | undefined {
  const generation = parsed(z.object({ generation: number }), body)?.generation;
  return listed(Point, body, 'items')?.map((point) => ({ ...point, generation }));
}

/** The result of one item of a configure call. */
export type ConfigureResult =
  | ({ readonly success: true } & Receipt)
  | { readonly success: false; readonly error: string | undefined };

/** A receipt: the service accepted an operation; it has not reported an end. */
export interface Receipt {
  readonly configurationId: string | undefined;
  readonly operationId: string | undefined;
  readonly generation: number | undefined;
  readonly phase: string | undefined;
}

const AnyReceipt: z.ZodType<Receipt> = z.object({
  configurationId: shown(id),
  operationId: shown(id),
  generation: shown(number),
  phase: shown(word),
});

/** The receipt of validate, activate and discard; its fields may all be missing. */
export function receiptOf(body: unknown): Receipt | undefined {
  return parsed(AnyReceipt, body);
}

/** The result for one source, in whatever list of the answer it stands. */
export function configureResultOf(body: unknown, sourceAppEnvId: string): ConfigureResult | undefined {
  if (!isRecord(body)) return undefined;
  const lists = Object.values(body).filter((value) => Array.isArray(value));
  const entry = lists.flat().find((item) => isRecord(item) && item['sourceAppEnvId'] === sourceAppEnvId);
  if (!isRecord(entry)) return undefined;
  const receipt = receiptOf(entry);
  if (entry['success'] === true && receipt !== undefined) return { success: true, ...receipt };
  if (entry['success'] !== false) return undefined;
  const said = errorTextOf(entry) ?? errorTextOf({ error: entry['safeError'] ?? entry['reason'] });
  return { success: false, error: said === undefined ? undefined : wordsFrom(said) };
}

/** The counts of what a reset deleted. */
export interface ResetCounts {
  readonly configurations: number;
  readonly destinations: number | undefined;
}

/** The counts of `POST /disaster-readiness/reset`. */
export function resetCountsOf(body: unknown): ResetCounts | undefined {
  return parsed(z.object({ configurations: number, destinations: shown(number) }), body);
}

const Target = z
  .strictObject({
    envName: Text.exactOptional(),
    appName: Text.exactOptional(),
    createNewApp: z.boolean().exactOptional(),
  })
  .readonly();

const settings = {
  destinationRegion: Text.exactOptional(),
  mode: z.enum(['cold', 'warm']).exactOptional(),
  /** Null selects platform storage, left out inherits the source's. */
  storageCredentialId: Id.nullable().exactOptional(),
  snapshotIntervalMs: number.exactOptional(),
  validationIntervalMs: number.exactOptional(),
  rpoTargetMs: number.exactOptional(),
  rtoTargetMs: number.exactOptional(),
  sameRegionAcknowledged: z.boolean().exactOptional(),
  target: Target.exactOptional(),
};

const ConfigureItem = z
  .strictObject({ ...settings, sourceAppEnvId: Id, requestId: Id, expectedGeneration: number })
  .readonly();

const Configure = z.strictObject({
  accountId: Id,
  common: z.strictObject(settings).readonly(),
  items: z.array(ConfigureItem).min(1).max(100).readonly(),
});

const Validate = z.strictObject({ accountId: Id, configurationId: Id, expectedGeneration: number, requestId: Id });

const Activate = z.strictObject({
  accountId: Id,
  configurationId: Id,
  expectedGeneration: number,
  requestId: Id,
  selectedOperationId: Id,
  pointId: Id,
  cutoffAt: Text,
  target: z.strictObject({ envName: Text, createNewApp: z.boolean(), appName: Text.exactOptional() }).readonly(),
  writerSafetyAcknowledged: z.boolean(),
});

const Discard = z.strictObject({
  accountId: Id,
  configurationId: Id,
  operationId: Id,
  expectedGeneration: number,
  requestId: Id,
  discardAcknowledged: z.literal(true),
});

const Reset = z.discriminatedUnion('scope', [
  z.strictObject({ accountId: Id, scope: z.literal('environment'), confirmationName: Text, sourceAppEnvId: Id }),
  z.strictObject({ accountId: Id, scope: z.literal('account'), confirmationName: Text }),
]);

/** One item of a configure call. */
export type ProtectionItem = z.infer<typeof ConfigureItem>;
/** The body of `POST /disaster-readiness/configure`. */
export type Protection = z.infer<typeof Configure>;
/** The body of `POST /disaster-readiness/validate`. */
export type Validation = z.infer<typeof Validate>;
/** The body of `POST /disaster-readiness/activate`. */
export type Activation = z.infer<typeof Activate>;
/** The body of `POST /disaster-readiness/discard-activation`. */
export type Discarding = z.infer<typeof Discard>;
/** The body of `POST /disaster-readiness/reset`. */
export type Resetting = z.infer<typeof Reset>;

/** The bodies of the calls on disaster readiness. */
export const disasterReadinessBodies: BodySchemas = {
  'POST /disaster-readiness/configure': Configure,
  'POST /disaster-readiness/validate': Validate,
  'POST /disaster-readiness/activate': Activate,
  'POST /disaster-readiness/discard-activation': Discard,
  'POST /disaster-readiness/reset': Reset,
};

/** Reads a body of `POST /disaster-readiness/configure`; undefined for anything else. */
export function protectionIn(body: unknown): Protection | undefined {
  return Configure.safeParse(body).data;
}

/** Reads a body of `POST /disaster-readiness/validate`; undefined for anything else. */
export function validationIn(body: unknown): Validation | undefined {
  return Validate.safeParse(body).data;
}

/** Sets up or changes the protection of environments. */
export function postDisasterReadinessConfigure(body: Protection): Request {
  return write('POST', '/disaster-readiness/configure', 'identified', body);
}

/** Asks for an isolated check of a protection. */
export function postDisasterReadinessValidate(body: Validation): Request {
  return write('POST', '/disaster-readiness/validate', 'identified', body);
}

/** Recovers an environment from exactly this point. */
export function postDisasterReadinessActivate(body: Activation): Request {
  return write('POST', '/disaster-readiness/activate', 'identified', body);
}

/** Gives up an activation that cannot finish. */
export function postDisasterReadinessDiscardActivation(body: Discarding): Request {
  return write('POST', '/disaster-readiness/discard-activation', 'identified', body);
}

/** Deletes protection and leftovers; nothing identifies it, so a repeat is another reset. */
export function postDisasterReadinessReset(body: Resetting): Request {
  return write('POST', '/disaster-readiness/reset', 'remove', body);
}

/** The environments of an account that may be protected. */
export function drSourcesOf(accountId: string): Read<SourceItem> {
  return {
    key: 'drSources',
    ...cursorList<SourceItem>('/disaster-readiness/sources', { accountId }),
    items: sourcesIn,
    idOf: (source) => source.sourceAppEnvId,
    absentOn404: false,
    pace: 'poll',
  };
}

/** True while an operation of the configuration runs; a warm standby that only keeps up does not count. */
export function isOperating(configuration: ConfigurationItem): boolean {
  const { activeOperationId, activeOperation, warmRecoveryOperationId, warmValidationOperationId } = configuration;
  const id = activeOperationId ?? activeOperation?.operationId;
  if (id === undefined) return activeOperation !== undefined;
  return id !== warmRecoveryOperationId && id !== warmValidationOperationId;
}

/** The protections of an account. */
export function drConfigurationsOf(accountId: string): Read<ConfigurationItem> {
  return {
    key: 'drConfigurations',
    ...cursorList<ConfigurationItem>('/disaster-readiness/configurations', { accountId }),
    items: configurationsIn,
    idOf: (configuration) => configuration.configurationId,
    absentOn404: false,
    pace: 'poll',
    moving: ['recoveryPointAgeMs', 'standbyPace'],
    busy: (items) => [...items.values()].some(isOperating),
  };
}

/** The recovery points of a protection. */
export function drPointsOf(accountId: string, configurationId: string): Read<PointItem> {
  return {
    key: `drPoints/${configurationId}`,
    ...cursorList<PointItem>('/disaster-readiness/points', { accountId, configurationId }),
    items: pointsIn,
    idOf: (point) => `${point.selectedOperationId}/${point.pointId}`,
    absentOn404: false,
    // Pages of hundreds for the twenty that are shown: who follows them knows when they have moved.
    pace: 'hourly',
  };
}
