// Makes the copies of a source environment: its recovery points and, in a warm configuration, the standby to which
// these points are applied.
import { hash as hashWith } from 'node:crypto';

import type { World } from '../../store/store.ts';
import { SECOND, STEP_RETRY_MS } from './durations.ts';
import type { Configuration, RecoveryPoint, Standby, StandbyShape, StatedReadiness, ToldRecord } from './model.ts';
import { happened } from './operations.ts';
import { sourceNow } from './surroundings.ts';

/** The maximum number of recovery points that a configuration keeps. */
const KEPT = 1_000;

const FULL_COPY_BYTES = 100_000_000;

/**
 * Takes a snapshot of the source and adds it to the recovery points, with the time `cutoffAt`. In a warm configuration, the snapshot is
 * also added to the queue of changes that the standby applies one after the other.
 */
export function takeSnapshot(world: World, configuration: Configuration, cutoffAt = world.now): Configuration {
  const { configurationId } = configuration;
  const sequence = configuration.pointsTaken + 1;
  const point: RecoveryPoint = {
    pointId: hash(`${configurationId}/${sequence}/${cutoffAt}`),
    operationId: world.id('op'),
    sequence,
    cutoffAt,
    bytes: configuration.points.length === 0 ? FULL_COPY_BYTES : 1_000_000 + ((sequence * 7_919) % 4_000_000),
    sizing: (sourceNow(world, configuration) ?? configuration.source).sizing,
    configurationId,
    createdAt: cutoffAt,
  };
  const taken: Configuration = withoutToldReadiness({
    ...configuration,
    points: [...configuration.points, point].slice(-KEPT),
    pointsTaken: sequence,
  });
  const { pointId, bytes } = point;
  const { standby } = configuration;
  const queued = standby && { ...standby, backlog: [...standby.backlog, { pointId, bytes }] };
  const created = { kind: 'point.created', detail: { pointId, cutoffAt } };
  return happened(applyNext({ ...taken, standby: queued }, world.now), created);
}

/**
 * Returns the protected recovery point: of a cold protection, the newest point; of a warm protection, the point that its standby applied
 * last.
 */
export function protectedPoint(configuration: Configuration): RecoveryPoint | undefined {
  if (configuration.settings.mode === 'cold') return configuration.points.at(-1);
  const applied = configuration.standby?.appliedPointId;
  return applied === undefined ? undefined : configuration.points.find(({ pointId }) => pointId === applied);
}

/**
 * Lists the recovery points that an activation request may name, each with its selectedOperationId. For a cold
 * protection, these are all its points. For a warm protection, it is only the point that the standby applied last, and
 * only once the enrollment is complete. The request may still be refused for other reasons.
 */
export function selectablePoints(configuration: Configuration): readonly RecoveryPoint[] {
  const { points, settings, receiverOperationId, enrolled } = configuration;
  if (settings.mode === 'cold') return points;
  const point = protectedPoint(configuration);
  if (point === undefined || receiverOperationId === undefined || !enrolled) return [];
  return [{ ...point, operationId: receiverOperationId }];
}

/** True if the size of the source environment in the recovery point equals its size at the last configure request. */
export function keepsContract(configuration: Configuration, point: RecoveryPoint): boolean {
  return JSON.stringify(configuration.source.sizing) === JSON.stringify(point.sizing);
}

/** Returns the SHA-256 hash of a string as 64 hexadecimal characters. */
export function hash(text: string): string {
  return hashWith('sha256', text);
}

// Runs a warm standby, which applies a first copy and then every change of the source, in order. If the first copy is
// large, or a change takes long to apply, the standby gets a larger machine for some time. Each resize restarts the
// machine before the next change is applied.

/** How long the machine of a standby takes to restart when it is resized. */
const RESTART_MS = 30 * SECOND;

/** If the first copy of a standby has at least this number of bytes, the standby gets a larger machine. */
const LARGE_FIRST_COPY_BYTES = 1_000_000_000;

const FIRST_COPY_BYTES_PER_SECOND = 250_000_000;

/**
 * A standby whose machine was enlarged for a large first copy gets a standard machine again after this number of
 * quickly applied changes in a row.
 */
const QUICK_CHANGES_AFTER_SEED = 2;

/**
 * A standby whose machine was enlarged because a change took too long gets a standard machine again after this number
 * of quickly applied changes in a row.
 */
const QUICK_CHANGES_AFTER_SUSTAINED = 6;

/**
 * If changes wait but a standby has neither begun nor finished one for more than this number of snapshot intervals, it
 * counts as making no progress.
 */
const INTERVALS_WITHOUT_PROGRESS = 3;

/** Returns the initial values of a standby that waits for its first copy. */
export function beforeFirstCopy({ firstCopyBytes }: ToldRecord, now: number) {
  const shape = shapeFor(firstCopyBytes >= LARGE_FIRST_COPY_BYTES ? 'seedBoost' : 'standard');
  return { ...shape, applying: undefined, firstCopyDone: false, quickChanges: 0, progressAt: now };
}

/** Restarts the first copy of a standby, with the number of bytes that a control request (/_sim) has set. */
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

/**
 * Begins to apply the next change to a standby, unless the standby is already applying a change or a control request (/_sim) has stopped
 * the standby.
 */
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

/**
 * Completes the change that a standby is applying. The recovery point of this change becomes the protected recovery
 * point.
 */
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

/** Sets a later end for the change that a standby is applying, because the region of the standby is down. */
export function postponeChange(configuration: Configuration, now: number): Configuration {
  const { standby } = configuration;
  if (standby?.applying === undefined) return configuration;
  const applying = { ...standby.applying, doneAt: now + STEP_RETRY_MS };
  return { ...configuration, standby: { ...standby, applying } };
}

function nextShape(shape: StandbyShape, quick: boolean, quickChanges: number, behind: boolean): StandbyShape {
  if (shape === 'seedBoost') return !behind && quickChanges >= QUICK_CHANGES_AFTER_SEED ? 'standard' : shape;
  if (shape === 'sustained') return quickChanges >= QUICK_CHANGES_AFTER_SUSTAINED ? 'standard' : shape;
  return quick ? shape : 'sustained';
}

/** True if a standby has applied every change, and no control request (/_sim) has set it as not caught up. */
export function caughtUp(standby: Standby): boolean {
  return standby.firstCopyDone && standby.backlog.length === 0 && !standby.heldBehind;
}

/**
 * True if a warm standby has fallen behind its source: its first copy is not done, more than one change waits to be applied, or a control
 * request (/_sim) has set it as not caught up.
 */
export function fallenBehind(standby: Standby): boolean {
  return !standby.firstCopyDone || standby.heldBehind || standby.backlog.length > 1;
}

/**
 * True if changes wait but the standby has neither begun nor finished one for several snapshot intervals. False while a
 * control request (/_sim) keeps the standby from catching up, unless the condition `hold` is set too.
 */
export function makesNoProgress({ standby, settings, told }: Configuration, now: number): boolean {
  if (standby === undefined || standby.backlog.length === 0) return false;
  if (standby.heldBehind && !told.hold) return false;
  const applyingSince = standby.applying?.startedAt ?? standby.progressAt;
  return now - Math.max(applyingSince, standby.progressAt) > INTERVALS_WITHOUT_PROGRESS * settings.snapshotIntervalMs;
}

// The next functions handle a readiness that a control request (/_sim) has set. It replaces the computed readiness
// until the next snapshot or change of settings. A completed validation or an applied change also removes it, unless
// its reason is `chainRollover` or `catchingUp`.

/**
 * True for a readiness with the reason `chainRollover` (a full copy is running) or `catchingUp` (the standby is
 * catching up). In the first 12 hours after the RPO target is missed, such a reason is shown instead of `rpoExceeded`.
 */
export function isExcuse({ state, reason }: StatedReadiness): boolean {
  return state === 'needsAttention' && (reason === 'chainRollover' || reason === 'catchingUp');
}

/**
 * True if scheduled snapshots are suspended, because a control request (/_sim) has set a readiness with the reason `chainRollover` or
 * `catchingUp`.
 */
export function standsStill({ told: { readiness } }: Configuration): boolean {
  return readiness !== undefined && isExcuse(readiness);
}

/** Removes a readiness that a control request (/_sim) has set, so that the readiness is computed again. */
export function withoutToldReadiness(configuration: Configuration): Configuration {
  return { ...configuration, told: { ...configuration.told, readiness: undefined } };
}

/**
 * Removes a readiness that a control request (/_sim) has set, because a completed validation or an applied change makes it outdated. A
 * readiness with the reason `chainRollover` or `catchingUp` is kept until the next snapshot.
 */
export function withEvidence(configuration: Configuration): Configuration {
  return standsStill(configuration) ? configuration : withoutToldReadiness(configuration);
}
