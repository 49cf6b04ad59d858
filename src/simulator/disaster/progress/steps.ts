// One step of an operation. A step that succeeds moves the operation on. A step that fails leaves it in its phase and is
// tried again. By itself a step fails only where it needs a region that is down, or a name that is taken. The steps of an
// operation that was under way when the control surface said how many are to fail do so in any phase; when nothing was
// under way, the next steps do that could fail by themselves.
import { DISK_RETENTION_MS, STEP_RETRY_MS } from '../durations.ts';
import type { ConfigurationRecord, Operation, ValidationCleanup } from '../model.ts';
import { completeEnrollment, startCopying } from '../protection/enrollment.ts';
import type { OperationMoment, OperationOutcome } from '../operations.ts';
import { andThen, countsFailedSteps, end, enter, unchanged, waitUntil, withOperation } from '../operations.ts';
import { promote } from '../activation/promotion.ts';
import { withEvidence } from '../evidence/told.ts';

/** One step of an operation, now. */
export function step(
  configuration: ConfigurationRecord,
  operation: Operation,
  moment: OperationMoment,
): OperationOutcome {
  return stepFails(configuration, operation, moment)
    ? failStep(configuration, operation, moment.now)
    : succeedStep(configuration, operation, moment);
}

function succeedStep(
  configuration: ConfigurationRecord,
  operation: Operation,
  moment: OperationMoment,
): OperationOutcome {
  switch (operation.kind) {
    case 'enrollment':
      return enrollmentStep(configuration, operation, moment);
    case 'validation':
      return validationStep(configuration, operation, moment);
    case 'activation':
      return activationStep(configuration, operation, moment);
  }
}

function stepFails(
  { told }: ConfigurationRecord,
  { operationId, kind, phase }: Operation,
  moment: OperationMoment,
): boolean {
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

function failStep(configuration: ConfigurationRecord, operation: Operation, now: number): OperationOutcome {
  const failedSteps = operation.failedSteps + 1;
  const failed = withOperation(configuration, { ...operation, failedSteps, stepDueAt: now + STEP_RETRY_MS });
  const told = { ...failed.told, failSteps: Math.max(0, failed.told.failSteps - 1) };
  const { operationId, phase, kind } = operation;
  return {
    configuration: { ...failed, told },
    happenings: [
      {
        kind: `${kind}.stepFailed`,
        operationId,
        detail: { phase, failedSteps: countsFailedSteps(phase) ? failedSteps : 0 },
      },
    ],
  };
}

function enrollmentStep(
  configuration: ConfigurationRecord,
  operation: Operation,
  moment: OperationMoment,
): OperationOutcome {
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

function validationStep(
  configuration: ConfigurationRecord,
  operation: Operation,
  moment: OperationMoment,
): OperationOutcome {
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
export function beginCheckCleanup(
  configuration: ConfigurationRecord,
  operation: Operation,
  now: number,
): OperationOutcome {
  const { nextValidation: check = 'pass', ...told } = configuration.told;
  const checked = { ...operation, check, validationCleanup: cleanupSeen(now) };
  return enter({ ...configuration, told }, checked, 'cleaning', now);
}

function cleanupSeen(now: number): ValidationCleanup {
  return { observedAt: now, retentionUntil: now + DISK_RETENTION_MS, retentionPending: true };
}

/** The temporary target may still be there: the check keeps its lock and recovery stays blocked. */
function failToVerify(configuration: ConfigurationRecord, operation: Operation, now: number): OperationOutcome {
  const observed: Operation = {
    ...operation,
    validationCleanup: { observedAt: now, retentionPending: true },
    stepDueAt: now + STEP_RETRY_MS,
  };
  const lastCheck = { at: now, result: 'cleanupUnverifiable' } as const;
  return {
    configuration: { ...withOperation(configuration, observed), lastCheck },
    happenings: [{ kind: 'validation.cleanupUnverified', operationId: operation.operationId }],
  };
}

/** The temporary target is proved gone: the lock is released, its disk stays behind under retention. */
export function completeCheck(configuration: ConfigurationRecord, operation: Operation, now: number): OperationOutcome {
  const failed = operation.check === 'fail';
  const lastCheck = { at: now, result: failed ? 'fail' : 'pass' } as const;
  const ended = end({ ...withEvidence(configuration), lastCheck }, operation, failed ? 'failed' : 'succeeded', now);
  const retained = ended.happenings.map((happening) => ({ ...happening, retainsDisk: true }) as const);
  return { ...ended, happenings: retained };
}

function activationStep(
  configuration: ConfigurationRecord,
  operation: Operation,
  moment: OperationMoment,
): OperationOutcome {
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
export function returnToProtection(
  configuration: ConfigurationRecord,
  operation: Operation,
  now: number,
): OperationOutcome {
  const ended = end(configuration, operation, operation.discardedAt === undefined ? 'failed' : 'discarded', now);
  return { ...ended, happenings: ended.happenings.map((happening) => ({ ...happening, retainsDisk: true }) as const) };
}
