// The warm standby: it takes a first copy and then every change in turn, and its machine grows when that takes too long.
// A change of shape happens between two changes and restarts the machine.
import {
  FIRST_COPY_BYTES_PER_SECOND,
  INTERVALS_WITHOUT_PROGRESS,
  LARGE_FIRST_COPY_BYTES,
  QUICK_CHANGES_AFTER_SEED,
  QUICK_CHANGES_AFTER_SUSTAINED,
  SECOND,
  STANDBY_RESTART_MS,
  STEP_RETRY_MS,
} from '../durations.ts';
import type { ConfigurationRecord, Standby, StandbyShape, DisclosedRecord } from '../model.ts';
import { type OperationOutcome, unchanged } from '../operations.ts';
import { withEvidence } from './told.ts';

/** A standby that has everything before it; `backlog` names the point its first copy brings. */
export function newStandby(
  ids: Pick<Standby, 'targetAppEnvId' | 'targetAppId'>,
  told: DisclosedRecord,
  backlog: Standby['backlog'],
  now: number,
): Standby {
  return {
    ...ids,
    ...shapeOfFirstCopy(told),
    firstCopyDone: false,
    backlog,
    restartedUntil: now,
    quickChanges: 0,
    progressAt: now,
    heldBehind: false,
  };
}

/** Starts the first copy over, of the size the control surface told. */
export function withFirstCopyAgain(standby: Standby, told: DisclosedRecord, now: number): Standby {
  const { applying: _stopped, reason: _reason, ...rest } = standby;
  const first = standby.backlog.length > 0 ? standby.backlog : appliedAgain(standby);
  return { ...rest, ...shapeOfFirstCopy(told), firstCopyDone: false, backlog: first, quickChanges: 0, progressAt: now };
}

function appliedAgain({ appliedPointId, lastApplyBytes }: Standby): Standby['backlog'] {
  return appliedPointId === undefined ? [] : [{ pointId: appliedPointId, bytes: lastApplyBytes ?? 0 }];
}

function shapeOfFirstCopy({ firstCopyBytes }: DisclosedRecord): Pick<Standby, 'shape' | 'reason'> {
  return firstCopyBytes >= LARGE_FIRST_COPY_BYTES
    ? { shape: 'seedBoost', reason: 'catchingUp' }
    : { shape: 'standard' };
}

/** Begins to apply the next change if there is one and none is being applied. */
export function applyNext(configuration: ConfigurationRecord, now: number): ConfigurationRecord {
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
export function finishChange(configuration: ConfigurationRecord, now: number): OperationOutcome {
  const { standby, told, settings } = configuration;
  const [change, ...rest] = standby?.backlog ?? [];
  if (standby?.applying === undefined || change === undefined) return unchanged(configuration);
  const { applying, reason: _reason, ...kept } = standby;
  const seconds = (applying.doneAt - applying.startedAt) / SECOND;
  const quick = seconds * SECOND <= settings.snapshotIntervalMs / 3;
  const quickChanges = applying.firstCopy || !quick ? 0 : standby.quickChanges + 1;
  const shape = nextShape(standby.shape, { quick: quick || applying.firstCopy, quickChanges, behind: rest.length > 0 });
  const after: Standby = {
    ...kept,
    ...shape,
    firstCopyDone: true,
    backlog: rest,
    appliedPointId: change.pointId,
    lastApplySeconds: seconds,
    lastApplyBytes: applying.firstCopy ? told.firstCopyBytes : change.bytes,
    quickChanges: shape.shape === standby.shape ? quickChanges : 0,
    progressAt: now,
    restartedUntil: shape.shape === standby.shape ? standby.restartedUntil : now + STANDBY_RESTART_MS,
  };
  const { configurationId } = configuration;
  const applied = { kind: 'standby.applied', detail: { configurationId, pointId: change.pointId, shape: shape.shape } };
  return {
    configuration: applyNext({ ...withEvidence(configuration), standby: after }, now),
    happenings: [applied],
  };
}

/** The region of the standby is down: the change in hand is tried again later. */
export function postponeChange(configuration: ConfigurationRecord, now: number): OperationOutcome {
  const { standby } = configuration;
  if (standby?.applying === undefined) return unchanged(configuration);
  const applying = { ...standby.applying, doneAt: now + STEP_RETRY_MS };
  return unchanged({ ...configuration, standby: { ...standby, applying } });
}

interface Pace {
  readonly quick: boolean;
  readonly quickChanges: number;
  readonly behind: boolean;
}

function nextShape(shape: StandbyShape, pace: Pace): Pick<Standby, 'shape' | 'reason'> {
  switch (shape) {
    case 'seedBoost':
      return !pace.behind && pace.quickChanges >= QUICK_CHANGES_AFTER_SEED
        ? { shape: 'standard' }
        : { shape, reason: 'catchingUp' };
    case 'standard':
      return pace.quick ? { shape } : { shape: 'sustained', reason: 'standardTooSlow' };
    case 'sustained':
      return pace.quickChanges >= QUICK_CHANGES_AFTER_SUSTAINED
        ? { shape: 'standard' }
        : { shape, reason: 'standardTooSlow' };
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
 * No change was applied for several snapshot intervals although some are waiting. A standby that was told to have fallen
 * behind is taken to make progress as long as its configuration is not held.
 */
export function makesNoProgress({ standby, settings, told }: ConfigurationRecord, now: number): boolean {
  if (standby === undefined || standby.backlog.length === 0) return false;
  if (standby.heldBehind && !told.hold) return false;
  const applyingSince = standby.applying?.startedAt ?? standby.progressAt;
  return now - Math.max(applyingSince, standby.progressAt) > INTERVALS_WITHOUT_PROGRESS * settings.snapshotIntervalMs;
}
