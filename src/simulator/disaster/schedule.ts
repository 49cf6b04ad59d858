// The clockwork: everything that happens to a configuration by itself, in the order of its due times. One timer per
// configuration is enough: it is always set to the earliest of them.
import { ROLLOVER_MS } from './durations.ts';
import type { Configuration } from './model.ts';
import { andThen, begin, busyOperation, happened, type Moment, operationOf } from './operations.ts';
import { type OperationOutcome, runningActivation, unchanged } from './operations.ts';
import { protectedPoint, takeSnapshot } from './evidence.ts';
import { applyNext, finishChange, postponeChange } from './standby.ts';
import { step } from './steps.ts';
import { standsStill } from './told.ts';

interface Due {
  readonly at: number;
  readonly happen: (configuration: Configuration, moment: Moment) => OperationOutcome;
}

/** The time of the next thing that happens to this configuration by itself; undefined while it is held or fenced. */
export function nextDueAt(configuration: Configuration): number | undefined {
  return earliest(configuration)?.at;
}

/** Does everything that is due by now, in order. */
export function tick(configuration: Configuration, moment: Moment): OperationOutcome {
  let outcome = unchanged(configuration);
  for (let due = earliest(configuration); due !== undefined && due.at <= moment.now;) {
    const { happen } = due;
    outcome = andThen(outcome, (current) => happen(current, moment));
    due = earliest(outcome.configuration);
  }
  return outcome;
}

function earliest(configuration: Configuration): Due | undefined {
  if (configuration.told.hold || configuration.fencedAt !== undefined) return undefined;
  const [first] = agenda(configuration).toSorted((one, other) => one.at - other.at);
  return first;
}

function agenda(configuration: Configuration): readonly Due[] {
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

function change(configuration: Configuration, { now, destinationUp }: Moment): OperationOutcome {
  return destinationUp ? finishChange(configuration, now) : postponeChange(configuration, now);
}

function busyStep(configuration: Configuration, moment: Moment): OperationOutcome {
  const busy = busyOperation(configuration);
  return busy === undefined ? unchanged(configuration) : step(configuration, busy, moment);
}

/** The first due time after now on a schedule: missed intervals are skipped, the beat is kept. */
function nextBeat(dueAt: number, intervalMs: number, now: number): number {
  return dueAt + intervalMs * (Math.floor((now - dueAt) / intervalMs) + 1);
}

function scheduledSnapshot(configuration: Configuration, moment: Moment): OperationOutcome {
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

function canCopy({ sourceReachable, destinationUp }: Moment): boolean {
  return sourceReachable && destinationUp;
}

/** Takes a snapshot as of `cutoffAt` and lets a standby begin with it. */
export function snapshot(configuration: Configuration, moment: Moment, cutoffAt: number): OperationOutcome {
  return andThen(takeSnapshot(configuration, moment, cutoffAt), (taken) => unchanged(applyNext(taken, moment.now)));
}

function finishRollover(configuration: Configuration, moment: Moment): OperationOutcome {
  const { rollover } = configuration;
  const finished = { ...configuration, rollover: undefined };
  if (rollover === undefined || !canCopy(moment)) return unchanged(finished);
  return snapshot(finished, moment, rollover.startedAt);
}

function scheduledCheck(configuration: Configuration, moment: Moment): OperationOutcome {
  const { settings, nextValidationAt = moment.now } = configuration;
  const nextAt = nextBeat(nextValidationAt, settings.validationIntervalMs, moment.now);
  const scheduled = { ...configuration, nextValidationAt: nextAt };
  return protectedPoint(scheduled) === undefined ? unchanged(scheduled) : beginCheck(scheduled, moment, true);
}

/** Journals an isolated check; in warm mode it runs beside the receiver, in cold mode it holds the lock. */
export function beginCheck(configuration: Configuration, { now, newId }: Moment, scheduled: boolean): OperationOutcome {
  const operationId = newId('op');
  const begun = begin(configuration, { operationId, kind: 'validation', now });
  const receiver = operationOf(configuration, configuration.receiverOperationId);
  const holder = receiver === undefined ? { activeOperationId: operationId } : { checkOperationId: operationId };
  return happened(
    { ...begun, ...holder },
    { kind: scheduled ? 'validation.scheduled' : 'validation.accepted', operationId },
  );
}
