// Defines the stored state of disaster readiness as plain JSON. Times are milliseconds since 1970. Values that follow from other values,
// such as the readiness, are not stored; each request computes them.
import type { AskedSettings, Circumstances } from './calls/bodies.ts';
import type { OperationKind, Phase } from './durations.ts';
import type { sourceOf } from './source.ts';

/** The names of the recovered environment and of the app to which this environment belongs. */
export interface TargetNames {
  readonly envName: string;
  readonly createNewApp: boolean;
  readonly appName?: string;
}

/**
 * The settings of a configuration, with every default filled in. Without a storageCredentialId the copies use the storage of the source.
 */
export interface ConfigurationSettings
  extends Required<Omit<AskedSettings, 'storageCredentialId' | 'target'>>, Pick<AskedSettings, 'storageCredentialId'> {}

/** Facts about a source environment that its protection stores, in case the source is deleted. */
export type RetainedSource = Readonly<ReturnType<typeof sourceOf>>;

/** A recovery point: a moment in the past to which a source environment can be recovered. */
export interface RecoveryPoint {
  readonly pointId: string;
  readonly operationId: string;
  readonly sequence: number;
  readonly cutoffAt: number;
  readonly bytes: number;
  /** The sizes of the source environment when the point was taken; a recovery allocates the same sizes. */
  readonly sizing: RetainedSource['sizing'];
  readonly configurationId: string;
  readonly createdAt: number;
}

/** The recovery point and the target of an activation, which do not change while the activation runs. */
export interface Pinned {
  readonly pointId: string;
  readonly cutoffAt: number;
  readonly target: TargetNames;
  readonly targetAppEnvId: string;
  readonly targetAppId: string;
}

/** The result of an isolated check; cleanupUnverifiable means that the temporary target of the check may still exist. */
type CheckResult = 'pass' | 'fail' | 'cleanupUnverifiable';

/** How far the temporary target of a check is cleaned up; a client may ignore this. */
type ValidationCleanup = NonNullable<Circumstances['validationCleanup']>;

/** One operation of a protection; the operation is running while `endedAt` is absent. */
export interface Operation {
  readonly operationId: string;
  readonly kind: OperationKind;
  readonly phase: Phase;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly outcome?: 'succeeded' | 'failed' | 'discarded' | 'superseded' | undefined;
  /** How many steps of this phase have failed in a row. */
  readonly failedSteps: number;
  readonly stepDueAt?: number | undefined;
  readonly pinned?: Pinned | undefined;
  readonly check?: CheckResult | undefined;
  readonly validationCleanup?: ValidationCleanup | undefined;
  readonly discardedAt?: number | undefined;
}

/** The size of the machine of a warm standby. */
export type StandbyShape = 'standard' | 'seedBoost' | 'sustained';

/** The standby environment of a warm configuration, which receives every change of the source. */
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
  /** Set by the control surface: the standby has fallen behind, and applies nothing until this is false again. */
  readonly heldBehind: boolean;
}

/** The result of a completed activation. */
export interface ActivationResult extends Omit<Pinned, 'target'> {
  readonly operationId: string;
  readonly completedAt: number;
  readonly engine?: 'postgresql' | 'redis';
}

/** The counts of what the provider still has to clean up. */
export interface CleanupRecord {
  readonly pendingCount: number;
  readonly retainedDiskCount: number;
  readonly retryingCount: number;
  readonly earliestRetentionUntil?: number;
}

/** A state of readiness, and the reason for it. */
export interface StatedReadiness {
  readonly state: string;
  readonly reason?: string | undefined;
}

/** The circumstances that the control surface can set on a configuration and that outlast the request. */
type Lasting = Omit<Circumstances, 'standby' | 'nextPhase' | 'setPhase' | 'pendingCleanup'>;

/** Everything that the control surface has set on a configuration. */
export type ToldRecord = { readonly [Name in keyof Lasting]?: NonNullable<Lasting[Name]> | undefined } & {
  readonly failSteps: number;
  readonly hold: boolean;
  readonly applySeconds: number;
  readonly firstCopyBytes: number;
  readonly pendingCleanup?: CleanupRecord | undefined;
  /** The operation that was running when failSteps was set; its steps fail in every phase. */
  readonly failingOperationId?: string | undefined;
};

/** The protection of one environment. */
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
  /** The completed enrollment of a warm configuration; it stays active, because it feeds changes to the standby. */
  readonly receiverOperationId?: string | undefined;
  readonly lastCheck?: { readonly at: number; readonly result: CheckResult } | undefined;
  readonly points: readonly RecoveryPoint[];
  readonly pointsTaken: number;
  /** When a full copy that replaces a broken chain of snapshots begins and ends. */
  readonly rollover?: { readonly startedAt: number; readonly doneAt: number } | undefined;
  readonly nextSnapshotAt?: number | undefined;
  readonly nextValidationAt?: number | undefined;
  readonly standby?: Standby | undefined;
  readonly activationResult?: ActivationResult | undefined;
  /** When a reset of the configuration began. No work is done after that; the rows stay until the provider has cleaned up. */
  readonly fencedAt?: number | undefined;
  readonly told: ToldRecord;
  /** The events of the configuration since it was last stored; they are not stored with it. */
  readonly happenings?: readonly Happening[];
}

/** An event of a configuration: a line for the ledger, and the effect on disks and environments. */
export interface Happening {
  readonly kind: string;
  readonly operationId?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** True if this event begins the retention of a disk. */
  readonly retainsDisk?: true;
  /** The activation whose recovered environment becomes live with this event. */
  readonly recovers?: Pinned;
}

/** A disk that is kept for a while after its machine was retired, even when the configuration that it belonged to is gone. */
export interface RetainedDisk {
  readonly diskId: string;
  readonly accountId: string;
  readonly sourceAppEnvId: string;
  readonly configurationId: string;
  readonly retentionUntil: number;
}

/** A request that was accepted under its requestId. The same payload gets the same receipt again; any other payload is rejected. */
export interface CallRecord {
  readonly accountId: string;
  readonly requestId: string;
  readonly call: 'configure' | 'validate' | 'activate' | 'discard';
  readonly payload: string;
  readonly receipt: ReceiptRecord;
}

/** The stored receipt of a request for an operation. */
export type ReceiptRecord = Pick<Configuration, 'configurationId' | 'generation'> &
  Pick<Operation, 'operationId' | 'phase'>;
