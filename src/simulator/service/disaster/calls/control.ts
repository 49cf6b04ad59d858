// Handles the control requests (/_sim) for disaster readiness, which simulate conditions such as failing steps, and take snapshots.
import { type AreaAnswer, type ControlCall, ok } from '../../area.ts';
import { found, taken } from '../../../http/refusal.ts';
import type { World } from '../../../store/store.ts';
import { applyNext, finishChange, selectablePoints, shapeFor, takeSnapshot, withFirstCopyAgain } from '../copies.ts';
import type { Phase } from '../durations.ts';
import type { Configuration, ToldRecord, Operation, Standby } from '../model.ts';
import { busyOperation, end, enter, happened } from '../operations.ts';
import { beginCheckCleanup, completeCheck, completeEnrollment, promote, returnToProtection } from '../progress.ts';
import { step } from '../progress.ts';
import { configurationOf, disksOf, keep, retainedDisks } from '../rows.ts';
import type { Circumstances, snapshots } from '../bodies.ts';
import { configurationItem, pointItem } from './items.ts';

/**
 * Handles PATCH /_sim/configurations/ID. Sets the simulated conditions first, then moves the operation to a phase or
 * takes its next step. Sets the readiness last, because the step could remove it.
 */
export function tellConfiguration({ world, id, body: telling }: ControlCall<Circumstances>): AreaAnswer {
  const before = configurationNamed(world, id);
  const { sourceAppEnvId } = before;
  const { setPhase: phase, nextPhase, validationCleanup } = telling;
  let configuration = tellStandby({ ...before, told: toldFrom(before, telling) }, telling, world.now);
  configuration = happened(configuration, { kind: 'configuration.told' });
  if (validationCleanup === null) configuration = verifyCleanup(configuration, world.now);
  if (phase !== undefined) configuration = moveTo(world, configuration, busyIn(configuration), phase);
  if (nextPhase === true) configuration = stepNow(world, configuration, busyIn(configuration));
  const readiness = kept(telling.readiness, configuration.told.readiness);
  configuration = { ...configuration, told: { ...configuration.told, readiness } };
  keep(world, configuration);
  if (telling.pendingCleanup === null) {
    for (const { diskId } of disksOf(world, sourceAppEnvId)) world.of(retainedDisks).remove(diskId);
  }
  return ok(configurationItem(world, configuration));
}

/** Takes several snapshots of a source environment at once. Their times are one millisecond apart, so that no two are the same. */
export function takeSnapshots({ world, id, body }: ControlCall<ReturnType<typeof snapshots>>): AreaAnswer {
  let configuration = configurationNamed(world, id);
  const { count = 1 } = body;
  for (let ago = count - 1; ago >= 0; ago -= 1) configuration = takeSnapshot(world, configuration, world.now - ago);
  keep(world, configuration);
  const points = selectablePoints(configuration).slice(-count);
  return ok({ items: points.map((point) => pointItem(world, configuration, point)) });
}

function configurationNamed(world: World, id: string): Configuration {
  return found(configurationOf(world, id), `no disaster-readiness configuration has the id "${id}"`);
}

function busyIn(configuration: Configuration): Operation {
  const busy = busyOperation(configuration);
  if (busy === undefined) throw taken('this configuration has no operation in progress');
  return busy;
}

/**
 * Merges the simulated conditions of a request into those that earlier requests set; null removes a condition. The
 * standby, the phase and the readiness are set separately.
 */
function toldFrom(configuration: Configuration, telling: Circumstances): ToldRecord {
  const { standby: _standby, nextPhase: _nextPhase, setPhase: _setPhase, readiness: _readiness, ...lasting } = telling;
  const { pendingCleanup, ...given } = lasting;
  const { told } = configuration;
  const set = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? undefined]));
  const failing = given.failSteps !== undefined && { failingOperationId: busyOperation(configuration)?.operationId };
  const cleanup = pendingCleanup && { ...ONE_TO_CLEAN_UP, ...pendingCleanup };
  return { ...told, ...set, ...failing, pendingCleanup: kept(cleanup, told.pendingCleanup) };
}

/**
 * The counts that `pendingCleanup` gets if a control request (/_sim) leaves them out: one resource waits for cleanup, no disk is retained,
 * and no cleanup is being retried.
 */
const ONE_TO_CLEAN_UP = { pendingCount: 1, retainedDiskCount: 0, retryingCount: 0 };

/**
 * Returns the value that a simulated condition has after a request: the value in the request, or the earlier value if the request contains
 * none. If the value in the request is null, the condition is removed, so the result is undefined.
 */
function kept<Value>(said: Value | null | undefined, before: Value | undefined): Value | undefined {
  return said === undefined ? before : (said ?? undefined);
}

function tellStandby(configuration: Configuration, telling: Circumstances, now: number): Configuration {
  const { standby, told } = configuration;
  const { standby: said, firstCopyBytes } = telling;
  if (said === undefined && (firstCopyBytes === undefined || standby === undefined)) return configuration;
  if (standby === undefined) throw taken('this configuration has no standby');
  const seeded = firstCopyBytes === undefined ? standby : withFirstCopyAgain(standby, told, now);
  const shaped = said === undefined ? seeded : standbyAsTold(seeded, said, now);
  return applyNext({ ...configuration, standby: shaped }, now);
}

function standbyAsTold(standby: Standby, said: NonNullable<Circumstances['standby']>, now: number): Standby {
  const { shape = standby.shape } = said;
  const reason = kept(said.reason, shape === standby.shape ? standby.reason : shapeFor(shape).reason);
  const named = { ...standby, shape, quickChanges: 0, reason };
  if (said.caughtUp === undefined) return named;
  const idle = { ...named, applying: undefined };
  if (!said.caughtUp) return { ...idle, heldBehind: true };
  const appliedPointId = idle.backlog.at(-1)?.pointId ?? idle.appliedPointId;
  return { ...idle, appliedPointId, heldBehind: false, firstCopyDone: true, backlog: [], progressAt: now };
}

function verifyCleanup(configuration: Configuration, now: number): Configuration {
  const busy = busyOperation(configuration);
  return busy?.check === 'cleanupUnverifiable' && busy.phase === 'cleaning'
    ? completeCheck(configuration, busy, now)
    : configuration;
}

function stepNow(world: World, configuration: Configuration, busy: Operation): Configuration {
  const { failSteps, failingOperationId } = configuration.told;
  if (failSteps > 0 && failingOperationId === busy.operationId) return step(world, configuration, busy);
  if (busy.phase === 'cleaning' && busy.kind === 'validation') return completeCheck(configuration, busy, world.now);
  const waitsForCopy = busy.kind === 'enrollment' && busy.phase === 'restoring';
  const copies = waitsForCopy && configuration.standby?.firstCopyDone === false;
  return step(world, copies ? finishChange(configuration, world.now) : configuration, busy);
}

/** Moves an operation to a phase; the phases `succeeded` and `failed` end the operation. */
function moveTo(world: World, configuration: Configuration, busy: Operation, phase: Phase): Configuration {
  const { now } = world;
  const { kind } = busy;
  const succeeds = phase === 'succeeded';
  if (phase === 'cleaning' && kind === 'validation') return beginCheckCleanup(configuration, busy, now);
  if (!succeeds && phase !== 'failed') return enter(configuration, busy, phase, now);
  switch (kind) {
    case 'enrollment':
      return succeeds ? completeEnrollment(world, configuration, busy) : end(configuration, busy, phase, now);
    case 'validation':
      return completeCheck(configuration, { ...busy, check: succeeds ? 'pass' : 'fail' }, now);
    case 'activation':
      return succeeds ? promote(configuration, busy, now) : returnToProtection(configuration, busy, now);
  }
}
