// The warm standby: it takes a first copy and then every change in turn, and its machine grows when that takes too long.
// A change of shape happens between two changes and restarts the machine.
import { SECOND, STEP_RETRY_MS } from './durations.ts';
import { withEvidence } from './told-readiness.ts';
import type { Configuration, Standby, StandbyShape, DisclosedRecord } from './model.ts';
import { happened } from './operations.ts';

/** The time a standby is away when its shape changes. */
const RESTART_MS = 30 * SECOND;

/** From this size on, the first copy of a standby is a large one. */
const LARGE_FIRST_COPY_BYTES = 1_000_000_000;

const FIRST_COPY_BYTES_PER_SECOND = 250_000_000;

/** Changes in a row that must be well inside the snapshot interval before a boosted standby gets smaller again. */
const QUICK_CHANGES_AFTER_SEED = 2;

/** Quiet changes in a row before a sustained standby gets smaller again. */
const QUICK_CHANGES_AFTER_SUSTAINED = 6;

/** Snapshot intervals without an applied change after which a standby is said to make no progress. */
const INTERVALS_WITHOUT_PROGRESS = 3;

/** A standby at the beginning of its first copy. */
export function beforeFirstCopy({ firstCopyBytes }: DisclosedRecord, now: number) {
  const shape = shapeFor(firstCopyBytes >= LARGE_FIRST_COPY_BYTES ? 'seedBoost' : 'standard');
  return { ...shape, applying: undefined, firstCopyDone: false, quickChanges: 0, progressAt: now };
}

/** Restarts the first copy, with the size that the control surface set. */
export function withFirstCopyAgain(standby: Standby, told: DisclosedRecord, now: number): Standby {
  const { appliedPointId, lastApplyBytes: bytes = 0 } = standby;
  const applied = appliedPointId === undefined ? [] : [{ pointId: appliedPointId, bytes }];
  const backlog = standby.backlog.length > 0 ? standby.backlog : applied;
  return { ...standby, ...beforeFirstCopy(told, now), backlog };
}

/** A shape of the standby with the reason for it. */
export function shapeFor(shape: StandbyShape): Pick<Standby, 'shape' | 'reason'> {
  return { shape, reason: { standard: undefined, seedBoost: 'catchingUp', sustained: 'standardTooSlow' }[shape] };
}

/** Begins to apply the next change if there is one and none is being applied. */
export function applyNext(configuration: Configuration, now: number): Configuration {
  const { standby, told } = configuration;
  const [change] = standby?.backlog ?? [];
  if (standby === undefined || change === undefined || standby.applying !== undefined || standby.heldBehind) {
    return configuration;
  }
  const firstCopy = !standby.firstCopyDone;
  const startedAt = Math.max(now, standby.restartedUntil);
  const lengthMs = firstCopy ? firstCopyMs(told) : told.applySeconds * SECOND;
  return {
    ...configuration,
    standby: { ...standby, applying: { startedAt, doneAt: startedAt + lengthMs, firstCopy } },
  };
}

function firstCopyMs({ firstCopyBytes }: DisclosedRecord): number {
  return Math.max(1, Math.ceil(firstCopyBytes / FIRST_COPY_BYTES_PER_SECOND)) * SECOND;
}

/** The change in hand is applied: the point it brings is the protected one now. */
export function finishChange(configuration: Configuration, now: number): Configuration {
  const { standby, told, settings } = configuration;
  const [change, ...rest] = standby?.backlog ?? [];
  if (standby?.applying === undefined || change === undefined) return configuration;
  const { applying } = standby;
  const seconds = (applying.doneAt - applying.startedAt) / SECOND;
  const quick = seconds * SECOND <= settings.snapshotIntervalMs / 3;
  const quickChanges = applying.firstCopy || !quick ? 0 : standby.quickChanges + 1;
  const shape = nextShape(standby.shape, quick || applying.firstCopy, quickChanges, rest.length > 0);
  const isSameShape = shape === standby.shape;
  const after: Standby = {
    ...standby,
    applying: undefined,
    ...shapeFor(shape),
    firstCopyDone: true,
    backlog: rest,
    appliedPointId: change.pointId,
    lastApplySeconds: seconds,
    lastApplyBytes: applying.firstCopy ? told.firstCopyBytes : change.bytes,
    quickChanges: isSameShape ? quickChanges : 0,
    progressAt: now,
    restartedUntil: isSameShape ? standby.restartedUntil : now + RESTART_MS,
  };
  const { configurationId } = configuration;
  const applied = { kind: 'standby.applied', detail: { configurationId, pointId: change.pointId, shape } };
  return happened(applyNext({ ...withEvidence(configuration), standby: after }, now), applied);
}

/** The region of the standby is down: the change in hand is tried again later. */
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

/** Tells if nothing is left to apply. */
export function caughtUp(standby: Standby): boolean {
  return standby.firstCopyDone && standby.backlog.length === 0 && !standby.heldBehind;
}

/** True if more than one change is left to apply: one is always under way. */
export function fallenBehind(standby: Standby): boolean {
  return !standby.firstCopyDone || standby.heldBehind || standby.backlog.length > 1;
}

/**
 * No change was applied for several snapshot intervals although some are waiting. A standby that the control surface lets
 * fall behind counts as making progress as long as its configuration is not held.
 */
export function makesNoProgress({ standby, settings, told }: Configuration, now: number): boolean {
  if (standby === undefined || standby.backlog.length === 0) return false;
  if (standby.heldBehind && !told.hold) return false;
  const applyingSince = standby.applying?.startedAt ?? standby.progressAt;
  return now - Math.max(applyingSince, standby.progressAt) > INTERVALS_WITHOUT_PROGRESS * settings.snapshotIntervalMs;
}
