import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read } from '../../engine/ports.ts';
import {
  bareOrIn,
  cursorList,
  Id,
  number,
  Text,
  endpoint,
  id,
  optional,
  shown,
  shownList,
  textOrNull,
  parsed,
  listOf,
  word,
  amounts,
  words,
  compared,
  time,
  errorTextOf,
  wordsFrom,
} from './endpoint.ts';

const Names = z.object({
  envName: shown(compared),
  appName: shown(compared),
  createNewApp: shown(z.boolean()),
});

/** Names of a recovered environment, planned or made. */
export type DestinationNames = Readonly<z.output<typeof Names>>;

const Cleanup = z.object({
  pendingCount: shown(number),
  retainedDiskCount: shown(number),
  retryingCount: shown(number),
  earliestRetentionUntil: shown(time),
});

/** Counts of clean-ups that the service has not finished. */
export type PendingCleanup = Readonly<z.output<typeof Cleanup>>;

const Settings = z.object({
  destinationRegion: optional(compared),
  mode: optional(compared),
  /** Null is platform storage; undefined is not shown, or inherited. */
  storageCredentialId: textOrNull,
  snapshotIntervalMs: optional(number),
  validationIntervalMs: optional(number),
  rpoTargetMs: optional(number),
  rtoTargetMs: optional(number),
  sameRegionAcknowledged: shown(z.boolean()),
});

/** The settings of a protection, as far as the service shows them. */
export type ProtectionSettings = Readonly<z.output<typeof Settings>>;

/** A word, bare or in an object under the name that such a list would use. */
const Word = bareOrIn(words, 'reason', 'name');

/** A region, bare or in an object. */
const Region = bareOrIn(compared, 'region', 'name');

const Source = z.preprocess(
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
    /** The environment that the standby or the recovery made. */
    target: shown(
      z.object({ appEnvId: id, appId: shown(id), appName: shown(compared), environmentName: shown(compared) }),
    ),
    pendingCleanup: shown(Cleanup),
  }),
);

/** An environment that may be protected. */
export type SourceItem = Readonly<z.output<typeof Source>>;

const Operation = z.object({
  /** The interface promises no id beside what it shows of an operation; without one, it is still an operation. */
  operationId: shown(id),
  kind: shown(word),
  /** An open vocabulary. */
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

/** An operation on a protection, finished or under way. */
export type DrOperation = Readonly<z.output<typeof Operation>>;

const unshown: DrOperation = Operation.parse({});

/** The operation under way, by the id that stands beside it; where nothing at all is shown of it, there is none. */
function activeIn(operation: DrOperation | undefined, besideId: string | undefined): DrOperation | undefined {
  const active = { ...(operation ?? unshown), operationId: besideId ?? operation?.operationId };
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

const Configuration = z
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
    /** Moves while nothing happens. */
    recoveryPointAgeMs: readiness?.recoveryPointAgeMs,
    standby: standby && { shape: standby.shape, reason: standby.reason, caughtUp: standby.caughtUp },
    /** Moves while nothing happens. */
    standbyPace: standby && { lastApplySeconds: standby.lastApplySeconds, lastApplyBytes: standby.lastApplyBytes },
  }));

/** A protection. */
export type ConfigurationItem = Readonly<z.output<typeof Configuration>>;

const Point = z.object({
  selectedOperationId: id,
  pointId: id,
  /** Byte for byte as the service wrote it: an activation sends it back. */
  cutoffAt: time,
  availabilityRequiresVerification: shown(z.boolean()),
  /** A preview of resources, never sent. */
  retainedSizing: shown(amounts),
});

/** A point that a recovery may start from: a candidate, not a promise. */
export interface PointItem extends z.output<typeof Point> {
  /** The generation of the configuration that this page was read at. */
  readonly generation: number | undefined;
}

/** The points of one page. */
function pointsIn(body: unknown): readonly PointItem[] | undefined {
  const generation = parsed(z.object({ generation: number }), body)?.generation;
  return listOf(Point, 'items')(body)?.map((point) => ({ ...point, generation }));
}

/** The result of one item of a configure call. */
type ConfigureResult =
  | ({ readonly success: true } & Receipt)
  | { readonly success: false; readonly error: string | undefined };

/** A receipt: the service accepted an operation; it has not reported an end. */
const AnyReceipt = z.object({
  configurationId: shown(id),
  operationId: shown(id),
  generation: shown(number),
  phase: shown(word),
});

export type Receipt = Readonly<z.output<typeof AnyReceipt>>;

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

/** The counts of `POST /disaster-readiness/reset`. */
export function resetCountsOf(body: unknown) {
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

/** Reads a body of `POST /disaster-readiness/configure`; undefined for anything else. */
export function protectionIn(body: unknown): Protection | undefined {
  return Configure.safeParse(body).data;
}

/** Reads a body of `POST /disaster-readiness/validate`; undefined for anything else. */
export function validationIn(body: unknown): Validation | undefined {
  return Validate.safeParse(body).data;
}

/** Sets up or changes the protection of environments. */
export const postDisasterReadinessConfigure = endpoint(
  'POST',
  '/disaster-readiness/configure',
  'identified',
  Configure,
);

/** Asks for an isolated check of a protection. */
export const postDisasterReadinessValidate = endpoint('POST', '/disaster-readiness/validate', 'identified', Validate);

/** Recovers an environment from exactly this point. */
export const postDisasterReadinessActivate = endpoint('POST', '/disaster-readiness/activate', 'identified', Activate);

/** Gives up an activation that cannot finish. */
export const postDisasterReadinessDiscardActivation = endpoint(
  'POST',
  '/disaster-readiness/discard-activation',
  'identified',
  Discard,
);

/** Deletes protection and leftovers; nothing identifies it, so a repeat is another reset. */
export const postDisasterReadinessReset = endpoint('POST', '/disaster-readiness/reset', 'remove', Reset);

/** The endpoints of disaster readiness that take a body. */
export const disasterReadinessEndpoints = [
  postDisasterReadinessConfigure,
  postDisasterReadinessValidate,
  postDisasterReadinessActivate,
  postDisasterReadinessDiscardActivation,
  postDisasterReadinessReset,
];

/** The environments of an account that may be protected. */
export function drSourcesOf(accountId: string): Read<SourceItem> {
  return {
    key: 'drSources',
    ...cursorList<SourceItem>('/disaster-readiness/sources', { accountId }),
    items: listOf(Source, 'items'),
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
    items: listOf(Configuration, 'items'),
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
