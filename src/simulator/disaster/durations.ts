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

/** The time a disk is kept after its compute was retired. */
export const DISK_RETENTION_MS = 5 * MINUTE;

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
