// Makes recovery points, and says from which of them a recovery may start.
import { hash as hashWith } from 'node:crypto';
import type { World } from '../store/store.ts';
import type { Configuration, RecoveryPoint } from './model.ts';
import { happened } from './operations.ts';
import { applyNext } from './standby.ts';
import { sourceNow } from './surroundings.ts';
import { withoutToldReadiness } from './told-readiness.ts';

/** The number of recovery points that a configuration keeps. */
const KEPT = 1_000;

const FULL_COPY_BYTES = 100_000_000;

/**
 * Takes a snapshot of the source as of `cutoffAt`. A warm standby queues the snapshot as a change, and applies it when it has no other
 * work.
 */
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

/**
 * Returns the protected recovery point: the newest one of a cold protection, or the newest one that the standby of a warm protection has
 * applied.
 */
export function protectedPoint(configuration: Configuration): RecoveryPoint | undefined {
  if (configuration.settings.mode === 'cold') return configuration.points.at(-1);
  const applied = configuration.standby?.appliedPointId;
  return applied === undefined ? undefined : configuration.points.find(({ pointId }) => pointId === applied);
}

/**
 * Lists the points that an activation may name, each with the operation to name together with it. For a cold protection these are all
 * points. For a warm one it is only the point that the standby has applied, with the operation that receives the changes, and none before
 * its enrollment is complete.
 */
export function selectablePoints(configuration: Configuration): readonly RecoveryPoint[] {
  const { points, settings, receiverOperationId, enrolled } = configuration;
  if (settings.mode === 'cold') return points;
  const point = protectedPoint(configuration);
  if (point === undefined || receiverOperationId === undefined || !enrolled) return [];
  return [{ ...point, operationId: receiverOperationId }];
}

/** Tells if the source had the same sizes when a point was taken as when its protection was last configured. */
export function keepsContract(configuration: Configuration, point: RecoveryPoint): boolean {
  return JSON.stringify(configuration.source.sizing) === JSON.stringify(point.sizing);
}

/** Hashes a text with SHA-256 to 64 hexadecimal characters. */
export function hash(text: string): string {
  return hashWith('sha256', text);
}
