// One request of the control surface to a configuration: circumstances first, then immediate events, then readiness, so
// that one request can set the stage, take a step and say what readiness is afterwards.
import { beginCheckCleanup, completeCheck, returnToProtection, step } from '../steps.ts';
import { completeEnrollment } from '../enrollment.ts';
import type { CleanupRecord, Configuration, DisclosedRecord, Operation, Phase, Refused } from '../model.ts';
import { ruledOut, type Standby } from '../model.ts';
import { andThen, busyOperation, end, enter, type Moment, type OperationOutcome, unchanged } from '../operations.ts';
import { promote } from '../promotion.ts';
import { applyNext, finishChange, shapeFor, withFirstCopyAgain } from '../standby.ts';
import { withoutToldReadiness } from '../told.ts';
import type { Circumstances } from './telling.ts';

/** Applies one request of the control surface to a configuration. */
export function tell(configuration: Configuration, telling: Circumstances, moment: Moment): OperationOutcome | Refused {
  const circumstances = { ...configuration, told: toldFrom(configuration, telling) };
  const shaped = tellStandby(circumstances, telling, moment.now);
  if ('refused' in shaped) return shaped;
  let outcome: OperationOutcome | Refused = { configuration: shaped, happenings: [{ kind: 'configuration.told' }] };
  if (telling.validationCleanup === null) outcome = andThen(outcome, (current) => verifyCleanup(current, moment.now));
  const { setPhase } = telling;
  if (setPhase !== undefined) outcome = thenIfBusy(outcome, (current, busy) => moveTo(current, busy, setPhase, moment));
  if ('refused' in outcome) return outcome;
  if (telling.nextPhase === true) outcome = thenIfBusy(outcome, (current, busy) => stepNow(current, busy, moment));
  if ('refused' in outcome) return outcome;
  return andThen(outcome, (current) => unchanged(tellReadiness(current, telling.readiness)));
}

function thenIfBusy(
  outcome: OperationOutcome,
  next: (configuration: Configuration, busy: Operation) => OperationOutcome,
): OperationOutcome | Refused {
  const busy = busyOperation(outcome.configuration);
  if (busy === undefined) return ruledOut('this configuration has no operation in progress');
  return andThen(outcome, (configuration) => next(configuration, busy));
}

function toldFrom(configuration: Configuration, telling: Circumstances): DisclosedRecord {
  const { told } = configuration;
  const { failSteps = told.failSteps, hold = told.hold } = telling;
  const { applySeconds = told.applySeconds, firstCopyBytes = told.firstCopyBytes } = telling;
  const failingOperationId =
    telling.failSteps === undefined ? told.failingOperationId : busyOperation(configuration)?.operationId;
  return {
    ...told,
    failSteps,
    failingOperationId,
    hold,
    applySeconds,
    firstCopyBytes,
    engineUnavailableReason: kept(telling.engineUnavailableReason, told.engineUnavailableReason),
    nextValidation: kept(telling.nextValidation, told.nextValidation),
    pendingCleanup: kept(pendingCleanup(telling.pendingCleanup), told.pendingCleanup),
    validationCleanup: kept(telling.validationCleanup, told.validationCleanup),
  };
}

/** What was said before stays when nothing is said now; null takes it back. */
function kept<Value>(said: Value | null | undefined, before: Value | undefined): Value | undefined {
  return said === undefined ? before : (said ?? undefined);
}

function pendingCleanup(said: Circumstances['pendingCleanup']): CleanupRecord | null | undefined {
  return said && { pendingCount: 1, retainedDiskCount: 0, retryingCount: 0, ...said };
}

function tellReadiness(configuration: Configuration, said: Circumstances['readiness']): Configuration {
  if (said === undefined) return configuration;
  const computed = withoutToldReadiness(configuration);
  return said === null ? computed : { ...computed, told: { ...computed.told, readiness: said } };
}

function tellStandby(configuration: Configuration, telling: Circumstances, now: number): Configuration | Refused {
  const { standby, told } = configuration;
  if (telling.standby === undefined && telling.firstCopyBytes === undefined) return configuration;
  if (standby === undefined) {
    return telling.standby === undefined ? configuration : ruledOut('this configuration has no standby');
  }
  const seeded = telling.firstCopyBytes === undefined ? standby : withFirstCopyAgain(standby, told, now);
  const shaped = telling.standby === undefined ? seeded : standbyAsTold(seeded, telling.standby, now);
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

function verifyCleanup(configuration: Configuration, now: number): OperationOutcome {
  const busy = busyOperation(configuration);
  return busy?.check === 'cleanupUnverifiable' && busy.phase === 'cleaning'
    ? completeCheck(configuration, busy, now)
    : unchanged(configuration);
}

function stepNow(configuration: Configuration, busy: Operation, moment: Moment): OperationOutcome {
  const { failSteps, failingOperationId } = configuration.told;
  if (failSteps > 0 && failingOperationId === busy.operationId) return step(configuration, busy, moment);
  if (busy.phase === 'cleaning' && busy.kind === 'validation') return completeCheck(configuration, busy, moment.now);
  const waitsForCopy = busy.kind === 'enrollment' && busy.phase === 'restoring';
  const copied = waitsForCopy && configuration.standby?.firstCopyDone === false;
  const ready = copied ? finishChange(configuration, moment.now) : unchanged(configuration);
  return andThen(ready, (current) => step(current, busy, moment));
}

function moveTo(configuration: Configuration, busy: Operation, phase: Phase, moment: Moment): OperationOutcome {
  if (phase === 'succeeded' || phase === 'failed') return conclude(configuration, busy, phase, moment);
  return phase === 'cleaning' && busy.kind === 'validation'
    ? beginCheckCleanup(configuration, busy, moment.now)
    : enter(configuration, busy, phase, moment.now);
}

function conclude(
  configuration: Configuration,
  busy: Operation,
  outcome: 'succeeded' | 'failed',
  moment: Moment,
): OperationOutcome {
  const { now } = moment;
  const succeeds = outcome === 'succeeded';
  switch (busy.kind) {
    case 'enrollment':
      return succeeds ? completeEnrollment(configuration, busy, moment) : end(configuration, busy, outcome, now);
    case 'validation':
      return completeCheck(configuration, { ...busy, check: succeeds ? 'pass' : 'fail' }, now);
    case 'activation':
      return succeeds ? promote(configuration, busy, now) : returnToProtection(configuration, busy, now);
  }
}
