// The clockwork: everything that happens to a configuration by itself, in the order of its due times. One timer per
// configuration is enough: it is always set to the earliest of them.
import { ROLLOVER_MS } from '../durations.ts';
import type { ConfigurationRecord } from '../model.ts';
import type { OperationMoment, OperationOutcome } from '../operations.ts';
import { andThen, begin, busyOperation, operationOf, runningActivation, unchanged } from '../operations.ts';
import { protectedPoint, takeSnapshot } from '../evidence/points.ts';
import { applyNext, finishChange, postponeChange } from '../evidence/standby.ts';
import { step } from './steps.ts';
import { standsStill } from '../evidence/told.ts';

interface Due {
  readonly at: number;
  readonly happen: (configuration: ConfigurationRecord, moment: OperationMoment) => OperationOutcome;
}

/** The time of the next thing that happens to this configuration by itself; undefined while it is held or fenced. */
export function nextDueAt(configuration: ConfigurationRecord): number | undefined {
  return earliest(configuration)?.at;
}

/** Does everything that is due by now, in order. */
export function tick(configuration: ConfigurationRecord, moment: OperationMoment): OperationOutcome {
  let outcome = unchanged(configuration);
  for (let due = earliest(configuration); due !== undefined && due.at <= moment.now;) {
    const { happen } = due;
    outcome = andThen(outcome, (current) => happen(current, moment));
    due = earliest(outcome.configuration);
  }
  return outcome;
}

function earliest(configuration: ConfigurationRecord): Due | undefined {
  if (configuration.told.hold || configuration.fencedAt !== undefined) return undefined;
  return agenda(configuration).reduce<Due | undefined>(
    (first, due) => (first === undefined || due.at < first.at ? due : first),
    undefined,
  );
}

function agenda(configuration: ConfigurationRecord): readonly Due[] {
  const due: Due[] = [];
  const { standby, rollover, nextSnapshotAt, nextValidationAt } = configuration;
  const busy = busyOperation(configuration);
  if (standby?.applying !== undefined && !standby.heldBehind) due.push({ at: standby.applying.doneAt, happen: change });
  if (busy?.stepDueAt !== undefined) due.push({ at: busy.stepDueAt, happen: busyStep });
  if (runningActivation(configuration) !== undefined) return due;
  if (rollover !== undefined) due.push({ at: rollover.doneAt, happen: finishRollover });
  else if (nextSnapshotAt !== undefined) due.push({ at: nextSnapshotAt, happen: scheduledSnapshot });
  if (busy === undefined && nextValidationAt !== undefined) due.push({ at: nextValidationAt, happen: scheduledCheck });
  return due;
}

function change(configuration: ConfigurationRecord, { now, destinationUp }: OperationMoment): OperationOutcome {
  return destinationUp ? finishChange(configuration, now) : postponeChange(configuration, now);
}

function busyStep(configuration: ConfigurationRecord, moment: OperationMoment): OperationOutcome {
  const busy = busyOperation(configuration);
  return busy === undefined ? unchanged(configuration) : step(configuration, busy, moment);
}

/** The first due time after now on a schedule: missed intervals are skipped, the beat is kept. */
function nextBeat(dueAt: number, intervalMs: number, now: number): number {
  return dueAt + intervalMs * (Math.floor((now - dueAt) / intervalMs) + 1);
}

function scheduledSnapshot(configuration: ConfigurationRecord, moment: OperationMoment): OperationOutcome {
  const { settings, nextSnapshotAt = moment.now, points } = configuration;
  const { now } = moment;
  const scheduled = { ...configuration, nextSnapshotAt: nextBeat(nextSnapshotAt, settings.snapshotIntervalMs, now) };
  if (!canCopy(moment) || standsStill(configuration)) return unchanged(scheduled);
  const lastCutoff = points.at(-1)?.cutoffAt ?? now;
  if (now - lastCutoff >= 2 * settings.snapshotIntervalMs) {
    return unchanged({ ...scheduled, rollover: { startedAt: now, doneAt: now + ROLLOVER_MS } });
  }
  return snapshot(scheduled, moment, now);
}

function canCopy({ sourceReachable, destinationUp }: OperationMoment): boolean {
  return sourceReachable && destinationUp;
}

/** Takes a snapshot as of `cutoffAt` and lets a standby begin with it. */
export function snapshot(
  configuration: ConfigurationRecord,
  moment: OperationMoment,
  cutoffAt: number,
): OperationOutcome {
  return andThen(takeSnapshot(configuration, moment, cutoffAt), (taken) => unchanged(applyNext(taken, moment.now)));
}

function finishRollover(configuration: ConfigurationRecord, moment: OperationMoment): OperationOutcome {
  const { rollover, ...rest } = configuration;
  if (rollover === undefined || !canCopy(moment)) return unchanged(rest);
  return snapshot(rest, moment, rollover.startedAt);
}

function scheduledCheck(configuration: ConfigurationRecord, moment: OperationMoment): OperationOutcome {
  const { settings, nextValidationAt = moment.now } = configuration;
  const nextAt = nextBeat(nextValidationAt, settings.validationIntervalMs, moment.now);
  const scheduled = { ...configuration, nextValidationAt: nextAt };
  return protectedPoint(scheduled) === undefined ? unchanged(scheduled) : beginCheck(scheduled, moment, true);
}

/** Journals an isolated check; in warm mode it runs beside the receiver, in cold mode it holds the lock. */
export function beginCheck(
  configuration: ConfigurationRecord,
  { now, newId }: OperationMoment,
  scheduled: boolean,
): OperationOutcome {
  const operationId = newId('op');
  const begun = begin(configuration, { operationId, kind: 'validation', now });
  const receiver = operationOf(configuration, configuration.receiverOperationId);
  const holder = receiver === undefined ? { activeOperationId: operationId } : { checkOperationId: operationId };
  return {
    configuration: { ...begun, ...holder },
    happenings: [{ kind: scheduled ? 'validation.scheduled' : 'validation.accepted', operationId }],
  };
}
