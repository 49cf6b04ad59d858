// One request of the control surface to a configuration: circumstances first, then immediate events, then readiness, so
// that one request can set the stage, take a step and say what readiness is afterwards.
import { beginCheckCleanup, completeCheck, returnToProtection, step } from '../progress/steps.ts';
import { completeEnrollment } from '../protection/enrollment.ts';
import type { CheckResult, ConfigurationRecord, Operation, CleanupRecord, Phase, StandbyShape } from '../model.ts';
import type { Refused, Standby, DisclosedRecord, ToldReadiness, ValidationCleanup } from '../model.ts';
import { ruledOut } from '../model.ts';
import type { OperationMoment, OperationOutcome } from '../operations.ts';
import { andThen, busyOperation, end, enter, unchanged } from '../operations.ts';
import { promote } from '../activation/promotion.ts';
import { applyNext, finishChange, withFirstCopyAgain } from '../evidence/standby.ts';
import { withoutToldReadiness } from '../evidence/told.ts';

/** A request of the control surface to one configuration; null takes back an earlier word. */
export interface Telling {
  readonly readiness?: ToldReadiness | null;
  readonly standby?: { readonly shape?: StandbyShape; readonly reason?: string | null; readonly caughtUp?: boolean };
  readonly failSteps?: number;
  readonly hold?: boolean;
  readonly engineUnavailableReason?: string | null;
  readonly nextPhase?: boolean;
  readonly setPhase?: Phase;
  readonly nextValidation?: CheckResult | null;
  readonly pendingCleanup?: CleanupRecord | null;
  readonly validationCleanup?: ValidationCleanup | null;
  readonly applySeconds?: number;
  readonly firstCopyBytes?: number;
}

/** Applies one request of the control surface to a configuration. */
export function tell(
  configuration: ConfigurationRecord,
  telling: Telling,
  moment: OperationMoment,
): OperationOutcome | Refused {
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
  next: (configuration: ConfigurationRecord, busy: Operation) => OperationOutcome,
): OperationOutcome | Refused {
  const busy = busyOperation(outcome.configuration);
  if (busy === undefined) return ruledOut('this configuration has no operation in progress');
  return andThen(outcome, (configuration) => next(configuration, busy));
}

function toldFrom(configuration: ConfigurationRecord, telling: Telling): DisclosedRecord {
  const { told } = configuration;
  const { engineUnavailableReason, nextValidation, pendingCleanup, validationCleanup, failingOperationId, ...rest } =
    told;
  const failing = telling.failSteps === undefined ? failingOperationId : busyOperation(configuration)?.operationId;
  return {
    ...rest,
    failSteps: telling.failSteps ?? told.failSteps,
    ...(failing === undefined ? {} : { failingOperationId: failing }),
    hold: telling.hold ?? told.hold,
    applySeconds: telling.applySeconds ?? told.applySeconds,
    firstCopyBytes: telling.firstCopyBytes ?? told.firstCopyBytes,
    ...kept('engineUnavailableReason', telling.engineUnavailableReason, engineUnavailableReason),
    ...kept('nextValidation', telling.nextValidation, nextValidation),
    ...kept('pendingCleanup', telling.pendingCleanup, pendingCleanup),
    ...kept('validationCleanup', telling.validationCleanup, validationCleanup),
  };
}

function kept<Name extends string, Value>(
  name: Name,
  said: Value | null | undefined,
  before: Value | undefined,
): { readonly [Key in Name]?: Value } {
  const value = said === undefined ? before : (said ?? undefined);
  // A computed key widens to an index signature; this is the one key it has.
  return (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };
}

function tellReadiness(
  configuration: ConfigurationRecord,
  said: ToldReadiness | null | undefined,
): ConfigurationRecord {
  if (said === undefined) return configuration;
  const computed = withoutToldReadiness(configuration);
  return said === null ? computed : { ...computed, told: { ...computed.told, readiness: said } };
}

function tellStandby(configuration: ConfigurationRecord, telling: Telling, now: number): ConfigurationRecord | Refused {
  const { standby, told } = configuration;
  if (telling.standby === undefined && telling.firstCopyBytes === undefined) return configuration;
  if (standby === undefined) {
    return telling.standby === undefined ? configuration : ruledOut('this configuration has no standby');
  }
  const seeded = telling.firstCopyBytes === undefined ? standby : withFirstCopyAgain(standby, told, now);
  const shaped = telling.standby === undefined ? seeded : standbyAsTold(seeded, telling.standby, now);
  return applyNext({ ...configuration, standby: shaped }, now);
}

function standbyAsTold(standby: Standby, said: NonNullable<Telling['standby']>, now: number): Standby {
  const { reason: before, ...rest } = standby;
  const shape = said.shape ?? standby.shape;
  const reason = said.reason === undefined ? reasonOf(shape, standby.shape, before) : (said.reason ?? undefined);
  const named: Standby = { ...rest, shape, quickChanges: 0, ...(reason === undefined ? {} : { reason }) };
  if (said.caughtUp === undefined) return named;
  const { applying: _stopped, ...idle } = named;
  if (!said.caughtUp) return { ...idle, heldBehind: true };
  const applied = idle.backlog.at(-1)?.pointId ?? idle.appliedPointId;
  const reached = applied === undefined ? {} : { appliedPointId: applied };
  return { ...idle, ...reached, heldBehind: false, firstCopyDone: true, backlog: [], progressAt: now };
}

function reasonOf(shape: StandbyShape, before: StandbyShape, reason: string | undefined): string | undefined {
  if (shape === before) return reason;
  if (shape === 'standard') return undefined;
  return shape === 'seedBoost' ? 'catchingUp' : 'standardTooSlow';
}

function verifyCleanup(configuration: ConfigurationRecord, now: number): OperationOutcome {
  const busy = busyOperation(configuration);
  return busy?.check === 'cleanupUnverifiable' && busy.phase === 'cleaning'
    ? completeCheck(configuration, busy, now)
    : unchanged(configuration);
}

function stepNow(configuration: ConfigurationRecord, busy: Operation, moment: OperationMoment): OperationOutcome {
  const { failSteps, failingOperationId } = configuration.told;
  if (failSteps > 0 && failingOperationId === busy.operationId) return step(configuration, busy, moment);
  if (busy.phase === 'cleaning' && busy.kind === 'validation') return completeCheck(configuration, busy, moment.now);
  const waitsForCopy = busy.kind === 'enrollment' && busy.phase === 'restoring';
  const copied = waitsForCopy && configuration.standby?.firstCopyDone === false;
  const ready = copied ? finishChange(configuration, moment.now) : unchanged(configuration);
  return andThen(ready, (current) => step(current, busy, moment));
}

function moveTo(
  configuration: ConfigurationRecord,
  busy: Operation,
  phase: Phase,
  moment: OperationMoment,
): OperationOutcome {
  const { now } = moment;
  if (phase === 'succeeded') return succeed(configuration, busy, moment);
  if (phase === 'failed') return fail(configuration, busy, now);
  return phase === 'cleaning' && busy.kind === 'validation'
    ? beginCheckCleanup(configuration, busy, now)
    : enter(configuration, busy, phase, now);
}

function succeed(configuration: ConfigurationRecord, busy: Operation, moment: OperationMoment): OperationOutcome {
  switch (busy.kind) {
    case 'enrollment':
      return completeEnrollment(configuration, busy, moment);
    case 'validation':
      return completeCheck(configuration, { ...busy, check: 'pass' }, moment.now);
    case 'activation':
      return promote(configuration, busy, moment.now);
  }
}

function fail(configuration: ConfigurationRecord, busy: Operation, now: number): OperationOutcome {
  switch (busy.kind) {
    case 'enrollment':
      return end(configuration, busy, 'failed', now);
    case 'validation':
      return completeCheck(configuration, { ...busy, check: 'fail' }, now);
    case 'activation':
      return returnToProtection(configuration, busy, now);
  }
}
