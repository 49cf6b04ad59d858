// Defines how long each phase of a disaster-readiness operation takes. Of these durations, the API documentation gives
// only one: six failed steps in a row take "about 15 minutes" together, with the delay after each. The others are
// chosen so that a cold protection is ready 20 seconds after its request, and a cold activation takes about 20 seconds.

/**
 * The kind of a disaster-readiness operation. An enrollment prepares the protection of an environment: it makes the first copy and checks
 * it. In a warm configuration it then stays open, because it feeds changes to the standby.
 */
export type OperationKind = 'enrollment' | 'validation' | 'activation';

/**
 * The phases of all disaster-readiness operations. An operation reaches `promoted` and `handingOver` only after a control request (/_sim)
 * has set one of these two phases.
 */
export const PHASES = [
  'queued',
  'preparing',
  'validating',
  'restoring',
  'promoting',
  'starting',
  'promoted',
  'handingOver',
  'succeeded',
  'failed',
  'cleaning',
] as const;

/** A phase of a disaster-readiness operation, such as `queued` or `restoring`. */
export type Phase = (typeof PHASES)[number];

/** One second in milliseconds. */
export const SECOND = 1_000;

/** One minute in milliseconds. */
export const MINUTE = 60 * SECOND;

/** One hour in milliseconds. */
export const HOUR = 60 * MINUTE;

/** One day in milliseconds. */
export const DAY = 24 * HOUR;

/** Delay before a failed step is retried. So six failed steps in a row take about 15 minutes together. */
export const STEP_RETRY_MS = 150 * SECOND;

/** How long a disk is kept after its machine was removed. */
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

/** Returns the duration of one step in a phase of an operation. */
export function stepLengthMs(kind: OperationKind, phase: Phase): number {
  return LENGTHS[kind][phase] ?? SECOND;
}
