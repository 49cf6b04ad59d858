// The phases of operations and how long things take. The interface names only the 12 hours, the six failed steps and "about 15 minutes"; the rest is
// chosen so that a protection is Ready 20 seconds after it was asked for and an activation takes about 20 more.

/** The kind of an operation. The enrollment of a warm configuration stays on as the receiver of its changes. */
export type OperationKind = 'enrollment' | 'validation' | 'activation';

/** The phases of all operations; `promoted` and `handingOver` are reached only through the control surface. */
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
