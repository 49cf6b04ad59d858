// Runs a warm standby, which applies a first copy and then every change in order. Its machine grows when changes take too long, and shrinks
// again later. A new size restarts the machine between two changes.
import { SECOND, STEP_RETRY_MS } from './durations.ts';
import { withEvidence } from './told-readiness.ts';
import type { Configuration, Standby, StandbyShape, ToldRecord } from './model.ts';
import { happened } from './operations.ts';

/** How long a standby restarts when its machine gets another size. */
const RESTART_MS = 30 * SECOND;

/** The size from which a first copy gets a larger machine. */
const LARGE_FIRST_COPY_BYTES = 1_000_000_000;

const FIRST_COPY_BYTES_PER_SECOND = 250_000_000;

/** The number of quick changes in a row after which a machine that grew for the first copy shrinks again. */
const QUICK_CHANGES_AFTER_SEED = 2;

/** The number of quick changes in a row after which a machine that grew for slow changes shrinks again. */
const QUICK_CHANGES_AFTER_SUSTAINED = 6;

/** The number of snapshot intervals without an applied change after which a standby counts as making no progress. */
const INTERVALS_WITHOUT_PROGRESS = 3;

/** Returns the fields of a standby that waits for its first copy. */
export function beforeFirstCopy({ firstCopyBytes }: ToldRecord, now: number) {
  const shape = shapeFor(firstCopyBytes >= LARGE_FIRST_COPY_BYTES ? 'seedBoost' : 'standard');
  return { ...shape, applying: undefined, firstCopyDone: false, quickChanges: 0, progressAt: now };
}

/** Restarts the first copy of a standby, with the size that the control surface set. */
export function withFirstCopyAgain(standby: Standby, told: ToldRecord, now: number): Standby {
  const { appliedPointId, lastApplyBytes: bytes = 0 } = standby;
  const applied = appliedPointId === undefined ? [] : [{ pointId: appliedPointId, bytes }];
  const backlog = standby.backlog.length > 0 ? standby.backlog : applied;
  return { ...standby, ...beforeFirstCopy(told, now), backlog };
}

/** Returns the size of a standby's machine together with the reason for this size. */
export function shapeFor(shape: StandbyShape): Pick<Standby, 'shape' | 'reason'> {
  return { shape, reason: { standard: undefined, seedBoost: 'catchingUp', sustained: 'standardTooSlow' }[shape] };
}

/** Begins to apply the next change to a standby, unless it is applying another one or is held back. */
export function applyNext(configuration: Configuration, now: number): Configuration {
  const { standby, told } = configuration;
  const [change] = standby?.backlog ?? [];
  if (standby === undefined || change === undefined || standby.applying !== undefined || standby.heldBehind) {
    return configuration;
  }
  const startedAt = Math.max(now, standby.restartedUntil);
  const lengthMs = standby.firstCopyDone ? told.applySeconds * SECOND : firstCopyMs(told);
  return { ...configuration, standby: { ...standby, applying: { startedAt, doneAt: startedAt + lengthMs } } };
}

function firstCopyMs({ firstCopyBytes }: ToldRecord): number {
  return Math.max(1, Math.ceil(firstCopyBytes / FIRST_COPY_BYTES_PER_SECOND)) * SECOND;
}

/** Finishes the change that the standby is applying; the recovery point of the change becomes the protected one. */
export function finishChange(configuration: Configuration, now: number): Configuration {
  const { standby, told, settings } = configuration;
  const [change, ...rest] = standby?.backlog ?? [];
  if (standby?.applying === undefined || change === undefined) return configuration;
  const { applying, firstCopyDone } = standby;
  const seconds = (applying.doneAt - applying.startedAt) / SECOND;
  const quick = seconds * SECOND <= settings.snapshotIntervalMs / 3;
  const quickChanges = firstCopyDone && quick ? standby.quickChanges + 1 : 0;
  const shape = nextShape(standby.shape, quick || !firstCopyDone, quickChanges, rest.length > 0);
  const isSameShape = shape === standby.shape;
  const after: Standby = {
    ...standby,
    applying: undefined,
    ...shapeFor(shape),
    firstCopyDone: true,
    backlog: rest,
    appliedPointId: change.pointId,
    lastApplySeconds: seconds,
    lastApplyBytes: firstCopyDone ? change.bytes : told.firstCopyBytes,
    quickChanges: isSameShape ? quickChanges : 0,
    progressAt: now,
    restartedUntil: isSameShape ? standby.restartedUntil : now + RESTART_MS,
  };
  const { configurationId } = configuration;
  const applied = { kind: 'standby.applied', detail: { configurationId, pointId: change.pointId, shape } };
  return happened(applyNext({ ...withEvidence(configuration), standby: after }, now), applied);
}

/** Delays the change that the standby is applying, because the region of the standby is down. */
export function postponeChange(configuration: Configuration, now: number): Configuration {
  const { standby } = configuration;
  if (standby?.applying === undefined) return configuration;
  const applying = { ...standby.applying, doneAt: now + STEP_RETRY_MS };
  return { ...configuration, standby: { ...standby, applying } };
}

function nextShape(shape: StandbyShape, quick: boolean, quickChanges: number, behind: boolean): StandbyShape {
  switch (shape) {
    case 'seedBoost':
      return !behind && quickChanges >= QUICK_CHANGES_AFTER_SEED ? 'standard' : shape;
    case 'standard':
      return quick ? shape : 'sustained';
    case 'sustained':
      return quickChanges >= QUICK_CHANGES_AFTER_SUSTAINED ? 'standard' : shape;
  }
}

/** Tells if a standby has applied every change. */
export function caughtUp(standby: Standby): boolean {
  return standby.firstCopyDone && standby.backlog.length === 0 && !standby.heldBehind;
}

/** Tells if a standby has fallen behind: its first copy is not done, it is held back, or more than one change waits. */
export function fallenBehind(standby: Standby): boolean {
  return !standby.firstCopyDone || standby.heldBehind || standby.backlog.length > 1;
}

/**
 * Tells if changes wait but the standby has applied none for several snapshot intervals. A standby that the control surface holds back
 * still counts as making progress, unless its whole configuration is held.
 */
export function makesNoProgress({ standby, settings, told }: Configuration, now: number): boolean {
  if (standby === undefined || standby.backlog.length === 0) return false;
  if (standby.heldBehind && !told.hold) return false;
  const applyingSince = standby.applying?.startedAt ?? standby.progressAt;
  return now - Math.max(applyingSince, standby.progressAt) > INTERVALS_WITHOUT_PROGRESS * settings.snapshotIntervalMs;
}
