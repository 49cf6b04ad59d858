// Enrollment: the first copy of a source and the first check of it, from which on the schedules run.
import type { Configuration, Operation } from './model.ts';
import { andThen, end, happened, type Moment, type OperationOutcome, unchanged, withOperation } from './operations.ts';
import { protectedPoint, takeSnapshot } from './evidence.ts';
import { applyNext, finishChange, newStandby } from './standby.ts';

/** The first snapshot is taken, the snapshot schedule begins, and a warm configuration gets its standby. */
export function startCopying(configuration: Configuration, moment: Moment): OperationOutcome {
  const { mode, snapshotIntervalMs } = configuration.settings;
  const snapshot = takeSnapshot(configuration, moment);
  return andThen(snapshot, (taken) => {
    const scheduled = { ...taken, nextSnapshotAt: moment.now + snapshotIntervalMs };
    return unchanged(mode === 'warm' ? withStandby(scheduled, moment) : scheduled);
  });
}

function withStandby(configuration: Configuration, { now, newId }: Moment): Configuration {
  if (configuration.standby !== undefined) return applyNext(configuration, now);
  const point = configuration.points.at(-1);
  const backlog = point === undefined ? [] : [{ pointId: point.pointId, bytes: point.bytes }];
  const { target, source, told } = configuration;
  const targetAppId = target?.createNewApp === true ? newId('app') : source.appId;
  const standby = newStandby({ targetAppEnvId: newId('env'), targetAppId }, told, backlog, now);
  return applyNext({ ...configuration, standby }, now);
}

/** The protection works: the lock is released in cold mode; in warm mode the enrollment goes on as the receiver. */
export function completeEnrollment(
  configuration: Configuration,
  operation: Operation,
  moment: Moment,
): OperationOutcome {
  return andThen(withSomethingToProtect(configuration, moment), (copied) => {
    const { now } = moment;
    const enrolled: Configuration = {
      ...copied,
      enrolled: true,
      lastCheck: { at: now, result: 'pass' },
      nextValidationAt: copied.nextValidationAt ?? now + copied.settings.validationIntervalMs,
    };
    return copied.settings.mode === 'cold'
      ? end(enrolled, operation, 'succeeded', now)
      : settleReceiver(enrolled, operation);
  });
}

/** Makes the copies that a phase would have made when the control surface skipped it. */
function withSomethingToProtect(configuration: Configuration, moment: Moment): OperationOutcome {
  const prepared = { ...configuration, nextSnapshotAt: configuration.nextSnapshotAt ?? moment.now };
  const outcome = protectedPoint(prepared) === undefined ? startCopying(prepared, moment) : unchanged(prepared);
  return andThen(outcome, (copying) =>
    copying.standby?.firstCopyDone === false ? finishChange(copying, moment.now) : unchanged(copying),
  );
}

function settleReceiver(configuration: Configuration, operation: Operation): OperationOutcome {
  const receiver: Operation = { ...operation, stepDueAt: undefined, phase: 'restoring', failedSteps: 0 };
  const told = { ...configuration.told, failSteps: 0 };
  return happened(withOperation({ ...configuration, told, receiverOperationId: operation.operationId }, receiver), {
    kind: 'enrollment.succeeded',
    operationId: operation.operationId,
  });
}
