import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read } from '../../engine/ports.ts';
import { bareOrIn, compared, cursorList, endpoint, errorTextOf, id, lenient, lenientList } from './endpoint.ts';
import { listNamed, number, optional, parsed, textOrNull, time, word, words, wordsFrom, Id } from './endpoint.ts';
import { Text } from './endpoint.ts';

const Names = z.object({ envName: lenient(compared), appName: lenient(compared), createNewApp: lenient(z.boolean()) });

/** The names that a recovered environment and its app have or will have. */
export type DestinationNames = Readonly<z.output<typeof Names>>;

const Cleanup = z.object({
  pendingCount: lenient(number),
  retainedDiskCount: lenient(number),
  retryingCount: lenient(number),
  earliestRetentionUntil: lenient(time),
});

/**
 * The disaster-readiness clean-ups that the service has not finished yet (API field: `pendingCleanup`): how many there
 * are, and the earliest of the times until which the service keeps data.
 */
export type PendingCleanup = Readonly<z.output<typeof Cleanup>>;

const Settings = z.object({
  destinationRegion: optional(compared),
  mode: optional(compared),
  /**
   * The id of the storage credential. Null means the storage of the platform. Undefined means that the source's storage is
   * inherited, or that the service does not show the id.
   */
  storageCredentialId: textOrNull,
  snapshotIntervalMs: optional(number),
  validationIntervalMs: optional(number),
  rpoTargetMs: optional(number),
  rtoTargetMs: optional(number),
  sameRegionAcknowledged: lenient(z.boolean()),
});

/** The settings of a disaster-readiness configuration, as far as the service shows them. */
export type ProtectionSettings = Readonly<z.output<typeof Settings>>;

/**
 * The schema of a reason or a warning in the service's responses: a string, or an object that has the string in its field
 * `reason` or `name`.
 */
const Word = bareOrIn(words, 'reason', 'name');

/**
 * The schema of a region in the service's responses: a string, or an object that has the string in its field `region` or `name`.
 */
const Region = bareOrIn(compared, 'region', 'name');

const Source = z.preprocess(
  (value) => (isRecord(value) ? { ...value, sourceAppEnvId: value['sourceAppEnvId'] ?? value['appEnvId'] } : value),
  z.object({
    sourceAppEnvId: id,
    appId: lenient(id),
    appName: lenient(compared),
    environmentName: lenient(compared),
    region: lenient(word),
    eligible: lenient(z.boolean()),
    volumes: lenientList(z.object({ name: words, eligible: lenient(z.boolean()), reason: lenient(words) })),
    unsupportedReasons: lenientList(Word),
    eligibleDestinations: lenientList(Region),
    suggestedSettings: lenient(Settings),
    configurationId: lenient(id),
    /** The environment that the service created as a warm standby or by a recovery. */
    target: lenient(
      z.object({ appEnvId: id, appId: lenient(id), appName: lenient(compared), environmentName: lenient(compared) }),
    ),
    pendingCleanup: lenient(Cleanup),
  }),
);

/** An environment of the account. The field `eligible` says whether disaster readiness can protect the environment. */
export type SourceItem = Readonly<z.output<typeof Source>>;

const Operation = z.object({
  /** The id of the operation. The service may leave the id out. */
  operationId: lenient(id),
  kind: lenient(word),
  /** The phase of the operation. Any string is accepted, because the service may add new phases at any time. */
  phase: lenient(word),
  outcome: lenient(word),
  failedSteps: lenient(number),
  startedAt: lenient(time),
  endedAt: lenient(time),
  cutoffAt: lenient(time),
  validationCleanup: lenient(
    z.object({ observedAt: lenient(time), retentionUntil: lenient(time), retentionPending: lenient(z.boolean()) }),
  ),
});

/** An operation of a disaster-readiness configuration, such as a validation; the operation may be finished or still running. */
export type DrOperation = Readonly<z.output<typeof Operation>>;

const unshown: DrOperation = Operation.parse({});

/**
 * Combines the fields `activeOperation` and `activeOperationId` of a configuration into one operation. Returns undefined when
 * the service shows neither of the two fields.
 */
function activeIn(operation: DrOperation | undefined, besideId: string | undefined): DrOperation | undefined {
  const active = { ...(operation ?? unshown), operationId: besideId ?? operation?.operationId };
  return Object.values(active).some((value) => value !== undefined) ? active : undefined;
}

const Readiness = z.object({
  state: lenient(word),
  reason: lenient(words),
  warnings: lenientList(Word),
  cutoffAt: lenient(time),
  recoveryPointAgeMs: lenient(number),
});

const Standby = z.object({
  shape: lenient(word),
  reason: lenient(words),
  caughtUp: lenient(z.boolean()),
  lastApplySeconds: lenient(number),
  lastApplyBytes: lenient(number),
});

const Result = z.object({
  operationId: lenient(id),
  targetAppEnvId: lenient(id),
  targetAppId: lenient(id),
  pointId: lenient(id),
  cutoffAt: lenient(time),
  completedAt: lenient(time),
  engine: lenient(word),
});

const Configuration = z
  .object({
    configurationId: id,
    sourceAppEnvId: optional(id),
    generation: number,
    settings: lenient(Settings),
    readiness: lenient(Readiness),
    activeOperationId: optional(id),
    activeOperation: lenient(Operation),
    activities: lenientList(Operation),
    standby: lenient(Standby),
    warmDestination: lenient(Names),
    plannedDestination: lenient(Names),
    warmValidationOperationId: optional(id),
    warmRecoveryOperationId: optional(id),
    /**
     * The service's reason why an activation is not possible. A value that is not a string also means that an activation is not
     * possible.
     */
    activationUnavailableReason: optional(z.union([words, z.unknown().transform(() => 'the service gave no reason')])),
    /**
     * The result of an activation. If this result cannot be parsed, the whole list of configurations counts as
     * unreadable. If only the result counted as absent, the operator could start a second activation.
     */
    activationResult: optional(Result),
    canRequestDiscard: lenient(z.boolean()),
    pendingCleanup: lenient(Cleanup),
    validationScheduleEstablished: lenient(z.boolean()),
    nextSnapshotAt: lenient(time),
    nextValidationAt: lenient(time),
  })
  .transform(({ activeOperation, ...rest }) => ({
    ...rest,
    activeOperation: activeIn(activeOperation, rest.activeOperationId),
  }));

/** A disaster-readiness configuration, as the service returns it. */
export type ConfigurationItem = Readonly<z.output<typeof Configuration>>;

const amount = lenient(z.number().nonnegative());
const replicas = lenient(z.int().nonnegative());

/**
 * The compute and disk sizes of the environment at a recovery point. The sizes are only shown to people; no request contains
 * them.
 */
const Sizing = z
  .object({
    replicas,
    replicaCount: replicas,
    zClouds: amount,
    cpu: amount,
    cpuRequest: amount,
    memoryMb: amount,
    memoryRequestMb: amount,
    volumeCapacities: lenient(z.array(word)),
  })
  .transform(({ replicaCount, ...sizing }) => ({ ...sizing, replicas: sizing.replicas ?? replicaCount }));

const Point = z.object({
  selectedOperationId: id,
  pointId: id,
  /** The time of the recovery point, kept exactly as the service wrote it, since an activation sends it back. */
  cutoffAt: time,
  availabilityRequiresVerification: lenient(z.boolean()),
  retainedSizing: lenient(Sizing),
});

/** A recovery point. It is only a candidate: the service may still refuse to recover from it. */
export interface PointItem extends z.output<typeof Point> {
  /** The generation of the configuration at the time when the service listed this recovery point. */
  readonly generation: number | undefined;
}

/** Reads the recovery points from one page of `GET /disaster-readiness/points`. */
function pointsIn(body: unknown): readonly PointItem[] | undefined {
  const generation = parsed(z.object({ generation: number }), body)?.generation;
  return listNamed(Point, 'items')(body)?.map((point) => ({ ...point, generation }));
}

/** What the service reports for one environment in its response to `POST /disaster-readiness/configure`. */
type ConfigureResult =
  | ({ readonly success: true } & Receipt)
  | { readonly success: false; readonly error: string | undefined };

/** The service's receipt for an operation: the service accepted the operation, but has not yet reported its result. */
const AnyReceipt = z.object({
  configurationId: lenient(id),
  operationId: lenient(id),
  generation: lenient(number),
  phase: lenient(word),
});

export type Receipt = Readonly<z.output<typeof AnyReceipt>>;

/**
 * Reads the receipt in the answer to a validation, an activation or a discard request. Every field of the receipt may be
 * absent.
 */
export function receiptOf(body: unknown): Receipt | undefined {
  return parsed(AnyReceipt, body);
}

/**
 * Finds the result for one source environment in the response to `POST /disaster-readiness/configure`. The result may be in any
 * list of the response.
 */
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

/**
 * Reads from the response to `POST /disaster-readiness/reset` how many configurations and how many recovery destinations the
 * service deleted.
 */
export function resetCountsOf(body: unknown) {
  return parsed(z.object({ configurations: number, destinations: lenient(number) }), body);
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
  /**
   * The id of the storage credential. Null selects the storage of the platform. If the field is missing here and in `common`, the
   * service uses the same storage as for the source environment.
   */
  storageCredentialId: Id.nullable().exactOptional(),
  snapshotIntervalMs: number.exactOptional(),
  validationIntervalMs: number.exactOptional(),
  rpoTargetMs: number.exactOptional(),
  rtoTargetMs: number.exactOptional(),
  sameRegionAcknowledged: z.boolean().exactOptional(),
  target: Target.exactOptional(),
};

/**
 * The names of the settings that a request to configure a protection can contain. The responses of the service may
 * contain other settings.
 */
export const protectionSettings: ReadonlySet<string> = new Set(Object.keys(settings));

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

/** The settings for one environment in `POST /disaster-readiness/configure`. */
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

/** Parses a value as the body of `POST /disaster-readiness/configure`; returns undefined if the value does not fit. */
export function protectionIn(body: unknown): Protection | undefined {
  return Configure.safeParse(body).data;
}

/** Parses a value as the body of `POST /disaster-readiness/validate`; returns undefined if the value does not fit. */
export function validationIn(body: unknown): Validation | undefined {
  return Validate.safeParse(body).data;
}

/** Sets up or changes the disaster protection of environments. */
export const postDisasterReadinessConfigure = endpoint(
  'POST',
  '/disaster-readiness/configure',
  'identified',
  Configure,
);

/** Starts a validation, an isolated check of whether a protected environment can be recovered. */
export const postDisasterReadinessValidate = endpoint('POST', '/disaster-readiness/validate', 'identified', Validate);

/** Recovers an environment from the recovery point that the body names. */
export const postDisasterReadinessActivate = endpoint('POST', '/disaster-readiness/activate', 'identified', Activate);

/** Discards an activation that cannot finish. */
export const postDisasterReadinessDiscardActivation = endpoint(
  'POST',
  '/disaster-readiness/discard-activation',
  'identified',
  Discard,
);

/**
 * Deletes disaster-readiness configurations and their leftovers. The request has no request id, so sending the request again
 * starts another reset.
 */
export const postDisasterReadinessReset = endpoint('POST', '/disaster-readiness/reset', 'remove', Reset);

/** Reads the environments of an account. For each environment, the service says whether disaster readiness can protect it. */
export function drSourcesOf(accountId: string): Read<SourceItem> {
  return {
    key: 'drSources',
    ...cursorList<SourceItem>('/disaster-readiness/sources', { accountId }),
    items: listNamed(Source, 'items'),
    idOf: (source) => source.sourceAppEnvId,
    pace: 'poll',
  };
}

/**
 * True while an operation on the configuration runs, such as a validation. False if the only active operation is the regular
 * copying of data to a warm standby.
 */
export function isOperating(configuration: ConfigurationItem): boolean {
  const { activeOperationId, activeOperation, warmRecoveryOperationId, warmValidationOperationId } = configuration;
  const id = activeOperationId ?? activeOperation?.operationId;
  if (id === undefined) return activeOperation !== undefined;
  return id !== warmRecoveryOperationId && id !== warmValidationOperationId;
}

/** Reads the disaster-readiness configurations of an account. */
export function drConfigurationsOf(accountId: string): Read<ConfigurationItem> {
  return {
    key: 'drConfigurations',
    ...cursorList<ConfigurationItem>('/disaster-readiness/configurations', { accountId }),
    items: listNamed(Configuration, 'items'),
    idOf: (configuration) => configuration.configurationId,
    pace: 'poll',
    // The age of the newest recovery point and the figures of the last copy to the standby change all the time. A list in which
    // only these values differ counts as unchanged.
    moving: ['recoveryPointAgeMs', 'lastApplySeconds', 'lastApplyBytes'],
    busy: (items) => [...items.values()].some(isOperating),
  };
}

/** Reads the recovery points of a disaster-readiness configuration. */
export function drPointsOf(accountId: string, configurationId: string): Read<PointItem> {
  return {
    key: `drPoints/${configurationId}`,
    ...cursorList<PointItem>('/disaster-readiness/points', { accountId, configurationId }),
    items: pointsIn,
    idOf: (point) => `${point.selectedOperationId}/${point.pointId}`,
    // Poll only every hour, because each poll reads many pages and status shows only twenty recovery points. When the operator
    // knows of a change, it requests a fresh list at once.
    pace: 'hourly',
  };
}
