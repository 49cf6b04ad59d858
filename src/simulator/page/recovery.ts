import type { Operation, Standby } from '../disaster/model.ts';
import { busyOperation } from '../disaster/operations.ts';
import { readinessAt } from '../disaster/readiness.ts';
import { assembled, recoveryPoints, type StoredConfiguration } from '../disaster/rows.ts';
import { caughtUp } from '../disaster/standby.ts';
import type { World } from '../store/store.ts';

const mostPoints = 60;
const mostOperations = 16;

/** A protection as the page shows it, with its readiness at this moment and what its timeline is drawn from. */
export function shownConfiguration(row: StoredConfiguration, world: World): Readonly<Record<string, unknown>> {
  const points = world.of(recoveryPoints).where('configuration', row.configurationId);
  const configuration = assembled(row, points);
  const { settings, source, standby, told, activationResult } = configuration;
  return {
    accountId: row.accountId,
    appEnvId: row.sourceAppEnvId,
    appName: source.appName,
    envName: source.environmentName,
    region: source.region,
    destination: settings.destinationRegion,
    mode: settings.mode,
    generation: row.generation,
    createdAt: row.createdAt,
    snapshotIntervalMs: settings.snapshotIntervalMs,
    validationIntervalMs: settings.validationIntervalMs,
    rpoTargetMs: settings.rpoTargetMs,
    readiness: readinessAt(configuration, world.now),
    busy: busyOperation(configuration)?.operationId,
    operations: configuration.operations.slice(-mostOperations).map(shownOperation),
    standby: standby === undefined ? undefined : shownStandby(standby),
    points: configuration.points.slice(-mostPoints).map(({ cutoffAt }) => cutoffAt),
    pointsTaken: row.pointsTaken,
    nextSnapshotAt: row.nextSnapshotAt,
    nextValidationAt: row.nextValidationAt,
    fenced: row.fencedAt !== undefined,
    hold: told.hold,
    failSteps: told.failSteps,
    nextValidation: told.nextValidation,
    recovered: activationResult?.targetAppEnvId,
  };
}

function shownOperation({ operationId, kind, phase, startedAt, endedAt, outcome, failedSteps, ...rest }: Operation) {
  const target = rest.pinned?.target.envName;
  return { operationId, kind, phase, startedAt, endedAt, outcome, failedSteps, check: rest.check, target };
}

function shownStandby(standby: Standby) {
  const { shape, reason, backlog, lastApplySeconds, firstCopyDone } = standby;
  return { shape, reason, waiting: backlog.length, lastApplySeconds, firstCopyDone, caughtUp: caughtUp(standby) };
}
