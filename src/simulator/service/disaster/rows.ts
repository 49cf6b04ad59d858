// Reads and writes the stored objects of disaster readiness. Recovery points are stored separately from their configuration, so that a
// snapshot writes only one small object.
import { collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';
import { earliest } from './progress.ts';
import { DISK_RETENTION_MS } from './durations.ts';
import type { CallRecord, Configuration, Happening, RecoveryPoint, RetainedDisk } from './model.ts';
import { bringToLife } from './surroundings.ts';

/** A configuration as it is stored: without its recovery points, which are separate objects, and without its new events. */
export type StoredConfiguration = Omit<Configuration, 'points' | 'happenings'>;

/** All disaster-readiness configurations in the simulator's data, indexed by account and by source environment. */
export const configurations = collection<StoredConfiguration>('configurations', (row) => row.configurationId, {
  account: (row) => row.accountId,
  source: (row) => row.sourceAppEnvId,
});

/** All recovery points in the simulator's data, indexed by configuration. */
export const recoveryPoints = collection<RecoveryPoint>('recoveryPoints', (row) => row.pointId, {
  configuration: (row) => row.configurationId,
});

/** All disaster-readiness requests that were accepted with a receipt, each stored under its accountId and requestId. */
export const journaledCalls = collection<CallRecord>('disasterCalls', (row) => callId(row.accountId, row.requestId));

/**
 * All retained disks in the simulator's data, indexed by source environment. A disk is retained for some time after its machine was
 * removed.
 */
export const retainedDisks = collection<RetainedDisk>('retainedDisks', (row) => row.diskId, {
  source: (row) => row.sourceAppEnvId,
});

/** Returns the key under which an accepted request is stored; a requestId is unique only within its account. */
export function callId(accountId: string, requestId: string): string {
  return JSON.stringify([accountId, requestId]);
}

/** The kind of the timers that fire when the next scheduled action of a configuration is due. */
export const DUE = 'disaster.due';

/**
 * The kind of the timers that fire when the retention of a disk ends. Deleting the configuration does not cancel such a
 * timer.
 */
export const DISK_DUE = 'disaster.diskDue';

/** Finds a disaster-readiness configuration by its id, together with its recovery points. */
export function configurationOf(world: World, configurationId: string): Configuration | undefined {
  const row = world.of(configurations).get(configurationId);
  return row === undefined ? undefined : assembled(row, pointsOf(world, configurationId));
}

/** Finds the disaster-readiness configuration that protects an environment, together with its recovery points. */
export function protectionOf(world: World, sourceAppEnvId: string): Configuration | undefined {
  const [row] = world.of(configurations).where('source', sourceAppEnvId);
  return row === undefined ? undefined : assembled(row, pointsOf(world, row.configurationId));
}

/** Combines a stored configuration and its recovery points into one object. */
export function assembled(row: StoredConfiguration, points: readonly RecoveryPoint[]): Configuration {
  return { ...row, points: points.toSorted((one, other) => one.sequence - other.sequence) };
}

function pointsOf(world: World, configurationId: string): readonly RecoveryPoint[] {
  return world.of(recoveryPoints).where('configuration', configurationId);
}

/**
 * Stores a configuration with its recovery points, and sets the timer for its next action. Writes its new events to the change log and
 * carries out their effects, such as the creation of a recovered environment.
 */
export function keep(world: World, configuration: Configuration, requestId?: string): void {
  const { points, happenings = [], ...row } = configuration;
  keepPoints(world, pointsOf(world, row.configurationId), points);
  world.of(configurations).put(row);
  scheduleNext(world, configuration);
  for (const happening of happenings) note(world, configuration, happening, requestId);
}

/** Deletes a configuration with its recovery points and its timer, and records one last event. */
export function wipe(world: World, configuration: Configuration, last: Happening): void {
  const { configurationId } = configuration;
  world.cancel(DUE, configurationId);
  for (const { pointId } of pointsOf(world, configurationId)) world.of(recoveryPoints).remove(pointId);
  world.of(configurations).remove(configurationId);
  note(world, configuration, last);
}

/**
 * Stores the recovery points of a configuration. Stored points that are older than all of `points` are removed, and new points are added.
 */
function keepPoints(world: World, before: readonly RecoveryPoint[], points: Configuration['points']): void {
  const rows = world.of(recoveryPoints);
  const oldest = points[0]?.sequence ?? Infinity;
  for (const { pointId, sequence } of before) if (sequence < oldest) rows.remove(pointId);
  const newest = points.findLastIndex(({ pointId }) => rows.has(pointId));
  for (const point of points.slice(newest + 1)) rows.put(point);
}

function scheduleNext(world: World, configuration: Configuration): void {
  const { configurationId } = configuration;
  const at = earliest(configuration)?.at;
  if (at === undefined) world.cancel(DUE, configurationId);
  else world.schedule(DUE, configurationId, at, { configurationId });
}

function note(world: World, configuration: Configuration, happening: Happening, requestId?: string): void {
  const { configurationId, accountId, sourceAppEnvId, generation } = configuration;
  const { kind, operationId, detail, retainsDisk, recovers } = happening;
  const reference = requestId === undefined ? {} : { requestId };
  const more = { configurationId, sourceAppEnvId, generation, ...detail };
  world.record({ kind, id: operationId ?? configurationId, accountId, ...reference, detail: more });
  if (recovers !== undefined) bringToLife(world, configuration, recovers);
  if (retainsDisk !== true) return;
  const diskId = world.id('disk');
  const retentionUntil = world.now + DISK_RETENTION_MS;
  world.of(retainedDisks).put({ diskId, accountId, sourceAppEnvId, configurationId, retentionUntil });
  world.schedule(DISK_DUE, diskId, retentionUntil, { diskId });
}

/** Lists the retained disks of a source environment. */
export function disksOf(world: World, sourceAppEnvId: string): readonly RetainedDisk[] {
  return world.of(retainedDisks).where('source', sourceAppEnvId);
}
