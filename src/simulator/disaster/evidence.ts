// Recovery points: how they are made, and which of them may be chosen.
import { createHash } from 'node:crypto';
import type { World } from '../store/store.ts';
import type { Configuration, RecoveryPoint } from './model.ts';
import { happened } from './operations.ts';
import { sourceNow } from './surroundings.ts';
import { withoutToldReadiness } from './told-readiness.ts';

/** The number of points that a configuration keeps. */
const KEPT = 1_000;

const FULL_COPY_BYTES = 100_000_000;

/** Takes a snapshot of the source as of `cutoffAt`; a warm standby gets it as its next change. */
export function takeSnapshot(world: World, configuration: Configuration, cutoffAt = world.now): Configuration {
  const sequence = configuration.pointsTaken + 1;
  const point: RecoveryPoint = {
    pointId: hash(`${configuration.configurationId}/${sequence}/${cutoffAt}`),
    operationId: world.id('op'),
    sequence,
    cutoffAt,
    bytes: configuration.points.length === 0 ? FULL_COPY_BYTES : 1_000_000 + ((sequence * 7_919) % 4_000_000),
    sizing: (sourceNow(world, configuration) ?? configuration.source).sizing,
  };
  const taken: Configuration = withoutToldReadiness({
    ...configuration,
    points: [...configuration.points, point].slice(-KEPT),
    pointsTaken: sequence,
  });
  return happened(withChange(taken, point), { kind: 'point.created', detail: { pointId: point.pointId, cutoffAt } });
}

function withChange(configuration: Configuration, { pointId, bytes }: RecoveryPoint): Configuration {
  const { standby } = configuration;
  if (standby === undefined) return configuration;
  return { ...configuration, standby: { ...standby, backlog: [...standby.backlog, { pointId, bytes }] } };
}

/** The newest point from which a recovery could start: for a warm protection the one its standby has applied. */
export function protectedPoint(configuration: Configuration): RecoveryPoint | undefined {
  if (configuration.settings.mode === 'cold') return configuration.points.at(-1);
  const applied = configuration.standby?.appliedPointId;
  return applied === undefined ? undefined : configuration.points.find(({ pointId }) => pointId === applied);
}

/** A point with the operation that must be named to select it. */
export interface SelectablePoint extends RecoveryPoint {
  readonly selectedOperationId: string;
}

/**
 * The points an activation may name. A warm protection has one at most: the point that the configuration's own receiver
 * has checked; without a receiver that owns it there is none.
 */
export function selectablePoints(configuration: Configuration): readonly SelectablePoint[] {
  if (configuration.settings.mode === 'cold') {
    return configuration.points.map((point) => ({ ...point, selectedOperationId: point.operationId }));
  }
  const point = protectedPoint(configuration);
  const { receiverOperationId, enrolled } = configuration;
  if (point === undefined || receiverOperationId === undefined || !enrolled) return [];
  return [{ ...point, selectedOperationId: receiverOperationId }];
}

/** Tells if a point was frozen under the contract that the protection was set up with. */
export function keepsContract(configuration: Configuration, point: RecoveryPoint): boolean {
  const contract = configuration.source.sizing;
  return contract !== undefined && JSON.stringify(contract) === JSON.stringify(point.sizing);
}

/** A hash of 64 characters. */
export function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
