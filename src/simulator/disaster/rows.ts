// Disaster readiness in the world: its rows, and the thin layer between them and the pure functions. Points are rows of
// their own, so that a snapshot writes one small row.
import { collection } from '../store/collection.ts';
import type { World } from '../store/store.ts';
import { nextDueAt } from './schedule.ts';
import { DISK_RETENTION_MS } from './durations.ts';
import type { CallRecord, Configuration, Happening, RecoveryPoint, RetainedDisk } from './model.ts';
import { bringToLife } from './surroundings.ts';

/** A configuration as it is kept: without its points, with the timer that will wake it. */
export interface StoredConfiguration extends Omit<Configuration, 'points' | 'happenings'> {
  readonly timer?: { readonly timerId: string; readonly at: number } | undefined;
}

/** A point as it is kept. */
export interface StoredPoint extends RecoveryPoint {
  readonly configurationId: string;
  readonly createdAt: number;
}

/** All protections, by account and by source. */
export const configurations = collection<StoredConfiguration>('configurations', (row) => row.configurationId, {
  indexes: { account: (row) => row.accountId, source: (row) => row.sourceAppEnvId },
  remembered: true,
});

/** All recovery points, by configuration. */
export const recoveryPoints = collection<StoredPoint>('recoveryPoints', (row) => row.pointId, {
  indexes: { configuration: (row) => row.configurationId },
  order: (row) => row.sequence,
  remembered: true,
});

/** Every committed call, under its requestId: one space per account over all calls. */
export const journaledCalls = collection<CallRecord>('disasterCalls', (row) => callId(row.accountId, row.requestId));

/** All disks under their retention policy, by source. */
export const retainedDisks = collection<RetainedDisk>('retainedDisks', (row) => row.diskId, {
  indexes: { source: (row) => row.sourceAppEnvId },
});

/** The key under which a call is journaled. */
export function callId(accountId: string, requestId: string): string {
  return JSON.stringify([accountId, requestId]);
}

/** The timer that wakes a configuration. */
export const DUE = 'disaster.due';

/** A configuration by its id. */
export function configurationOf(world: World, configurationId: string): Configuration | undefined {
  const row = world.of(configurations).get(configurationId);
  return row === undefined ? undefined : assembled(row, pointsOf(world, configurationId));
}

/** The configuration that protects an environment. */
export function protectionOf(world: World, sourceAppEnvId: string): Configuration | undefined {
  const [row] = world.of(configurations).where('source', sourceAppEnvId);
  return row === undefined ? undefined : assembled(row, pointsOf(world, row.configurationId));
}

/** A configuration out of its rows; the points come in the order of their sequence. */
export function assembled(row: StoredConfiguration, points: readonly StoredPoint[]): Configuration {
  const { timer: _timer, ...configuration } = row;
  return { ...configuration, points };
}

function pointsOf(world: World, configurationId: string): readonly StoredPoint[] {
  return world.of(recoveryPoints).where('configuration', configurationId);
}

/** Stores what has happened to a configuration: rows, timer, ledger, and effects elsewhere. */
export function keep(world: World, configuration: Configuration, requestId?: string): void {
  const { points, happenings = [], ...row } = configuration;
  const before = pointsOf(world, row.configurationId);
  if (points !== before) keepPoints(world, before, configuration);
  world.of(configurations).put({ ...row, timer: wokenAt(world, configuration) });
  for (const happening of happenings) note(world, configuration, happening, requestId);
}

/** Removes a configuration with everything that belongs to it; the last happening says what stays behind. */
export function wipe(world: World, configuration: Configuration, last: Happening): void {
  const { configurationId } = configuration;
  const timer = world.of(configurations).get(configurationId)?.timer;
  if (timer !== undefined) world.cancel(timer.timerId);
  for (const { pointId } of pointsOf(world, configurationId)) world.of(recoveryPoints).remove(pointId);
  world.of(configurations).remove(configurationId);
  note(world, configuration, last);
}

/** Points are a sequence: old ones are dropped at its beginning, new ones are added at its end. */
function keepPoints(world: World, before: readonly RecoveryPoint[], { configurationId, points }: Configuration): void {
  const rows = world.of(recoveryPoints);
  const oldest = points[0]?.sequence ?? Infinity;
  for (const { pointId, sequence } of before) if (sequence < oldest) rows.remove(pointId);
  const newest = points.findLastIndex(({ pointId }) => rows.has(pointId));
  for (const point of points.slice(newest + 1)) rows.put({ ...point, configurationId, createdAt: point.cutoffAt });
}

function wokenAt(world: World, configuration: Configuration): StoredConfiguration['timer'] {
  const before = world.of(configurations).get(configuration.configurationId)?.timer;
  const dueAt = nextDueAt(configuration);
  const at = dueAt === undefined ? undefined : Math.max(dueAt, world.now);
  if (before !== undefined && before.at === at && at > world.now) return before;
  if (before !== undefined) world.cancel(before.timerId);
  if (at === undefined) return undefined;
  return { timerId: world.schedule(DUE, at, { configurationId: configuration.configurationId }), at };
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
}

/** The disks of a source that are kept still; the ones whose retention is over are cleared away with the next write. */
export function disksOf(world: World, sourceAppEnvId: string): readonly RetainedDisk[] {
  return world.of(retainedDisks).where('source', sourceAppEnvId);
}

/** Forgets disks: all of a source, or only those whose retention is over. */
export function clearDisks(world: World, sourceAppEnvId: string, which: 'all' | 'expired'): void {
  for (const { diskId, retentionUntil } of disksOf(world, sourceAppEnvId)) {
    if (which === 'all' || retentionUntil <= world.now) world.of(retainedDisks).remove(diskId);
  }
}
