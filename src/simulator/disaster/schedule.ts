// Runs everything that happens to a configuration by itself, in the order of time. Each configuration has one timer, which is
// always set to the earliest event.
import type { World } from '../store/store.ts';
import { SECOND } from './durations.ts';
import { protectedPoint, takeSnapshot } from './evidence.ts';
import { standsStill } from './told-readiness.ts';
import type { Configuration } from './model.ts';
import { begin, busyOperation, happened, operationOf, runningActivation } from './operations.ts';
import { step } from './progress.ts';
import { finishChange, postponeChange } from './standby.ts';
import { destinationUp, sourceReachable } from './surroundings.ts';

/** How long a full copy takes that replaces a broken chain of snapshots. */
const ROLLOVER_MS = 60 * SECOND;

interface Due {
  readonly at: number;
  readonly happen: (world: World, configuration: Configuration) => Configuration;
}

/** When the next event of a configuration is due; undefined when none is, as while it is held or being reset. */
export function nextDueAt(configuration: Configuration): number | undefined {
  return earliest(configuration)?.at;
}

/** Runs every event that is due, in the order of time. */
export function tick(world: World, before: Configuration): Configuration {
  let configuration = before;
  for (let due = earliest(before); due !== undefined && due.at <= world.now; due = earliest(configuration)) {
    configuration = due.happen(world, configuration);
  }
  return configuration;
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

/** The next time of a schedule after `now`; skips missed times, and keeps the rhythm. */
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
  return protectedPoint(scheduled) === undefined ? scheduled : beginCheck(world, scheduled, 'validation.scheduled');
}

/** Begins an isolated check. In cold mode it becomes the active operation; in warm mode the receiver stays the active one. */
export function beginCheck(world: World, configuration: Configuration, kind: string): Configuration {
  const operationId = world.id('op');
  const begun = begin(configuration, { operationId, kind: 'validation', now: world.now });
  const receiver = operationOf(configuration, configuration.receiverOperationId);
  return happened(receiver === undefined ? { ...begun, activeOperationId: operationId } : begun, { kind, operationId });
}
