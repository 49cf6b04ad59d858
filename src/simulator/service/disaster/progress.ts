// Advances the operations of a configuration step by step. A failed step is retried later. A step fails if it cannot
// reach the source or a region that it needs, if the recovered environment cannot be created, or if a control request
// (/_sim) has made it fail. Such a request sets how many steps fail: the next steps of the running operation or, if
// none is running, the next steps that need a region.
import type { World } from '../../store/store.ts';
import { DISK_RETENTION_MS, type Phase, SECOND, STEP_RETRY_MS } from './durations.ts';
import { beforeFirstCopy, finishChange, postponeChange, protectedPoint, standsStill, takeSnapshot } from './copies.ts';
import { withEvidence } from './copies.ts';
import type { ActivationResult, Configuration, Operation, Standby } from './model.ts';
import { begin, busyOperation, countsFailedSteps, end, enter, happened, runningActivation } from './operations.ts';
import { waitUntil, withOperation } from './operations.ts';
import { destinationUp, handoffPossible, nativeEngine, sourceReachable } from './surroundings.ts';

/** Takes the next step of an operation, or records that the step failed. A failed step is retried later. */
export function step(world: World, configuration: Configuration, operation: Operation): Configuration {
  if (stepFails(world, configuration, operation)) return failStep(configuration, operation, world.now);
  const steps = { enrollment: enrollmentStep, validation: validationStep, activation: activationStep };
  return steps[operation.kind](world, configuration, operation);
}

function stepFails(world: World, configuration: Configuration, { operationId, kind, phase }: Operation): boolean {
  const { failSteps, failingOperationId } = configuration.told;
  if (failSteps > 0 && failingOperationId === operationId) return true;
  const isBuilding = countsFailedSteps(phase);
  const needsRegion = { enrollment: phase !== 'queued', validation: phase === 'validating', activation: isBuilding };
  if (!needsRegion[kind]) return false;
  if (failSteps > 0 || !destinationUp(world, configuration)) return true;
  if (kind === 'enrollment') return phase === 'preparing' && !sourceReachable(world, configuration);
  return kind === 'activation' && phase === 'starting' && !handoffPossible(world, configuration);
}

function failStep(configuration: Configuration, operation: Operation, now: number): Configuration {
  const failedSteps = operation.failedSteps + 1;
  const failed = withOperation(configuration, { ...operation, failedSteps, stepDueAt: now + STEP_RETRY_MS });
  const told = { ...failed.told, failSteps: Math.max(0, failed.told.failSteps - 1) };
  const { operationId, phase, kind } = operation;
  const detail = { phase, failedSteps: countsFailedSteps(phase) ? failedSteps : 0 };
  return happened({ ...failed, told }, { kind: `${kind}.stepFailed`, operationId, detail });
}

function enrollmentStep(world: World, configuration: Configuration, operation: Operation): Configuration {
  const { now } = world;
  const { standby, settings } = configuration;
  const { phase } = operation;
  if (phase === 'queued') return enter(configuration, operation, 'preparing', now);
  if (phase === 'preparing') {
    const next = settings.mode === 'warm' ? 'restoring' : 'validating';
    return enter(startCopying(world, configuration), operation, next, now);
  }
  if (phase !== 'restoring') return completeEnrollment(world, configuration, operation);
  if (standby?.firstCopyDone !== false) return enter(configuration, operation, 'validating', now);
  return waitUntil(configuration, operation, standby.applying?.doneAt ?? now + STEP_RETRY_MS, now);
}

/** Takes the first snapshot, starts the snapshot schedule, and creates the standby of a warm configuration. */
function startCopying(world: World, configuration: Configuration): Configuration {
  const { mode, snapshotIntervalMs } = configuration.settings;
  const standby = mode === 'warm' ? (configuration.standby ?? newStandby(world, configuration)) : undefined;
  const taken = takeSnapshot(world, { ...configuration, standby });
  return { ...taken, nextSnapshotAt: world.now + snapshotIntervalMs };
}

function newStandby(world: World, { target, source, told }: Configuration): Standby {
  const { now } = world;
  const targetAppId = target?.createNewApp === true ? world.id('app') : source.appId;
  const ids = { targetAppEnvId: world.id('env'), targetAppId };
  return { ...ids, ...beforeFirstCopy(told, now), backlog: [], restartedUntil: now, heldBehind: false };
}

/**
 * Marks a configuration as enrolled. In a cold configuration, the enrollment operation is then finished. In a warm
 * configuration, the operation keeps running, because it copies changes to the standby.
 */
export function completeEnrollment(world: World, configuration: Configuration, operation: Operation): Configuration {
  const { now } = world;
  const copied = withSomethingToProtect(world, configuration);
  const enrolled: Configuration = {
    ...copied,
    enrolled: true,
    lastCheck: { at: now, result: 'pass' },
    nextValidationAt: copied.nextValidationAt ?? now + copied.settings.validationIntervalMs,
  };
  const isCold = copied.settings.mode === 'cold';
  return isCold ? end(enrolled, operation, 'succeeded', now) : settleReceiver(enrolled, operation);
}

/**
 * Makes the copies that are still missing when an enrollment completes, because a control request (/_sim) can skip the
 * phase that makes them.
 */
function withSomethingToProtect(world: World, configuration: Configuration): Configuration {
  const prepared = { ...configuration, nextSnapshotAt: configuration.nextSnapshotAt ?? world.now };
  const copying = protectedPoint(prepared) === undefined ? startCopying(world, prepared) : prepared;
  return copying.standby?.firstCopyDone === false ? finishChange(copying, world.now) : copying;
}

function settleReceiver(configuration: Configuration, operation: Operation): Configuration {
  const { operationId } = operation;
  const told = { ...configuration.told, failSteps: 0 };
  const settled: Operation = { ...operation, stepDueAt: undefined, phase: 'restoring', failedSteps: 0 };
  const receiving = withOperation({ ...configuration, told, receiverOperationId: operationId }, settled);
  return happened(receiving, { kind: 'enrollment.succeeded', operationId });
}

function validationStep({ now }: World, configuration: Configuration, operation: Operation): Configuration {
  const { phase, check } = operation;
  if (phase === 'queued') return enter(configuration, operation, 'validating', now);
  if (phase === 'validating') return beginCheckCleanup(configuration, operation, now);
  if (check === 'cleanupUnverifiable') return failToVerify(configuration, operation, now);
  return completeCheck(configuration, operation, now);
}

/** Sets the result of a validation, and begins to clean up its temporary target. */
export function beginCheckCleanup(configuration: Configuration, operation: Operation, now: number): Configuration {
  const { nextValidation: check = 'pass' } = configuration.told;
  const validationCleanup = { observedAt: now, retentionUntil: now + DISK_RETENTION_MS, retentionPending: true };
  const told = { ...configuration.told, nextValidation: undefined };
  return enter({ ...configuration, told }, { ...operation, check, validationCleanup }, 'cleaning', now);
}

/**
 * Records that the temporary target of a validation may still exist. The validation therefore stays open, and no
 * recovery can begin meanwhile.
 */
function failToVerify(configuration: Configuration, operation: Operation, now: number): Configuration {
  const validationCleanup = { observedAt: now, retentionPending: true };
  const observed = { ...operation, validationCleanup, stepDueAt: now + STEP_RETRY_MS };
  const lastCheck = { at: now, result: 'cleanupUnverifiable' } as const;
  return happened(
    { ...withOperation(configuration, observed), lastCheck },
    { kind: 'validation.cleanupUnverified', operationId: operation.operationId },
  );
}

/**
 * Ends a validation after its temporary target was removed, and records the result. The disk of the target is kept for
 * some time.
 */
export function completeCheck(configuration: Configuration, operation: Operation, now: number): Configuration {
  const failed = operation.check === 'fail';
  const lastCheck = { at: now, result: failed ? 'fail' : 'pass' } as const;
  const checked = { ...withEvidence(configuration), lastCheck };
  return end(checked, operation, failed ? 'failed' : 'succeeded', now, { retainsDisk: true });
}

function activationStep({ now }: World, configuration: Configuration, operation: Operation): Configuration {
  const { phase } = operation;
  if (phase === 'cleaning') return returnToProtection(configuration, operation, now);
  if (phase === 'starting' || phase === 'handingOver') return promote(configuration, operation, now);
  const afterQueue = configuration.settings.mode === 'cold' ? 'restoring' : 'promoting';
  const next: Partial<Record<Phase, Phase>> = { queued: afterQueue, promoting: 'starting', promoted: 'handingOver' };
  // An activation goes from `restoring` to `promoting`, and also from `preparing` and `validating`, two phases that
  // only a control request (/_sim) gives to an activation.
  return enter(configuration, operation, next[phase] ?? 'promoting', now);
}

/** Ends an activation that was discarded or has failed. The disk of its recovered environment is retained for some time. */
export function returnToProtection(configuration: Configuration, operation: Operation, now: number): Configuration {
  const outcome = operation.discardedAt === undefined ? 'failed' : 'discarded';
  return end(configuration, operation, outcome, now, { retainsDisk: true });
}

/**
 * Completes an activation, which can then no longer be discarded. The recovered environment is created when the
 * configuration is stored.
 */
export function promote(configuration: Configuration, operation: Operation, now: number): Configuration {
  const { operationId, pinned } = operation;
  if (pinned === undefined) return configuration;
  const { targetAppEnvId, targetAppId, pointId, cutoffAt } = pinned;
  const engine = nativeEngine(configuration.source);
  const recovered = { operationId, targetAppEnvId, targetAppId, pointId, cutoffAt, completedAt: now };
  const activationResult: ActivationResult = { ...recovered, ...(engine && { engine }) };
  const promoted = happened(withoutStandby({ ...configuration, activationResult }, now), {
    kind: 'activation.promoted',
    operationId,
    detail: { targetAppEnvId, targetAppId },
    recovers: pinned,
  });
  return end(promoted, operation, 'succeeded', now);
}

/**
 * Removes the standby from a warm configuration, because the standby has become the live environment. Also ends the
 * enrollment and stops scheduled snapshots and validations. Does nothing for a cold configuration.
 */
function withoutStandby(configuration: Configuration, now: number): Configuration {
  if (configuration.settings.mode === 'cold') return configuration;
  const operations = configuration.operations.map((operation) =>
    operation.operationId === configuration.receiverOperationId
      ? ({ ...operation, phase: 'succeeded', outcome: 'succeeded', endedAt: now } as const)
      : operation,
  );
  const ended = { standby: undefined, receiverOperationId: undefined, nextSnapshotAt: undefined };
  return { ...configuration, ...ended, nextValidationAt: undefined, operations };
}

// Carries out the scheduled actions of a configuration, such as steps and snapshots, in the order of their times. Each configuration has
// one timer, which is set to the time of its next action.

/** Duration of a full copy that replaces a broken chain of snapshots. */
const ROLLOVER_MS = 60 * SECOND;

interface Due {
  readonly at: number;
  readonly happen: (world: World, configuration: Configuration) => Configuration;
}

/** Carries out every scheduled action of a configuration that is due, in the order of their times. */
export function tick(world: World, before: Configuration): Configuration {
  let configuration = before;
  for (let due = earliest(before); due !== undefined && due.at <= world.now; due = earliest(configuration)) {
    configuration = due.happen(world, configuration);
  }
  return configuration;
}

/**
 * Finds the next scheduled action of a configuration, such as a step or a snapshot. Returns undefined if there is none,
 * for example during a reset or while a control request (/_sim) has stopped the configuration with `hold`.
 */
export function earliest(configuration: Configuration): Due | undefined {
  if (configuration.told.hold || configuration.fencedAt !== undefined) return undefined;
  const [first] = agenda(configuration).toSorted((one, other) => one.at - other.at);
  return first;
}

function agenda(configuration: Configuration): readonly Due[] {
  const due: Due[] = [];
  const { standby, rollover, nextSnapshotAt, nextValidationAt } = configuration;
  const busy = busyOperation(configuration);
  if (standby?.applying !== undefined && !standby.heldBehind) due.push({ at: standby.applying.doneAt, happen: change });
  if (busy?.stepDueAt !== undefined)
    due.push({ at: busy.stepDueAt, happen: (world, current) => step(world, current, busy) });
  if (runningActivation(configuration) !== undefined) return due;
  if (rollover !== undefined) due.push({ at: rollover.doneAt, happen: finishRollover });
  else if (nextSnapshotAt !== undefined) due.push({ at: nextSnapshotAt, happen: scheduledSnapshot });
  if (busy === undefined && nextValidationAt !== undefined) due.push({ at: nextValidationAt, happen: scheduledCheck });
  return due;
}

function change(world: World, configuration: Configuration): Configuration {
  const applied = destinationUp(world, configuration) ? finishChange : postponeChange;
  return applied(configuration, world.now);
}

/**
 * Returns the next time of a schedule: the first time after `now` that is a whole number of intervals after `dueAt`.
 */
function nextBeat(dueAt: number, intervalMs: number, now: number): number {
  return dueAt + intervalMs * (Math.floor((now - dueAt) / intervalMs) + 1);
}

function scheduledSnapshot(world: World, configuration: Configuration): Configuration {
  const { now } = world;
  const { settings, nextSnapshotAt = now, points } = configuration;
  const scheduled = { ...configuration, nextSnapshotAt: nextBeat(nextSnapshotAt, settings.snapshotIntervalMs, now) };
  if (!canCopy(world, configuration) || standsStill(configuration)) return scheduled;
  const lastCutoff = points.at(-1)?.cutoffAt ?? now;
  if (now - lastCutoff >= 2 * settings.snapshotIntervalMs) {
    return { ...scheduled, rollover: { startedAt: now, doneAt: now + ROLLOVER_MS } };
  }
  return takeSnapshot(world, scheduled);
}

function canCopy(world: World, configuration: Configuration): boolean {
  return sourceReachable(world, configuration) && destinationUp(world, configuration);
}

function finishRollover(world: World, configuration: Configuration): Configuration {
  const { rollover } = configuration;
  const finished = { ...configuration, rollover: undefined };
  if (rollover === undefined || !canCopy(world, configuration)) return finished;
  return takeSnapshot(world, finished, rollover.startedAt);
}

function scheduledCheck(world: World, configuration: Configuration): Configuration {
  const { settings, nextValidationAt = world.now } = configuration;
  const nextAt = nextBeat(nextValidationAt, settings.validationIntervalMs, world.now);
  const scheduled = { ...configuration, nextValidationAt: nextAt };
  return protectedPoint(scheduled) === undefined
    ? scheduled
    : begin(world, scheduled, 'validation', 'validation.scheduled');
}
