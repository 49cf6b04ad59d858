// Defines the stored state of disaster readiness as plain JSON. Times are milliseconds since 1970. Values that follow from other values,
// such as the readiness, are not stored; each request computes them.
import type { AskedSettings, Circumstances } from './bodies.ts';
import type { OperationKind, Phase } from './durations.ts';
import type { sourceOf } from './source.ts';

/** The names of the recovered environment and of the app to which this environment belongs. */
export interface TargetNames {
  readonly envName: string;
  readonly createNewApp: boolean;
  readonly appName?: string;
}

/**
 * The settings of a configuration, with every default filled in. Without storageCredentialId, the copies use the
 * storage of the source; null means the storage of the platform.
 */
export interface ConfigurationSettings
  extends Required<Omit<AskedSettings, 'storageCredentialId' | 'target'>>, Pick<AskedSettings, 'storageCredentialId'> {}

/**
 * The data about a source environment that its configuration stores at each configure request. The data stays if the
 * environment is deleted.
 */
export type RetainedSource = Readonly<ReturnType<typeof sourceOf>>;

/** A recovery point: a moment in the past to which a source environment can be recovered. */
export interface RecoveryPoint {
  readonly pointId: string;
  readonly operationId: string;
  readonly sequence: number;
  readonly cutoffAt: number;
  readonly bytes: number;
  /**
   * The sizes of the source environment at the time of this recovery point. GET /disaster-readiness/points can show them as
   * `retainedSizing`.
   */
  readonly sizing: RetainedSource['sizing'];
  readonly configurationId: string;
  readonly createdAt: number;
}

/** The recovery point and the target of an activation. They are fixed when the activation begins. */
export interface Pinned {
  readonly pointId: string;
  readonly cutoffAt: number;
  readonly target: TargetNames;
  readonly targetAppEnvId: string;
  readonly targetAppId: string;
}

/** The result of an isolated validation. `cleanupUnverifiable` means that the validation's temporary target may still exist. */
type CheckResult = 'pass' | 'fail' | 'cleanupUnverifiable';

/**
 * The cleanup of a validation's temporary target as it was last observed. The observation does not prove that the
 * target was deleted.
 */
type ValidationCleanup = NonNullable<Circumstances['validationCleanup']>;

/** An operation of a disaster-readiness configuration, such as an enrollment or an activation. It is running while `endedAt` is absent. */
export interface Operation {
  readonly operationId: string;
  readonly kind: OperationKind;
  readonly phase: Phase;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly outcome?: 'succeeded' | 'failed' | 'discarded' | 'superseded' | undefined;
  /** Number of consecutive failed steps in the current phase. */
  readonly failedSteps: number;
  readonly stepDueAt?: number | undefined;
  readonly pinned?: Pinned | undefined;
  readonly check?: CheckResult | undefined;
  readonly validationCleanup?: ValidationCleanup | undefined;
  readonly discardedAt?: number | undefined;
}

/** The size of the machine of a warm standby. */
export type StandbyShape = 'standard' | 'seedBoost' | 'sustained';

/** The standby environment of a warm configuration, to which every change of the source is applied. */
export interface Standby {
  readonly targetAppEnvId: string;
  readonly targetAppId: string;
  readonly shape: StandbyShape;
  readonly reason?: string | undefined;
  readonly firstCopyDone: boolean;
  /** The changes that the standby has not applied yet, oldest first. */
  readonly backlog: readonly Pick<RecoveryPoint, 'pointId' | 'bytes'>[];
  readonly applying?: { readonly startedAt: number; readonly doneAt: number } | undefined;
  readonly restartedUntil: number;
  readonly appliedPointId?: string | undefined;
  readonly lastApplySeconds?: number | undefined;
  readonly lastApplyBytes?: number | undefined;
  readonly quickChanges: number;
  readonly progressAt: number;
  /** True if a control request (/_sim) has set the standby as not caught up. The standby then applies no changes. */
  readonly heldBehind: boolean;
}

/** The result of a completed activation. */
export interface ActivationResult extends Omit<Pinned, 'target'> {
  readonly operationId: string;
  readonly completedAt: number;
  readonly engine?: 'postgresql' | 'redis';
}

/** Counts of the resources that the provider still has to clean up after a recovery or validation. */
export interface CleanupRecord {
  readonly pendingCount: number;
  readonly retainedDiskCount: number;
  readonly retryingCount: number;
  readonly earliestRetentionUntil?: number;
}

/** The state of a configuration's readiness, such as `needsAttention`, and its reason. */
export interface StatedReadiness {
  readonly state: string;
  readonly reason?: string | undefined;
}

/** The simulated conditions that a configuration stores exactly as a control request (/_sim) has sent them. */
type Lasting = Omit<Circumstances, 'standby' | 'nextPhase' | 'setPhase' | 'pendingCleanup'>;

/** All conditions of a configuration that control requests (/_sim) have set, such as failing steps. */
export type ToldRecord = { readonly [Name in keyof Lasting]?: NonNullable<Lasting[Name]> | undefined } & {
  readonly failSteps: number;
  readonly hold: boolean;
  readonly applySeconds: number;
  readonly firstCopyBytes: number;
  readonly pendingCleanup?: CleanupRecord | undefined;
  /**
   * The id of the operation that was running when a control request (/_sim) set `failSteps`, the number of steps that
   * are to fail. Every step of this operation can fail; of other operations, only the steps that need a region.
   */
  readonly failingOperationId?: string | undefined;
};

/** The disaster-readiness configuration of one environment: its settings, operations, recovery points and standby. */
export interface Configuration {
  readonly configurationId: string;
  readonly accountId: string;
  readonly sourceAppEnvId: string;
  readonly createdAt: number;
  readonly generation: number;
  readonly settings: ConfigurationSettings;
  readonly target?: TargetNames | undefined;
  readonly source: RetainedSource;
  readonly enrolled: boolean;
  readonly operations: readonly Operation[];
  readonly activeOperationId?: string | undefined;
  /**
   * The id of the enrollment of a warm configuration once this enrollment is complete. The enrollment then continues to
   * feed changes to the standby, and is the active operation whenever no activation is running.
   */
  readonly receiverOperationId?: string | undefined;
  readonly lastCheck?: { readonly at: number; readonly result: CheckResult } | undefined;
  readonly points: readonly RecoveryPoint[];
  readonly pointsTaken: number;
  /** Start and end of the full copy that is replacing a broken chain of snapshots; absent if there is no such copy. */
  readonly rollover?: { readonly startedAt: number; readonly doneAt: number } | undefined;
  readonly nextSnapshotAt?: number | undefined;
  readonly nextValidationAt?: number | undefined;
  readonly standby?: Standby | undefined;
  readonly activationResult?: ActivationResult | undefined;
  /**
   * Time at which a reset stopped all work of the configuration because the provider still had to clean up. The configuration stays stored
   * until a later reset deletes it.
   */
  readonly fencedAt?: number | undefined;
  readonly told: ToldRecord;
  /** The events since the configuration was last stored. They are written to the change log and not into the stored configuration. */
  readonly happenings?: readonly Happening[];
}

/**
 * An event of a configuration, such as the end of an operation. It is written to the change log when the configuration
 * is stored or deleted. An event with `recovers` then also creates the recovered environment, and one with
 * `retainsDisk` keeps a disk for some time.
 */
export interface Happening {
  readonly kind: string;
  readonly operationId?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** True if this event removes a machine but keeps its disk for some time. */
  readonly retainsDisk?: true;
  /**
   * The recovery point and the target of an activation that this event completes. When the event is written to the
   * change log, the recovered environment is created.
   */
  readonly recovers?: Pinned;
}

/** A disk that is retained for some time after its machine was removed, even if its configuration was deleted. */
export interface RetainedDisk {
  readonly diskId: string;
  readonly accountId: string;
  readonly sourceAppEnvId: string;
  readonly configurationId: string;
  readonly retentionUntil: number;
}

/**
 * A disaster-readiness request that was accepted, with its requestId. A later request with this requestId gets the same
 * receipt if its payload is the same, and is rejected otherwise.
 */
export interface CallRecord {
  readonly accountId: string;
  readonly requestId: string;
  readonly call: 'configure' | 'validate' | 'activate' | 'discard';
  readonly payload: string;
  readonly receipt: ReceiptRecord;
}

/**
 * The stored receipt of an accepted request. It contains the id of the configuration, the id of the operation, the generation and the
 * phase.
 */
export type ReceiptRecord = Pick<Configuration, 'configurationId' | 'generation'> &
  Pick<Operation, 'operationId' | 'phase'>;
