// One step of an operation. A step that succeeds moves the operation on. A step that fails leaves it in its phase and is
// tried again. By itself a step fails only where it needs a region that is down, or a name that is taken. The steps of an
// operation that was under way when the control surface said how many are to fail do so in any phase; when nothing was
// under way, the next steps do that could fail by themselves.
import { DISK_RETENTION_MS, STEP_RETRY_MS } from './durations.ts';
import type { Configuration, Operation } from './model.ts';
import { completeEnrollment, startCopying } from './enrollment.ts';
import { andThen, countsFailedSteps, end, enter, happened, type Moment } from './operations.ts';
import { type OperationOutcome, unchanged, waitUntil, withOperation } from './operations.ts';
import { promote } from './promotion.ts';
import { withEvidence } from './told.ts';

/** One step of an operation, now. */
export function step(configuration: Configuration, operation: Operation, moment: Moment): OperationOutcome {
  if (stepFails(configuration, operation, moment)) return failStep(configuration, operation, moment.now);
  switch (operation.kind) {
    case 'enrollment':
      return enrollmentStep(configuration, operation, moment);
    case 'validation':
      return validationStep(configuration, operation, moment);
    case 'activation':
      return activationStep(configuration, operation, moment);
  }
}

function stepFails({ told }: Configuration, { operationId, kind, phase }: Operation, moment: Moment): boolean {
  const toldToFail = told.failSteps > 0;
  if (toldToFail && told.failingOperationId === operationId) return true;
  switch (kind) {
    case 'enrollment':
      if (phase === 'queued') return false;
      return toldToFail || !moment.destinationUp || (phase === 'preparing' && !moment.sourceReachable);
    case 'validation':
      return phase === 'validating' && (toldToFail || !moment.destinationUp);
    case 'activation':
      if (!countsFailedSteps(phase)) return false;
      return toldToFail || !moment.destinationUp || (phase === 'starting' && !moment.handoffPossible);
  }
}

function failStep(configuration: Configuration, operation: Operation, now: number): OperationOutcome {
  const failedSteps = operation.failedSteps + 1;
  const failed = withOperation(configuration, { ...operation, failedSteps, stepDueAt: now + STEP_RETRY_MS });
  const told = { ...failed.told, failSteps: Math.max(0, failed.told.failSteps - 1) };
  const { operationId, phase, kind } = operation;
  const detail = { phase, failedSteps: countsFailedSteps(phase) ? failedSteps : 0 };
  return happened({ ...failed, told }, { kind: `${kind}.stepFailed`, operationId, detail });
}

function enrollmentStep(configuration: Configuration, operation: Operation, moment: Moment): OperationOutcome {
  switch (operation.phase) {
    case 'queued':
      return enter(configuration, operation, 'preparing', moment.now);
    case 'preparing':
      return andThen(startCopying(configuration, moment), (copying) =>
        enter(copying, operation, copying.settings.mode === 'warm' ? 'restoring' : 'validating', moment.now),
      );
    case 'restoring': {
      const standby = configuration.standby;
      if (standby?.firstCopyDone !== false) return enter(configuration, operation, 'validating', moment.now);
      return waitUntil(configuration, operation, standby.applying?.doneAt ?? moment.now + STEP_RETRY_MS, moment.now);
    }
    default:
      return completeEnrollment(configuration, operation, moment);
  }
}

function validationStep(configuration: Configuration, operation: Operation, moment: Moment): OperationOutcome {
  switch (operation.phase) {
    case 'queued':
      return enter(configuration, operation, 'validating', moment.now);
    case 'validating':
      return beginCheckCleanup(configuration, operation, moment.now);
    default:
      return operation.check === 'cleanupUnverifiable'
        ? failToVerify(configuration, operation, moment.now)
        : completeCheck(configuration, operation, moment.now);
  }
}

/** The check has its result; its temporary target is being retired. */
export function beginCheckCleanup(configuration: Configuration, operation: Operation, now: number): OperationOutcome {
  const { nextValidation: check = 'pass' } = configuration.told;
  const validationCleanup = { observedAt: now, retentionUntil: now + DISK_RETENTION_MS, retentionPending: true };
  const told = { ...configuration.told, nextValidation: undefined };
  return enter({ ...configuration, told }, { ...operation, check, validationCleanup }, 'cleaning', now);
}

/** The temporary target may still be there: the check keeps its lock and recovery stays blocked. */
function failToVerify(configuration: Configuration, operation: Operation, now: number): OperationOutcome {
  const observed: Operation = {
    ...operation,
    validationCleanup: { observedAt: now, retentionPending: true },
    stepDueAt: now + STEP_RETRY_MS,
  };
  const lastCheck = { at: now, result: 'cleanupUnverifiable' } as const;
  return happened(
    { ...withOperation(configuration, observed), lastCheck },
    { kind: 'validation.cleanupUnverified', operationId: operation.operationId },
  );
}

/** The temporary target is proved gone: the lock is released, its disk stays behind under retention. */
export function completeCheck(configuration: Configuration, operation: Operation, now: number): OperationOutcome {
  const failed = operation.check === 'fail';
  const lastCheck = { at: now, result: failed ? 'fail' : 'pass' } as const;
  const outcome = failed ? 'failed' : 'succeeded';
  return leavingDisk(end({ ...withEvidence(configuration), lastCheck }, operation, outcome, now));
}

/** The compute is retired, its disk stays behind. */
function leavingDisk({ configuration, happenings }: OperationOutcome): OperationOutcome {
  return { configuration, happenings: happenings.map((happening) => ({ ...happening, retainsDisk: true })) };
}

function activationStep(configuration: Configuration, operation: Operation, moment: Moment): OperationOutcome {
  const { now } = moment;
  switch (operation.phase) {
    case 'queued':
      return enter(configuration, operation, configuration.settings.mode === 'cold' ? 'restoring' : 'promoting', now);
    case 'restoring':
      return enter(configuration, operation, 'promoting', now);
    case 'promoting':
      return enter(configuration, operation, 'starting', now);
    case 'promoted':
      return enter(configuration, operation, 'handingOver', now);
    case 'cleaning':
      return returnToProtection(configuration, operation, now);
    case 'starting':
    case 'handingOver':
      return promote(configuration, operation, now);
    default:
      return unchanged(configuration);
  }
}

/** A discarded activation is cleaned up: what it built is gone but for its disk. */
export function returnToProtection(configuration: Configuration, operation: Operation, now: number): OperationOutcome {
  const outcome = operation.discardedAt === undefined ? 'failed' : 'discarded';
  return leavingDisk(end(configuration, operation, outcome, now));
}
