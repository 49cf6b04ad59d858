// Defines how long operations and their phases take. The interface gives only 12 hours, six failed steps and "about 15 minutes". The other
// times are chosen so that a protection is Ready 20 seconds after its request, and an activation takes about 20 seconds more.

/** The kind of an operation. A warm enrollment never ends, because it feeds changes to the standby. */
export type OperationKind = 'enrollment' | 'validation' | 'activation';

/** The phases of all operations. Only the control surface moves an operation into `promoted` or `handingOver`. */
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

/** A phase of an operation. */
export type Phase = (typeof PHASES)[number];

/** A second in milliseconds. */
export const SECOND = 1_000;

/** A minute in milliseconds. */
export const MINUTE = 60 * SECOND;

/** An hour in milliseconds. */
export const HOUR = 60 * MINUTE;

/** A day in milliseconds. */
export const DAY = 24 * HOUR;

/** How long to wait before a failed step is tried again; six failed steps take about 15 minutes. */
export const STEP_RETRY_MS = 150 * SECOND;

/** How long the disk of a machine is kept after the machine was retired. */
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

/** Returns how long one step takes in a phase of an operation. */
export function stepLengthMs(kind: OperationKind, phase: Phase): number {
  return LENGTHS[kind][phase] ?? SECOND;
}
