// Makes recovery points, and says which of them a recovery may start from.
import { hash as hashWith } from 'node:crypto';
import type { World } from '../store/store.ts';
import type { Configuration, RecoveryPoint } from './model.ts';
import { happened } from './operations.ts';
import { applyNext } from './standby.ts';
import { sourceNow } from './surroundings.ts';
import { withoutToldReadiness } from './told-readiness.ts';

/** How many recovery points a configuration keeps. */
const KEPT = 1_000;

const FULL_COPY_BYTES = 100_000_000;

/** Takes a snapshot of the source as of `cutoffAt`; a warm standby queues it as a change, and applies it when it has no other work. */
export function takeSnapshot(world: World, configuration: Configuration, cutoffAt = world.now): Configuration {
  const { configurationId } = configuration;
  const sequence = configuration.pointsTaken + 1;
  const point: RecoveryPoint = {
    pointId: hash(`${configurationId}/${sequence}/${cutoffAt}`),
    operationId: world.id('op'),
    sequence,
    cutoffAt,
    bytes: configuration.points.length === 0 ? FULL_COPY_BYTES : 1_000_000 + ((sequence * 7_919) % 4_000_000),
    sizing: (sourceNow(world, configuration) ?? configuration.source).sizing,
    configurationId,
    createdAt: cutoffAt,
  };
  const taken: Configuration = withoutToldReadiness({
    ...configuration,
    points: [...configuration.points, point].slice(-KEPT),
    pointsTaken: sequence,
  });
  const { pointId, bytes } = point;
  const { standby } = configuration;
  const queued = standby && { ...standby, backlog: [...standby.backlog, { pointId, bytes }] };
  const created = { kind: 'point.created', detail: { pointId, cutoffAt } };
  return happened(applyNext({ ...taken, standby: queued }, world.now), created);
}

/** The newest recovery point of a cold protection; the newest one that the standby of a warm protection has applied. */
export function protectedPoint(configuration: Configuration): RecoveryPoint | undefined {
  if (configuration.settings.mode === 'cold') return configuration.points.at(-1);
  const applied = configuration.standby?.appliedPointId;
  return applied === undefined ? undefined : configuration.points.find(({ pointId }) => pointId === applied);
}

/**
 * The points that an activation may name, each with the operation to name together with it. Of a cold protection they are all points, of
 * a warm one only the point that its standby has applied, with the operation that receives the changes. A warm protection has none while
 * its enrollment is not complete.
 */
export function selectablePoints(configuration: Configuration): readonly RecoveryPoint[] {
  const { points, settings, receiverOperationId, enrolled } = configuration;
  if (settings.mode === 'cold') return points;
  const point = protectedPoint(configuration);
  if (point === undefined || receiverOperationId === undefined || !enrolled) return [];
  return [{ ...point, operationId: receiverOperationId }];
}

/** Tells if the source had the same sizes when the point was taken as when its protection was last configured. */
export function keepsContract(configuration: Configuration, point: RecoveryPoint): boolean {
  return JSON.stringify(configuration.source.sizing) === JSON.stringify(point.sizing);
}

/** Hashes a text to 64 characters. */
export function hash(text: string): string {
  return hashWith('sha256', text);
}
