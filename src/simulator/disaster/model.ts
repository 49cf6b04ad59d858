// Disaster readiness as plain JSON: what the world keeps, nothing derived. Instants are milliseconds since the epoch;
// everything a client sees (readiness, hints, receipts) is computed from this at request time.
import type { Circumstances } from './calls/bodies.ts';
import type { OperationKind, Phase } from './durations.ts';

/** The names a recovered environment gets. */
export interface TargetNames {
  readonly envName: string;
  readonly createNewApp: boolean;
  readonly appName?: string;
}

/** The storage of the copies: that of the source, the platform's, or one behind a credential. */
export type Storage =
  | { readonly kind: 'inherited' }
  | { readonly kind: 'platform' }
  | { readonly kind: 'credential'; readonly credentialId: string };

/** The settings of a configuration with every default filled in. */
export interface ConfigurationSettings {
  readonly destinationRegion: string;
  /** Cold is restored on demand, warm is received all the time by a standby. */
  readonly mode: 'cold' | 'warm';
  readonly storage: Storage;
  readonly snapshotIntervalMs: number;
  readonly validationIntervalMs: number;
  readonly rpoTargetMs: number;
  readonly rtoTargetMs: number;
  readonly sameRegionAcknowledged: boolean;
}

/** Sizes of a source, frozen when a point is taken: a preview of what a recovery allocates. */
interface Sizing {
  readonly replicas: number;
  readonly zClouds?: number;
  readonly cpu: number;
  readonly cpuRequest: number;
  readonly memoryMb: number;
  readonly memoryRequestMb: number;
  readonly volumeCapacities: readonly string[];
}

/** The facts of a source that a configuration keeps, so that it can be judged when the source is gone. */
export interface RetainedSource {
  readonly appId: string;
  readonly appName: string;
  readonly environmentName: string;
  readonly region: string;
  readonly dockerPreset: string;
  readonly isDatabase: boolean;
  readonly sizing?: Sizing;
}

/** A moment of the source that can be recovered. */
export interface RecoveryPoint {
  readonly pointId: string;
  readonly operationId: string;
  readonly sequence: number;
  readonly cutoffAt: number;
  readonly bytes: number;
  readonly sizing?: Sizing | undefined;
}

/** The point and the target of an activation: pinned, never substituted. */
export interface Pinned {
  readonly pointId: string;
  readonly cutoffAt: number;
  readonly target: TargetNames;
  readonly targetAppEnvId: string;
  readonly targetAppId: string;
}

/** The result of an isolated check; cleanupUnverifiable when its remains are not proved to be gone. */
type CheckResult = 'pass' | 'fail' | 'cleanupUnverifiable';

/** Advisory progress of the retirement of a check's temporary target. */
type ValidationCleanup = NonNullable<Circumstances['validationCleanup']>;

/** One journaled piece of protection work. It is running while `endedAt` is absent. */
export interface Operation {
  readonly operationId: string;
  readonly kind: OperationKind;
  readonly phase: Phase;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly outcome?: 'succeeded' | 'failed' | 'discarded' | 'superseded' | undefined;
  /** Steps that failed in a row in this phase. */
  readonly failedSteps: number;
  readonly stepDueAt?: number | undefined;
  readonly pinned?: Pinned | undefined;
  readonly check?: CheckResult | undefined;
  readonly validationCleanup?: ValidationCleanup | undefined;
  readonly discardedAt?: number | undefined;
}

/** The shape of a warm standby's machine. */
export type StandbyShape = 'standard' | 'seedBoost' | 'sustained';

/** The receiving side of a warm configuration. */
export interface Standby {
  readonly targetAppEnvId: string;
  readonly targetAppId: string;
  readonly shape: StandbyShape;
  readonly reason?: string | undefined;
  readonly firstCopyDone: boolean;
  /** The changes on their way into it. */
  readonly backlog: readonly Pick<RecoveryPoint, 'pointId' | 'bytes'>[];
  readonly applying?: { readonly startedAt: number; readonly doneAt: number; readonly firstCopy: boolean } | undefined;
  readonly restartedUntil: number;
  readonly appliedPointId?: string | undefined;
  readonly lastApplySeconds?: number | undefined;
  readonly lastApplyBytes?: number | undefined;
  readonly quickChanges: number;
  readonly progressAt: number;
  /** Set by the control surface: the standby has fallen behind and applies nothing until this is cleared. */
  readonly heldBehind: boolean;
}

/** The result of a completed activation. */
export interface ActivationResult extends Omit<Pinned, 'target'> {
  readonly operationId: string;
  readonly completedAt: number;
  readonly engine?: 'postgresql' | 'redis';
}

/** Counts of what still has to be cleaned up. */
export interface CleanupRecord {
  readonly pendingCount: number;
  readonly retainedDiskCount: number;
  readonly retryingCount: number;
  readonly earliestRetentionUntil?: number;
}

/** Everything that the control surface set on this configuration. */
export interface DisclosedRecord {
  readonly readiness?: NonNullable<Circumstances['readiness']> | undefined;
  readonly failSteps: number;
  /** The operation under way when failSteps was set: its steps fail in every phase. */
  readonly failingOperationId?: string | undefined;
  readonly hold: boolean;
  readonly engineUnavailableReason?: string | undefined;
  readonly nextValidation?: CheckResult | undefined;
  readonly pendingCleanup?: CleanupRecord | undefined;
  /** Shown with the active operation until an operation ends. */
  readonly validationCleanup?: ValidationCleanup | undefined;
  readonly applySeconds: number;
  readonly firstCopyBytes: number;
}

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
  /** The enrollment whose journal a warm configuration's point comes from. */
  readonly receiverOperationId?: string | undefined;
  readonly lastCheck?: { readonly at: number; readonly result: CheckResult } | undefined;
  readonly points: readonly RecoveryPoint[];
  readonly pointsTaken: number;
  /** The full copy that replaces a broken chain of snapshots: its beginning and its end. */
  readonly rollover?: { readonly startedAt: number; readonly doneAt: number } | undefined;
  readonly nextSnapshotAt?: number | undefined;
  readonly nextValidationAt?: number | undefined;
  readonly standby?: Standby | undefined;
  readonly activationResult?: ActivationResult | undefined;
  /** A reset has begun: no protection work any more, the records stay until the provider has cleaned up. */
  readonly fencedAt?: number | undefined;
  readonly told: DisclosedRecord;
  /** What has happened to it since it was last kept; no part of its row. */
  readonly happenings?: readonly Happening[];
}

/** A line for the ledger about a configuration, and its effects on other things. */
export interface Happening {
  readonly kind: string;
  readonly operationId?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** A disk stays behind under its retention policy. */
  readonly retainsDisk?: true;
  /** A recovered environment became live. */
  readonly recovers?: Pinned;
}

/** A disk kept under its retention policy after its compute was retired; it outlives its configuration. */
export interface RetainedDisk {
  readonly diskId: string;
  readonly accountId: string;
  readonly sourceAppEnvId: string;
  readonly configurationId: string;
  readonly retentionUntil: number;
}

/** A stored call by requestId: the same payload gets the same receipt, any other is rejected. */
export interface CallRecord {
  readonly accountId: string;
  readonly requestId: string;
  readonly call: 'configure' | 'validate' | 'activate' | 'discard';
  readonly payload: string;
  readonly receipt: ReceiptRecord;
}

/** The answer to a journaled call. */
export interface ReceiptRecord {
  readonly configurationId: string;
  readonly operationId: string;
  readonly generation: number;
  readonly phase: Phase;
}
