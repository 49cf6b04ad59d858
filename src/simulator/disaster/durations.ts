// Durations and limits. The interface names only the 12 hours, the six failed steps and "about 15 minutes"; the rest is
// chosen so that a protection is Ready 20 seconds after it was asked for and an activation takes about 20 more.
import type { OperationKind, Phase } from './model.ts';

/** A second in milliseconds. */
export const SECOND = 1_000;

/** A minute in milliseconds. */
export const MINUTE = 60 * SECOND;

/** An hour in milliseconds. */
export const HOUR = 60 * MINUTE;

/** A day in milliseconds. */
export const DAY = 24 * HOUR;

/** A failing step is tried again after this long: six of them take about 15 minutes. */
export const STEP_RETRY_MS = 150 * SECOND;

/** Consecutive failed steps after which a cold activation may be discarded. */
export const DISCARD_AFTER_FAILED_STEPS = 6;

/** The time past the RPO target for which a chain rollover or a standby catching up stays the reason. */
export const EXCUSE_MS = 12 * HOUR;

/** The length of a full copy that replaces a chain of snapshots with a gap in it. */
export const ROLLOVER_MS = 60 * SECOND;

/** The time a disk is kept after its compute was retired. */
export const DISK_RETENTION_MS = 5 * MINUTE;

/** The time a standby is away when its shape changes. */
export const STANDBY_RESTART_MS = 30 * SECOND;

/** From this size on, the first copy of a standby is a large one. */
export const LARGE_FIRST_COPY_BYTES = 1_000_000_000;

/** The speed of a first copy into a standby. */
export const FIRST_COPY_BYTES_PER_SECOND = 250_000_000;

/** Changes in a row that must be well inside the snapshot interval before a boosted standby gets smaller again. */
export const QUICK_CHANGES_AFTER_SEED = 2;

/** Quiet changes in a row before a sustained standby gets smaller again. */
export const QUICK_CHANGES_AFTER_SUSTAINED = 6;

/** Snapshot intervals without an applied change after which a standby is said to make no progress. */
export const INTERVALS_WITHOUT_PROGRESS = 3;

/** Evidence of a validation expires after this many validation intervals. */
export const VALIDATION_EXPIRES_AFTER_INTERVALS = 2;

const LENGTHS: Readonly<Record<OperationKind, Partial<Readonly<Record<Phase, number>>>>> = {
  enrollment: { queued: 2 * SECOND, preparing: 8 * SECOND, validating: 10 * SECOND },
  validation: { queued: 2 * SECOND, validating: 10 * SECOND, cleaning: 8 * SECOND },
  activation: {
    queued: 2 * SECOND,
    restoring: 10 * SECOND,
    promoting: 5 * SECOND,
    starting: 5 * SECOND,
    promoted: 5 * SECOND,
    handingOver: 5 * SECOND,
    cleaning: 10 * SECOND,
  },
};

/** The length of one step in this phase. */
export function stepLengthMs(kind: OperationKind, phase: Phase): number {
  return LENGTHS[kind][phase] ?? SECOND;
}
