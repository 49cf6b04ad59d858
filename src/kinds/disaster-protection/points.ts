/** Chooses the recovery points that status shows: the newest, and some older points that show how far people can go back. */
import { stated, unlessEmpty } from '../../base/json.ts';
import type { ConfigurationItem, PointItem } from '../../hosting/requests.ts';
import { mostPoints, type DisasterProtectionFacts } from './schema.ts';

/** One recovery point of a DisasterProtection, as `status.recoveryPoints` lists it. */
export type PointRow = NonNullable<DisasterProtectionFacts['recoveryPoints']>[number];

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;
/**
 * Besides the newest recovery points, status lists some older ones. For each of these ages, it lists one recovery point
 * that is at least this much older than the newest.
 */
const spreadMs = [
  ...[1, 2, 4, 8, 12, 18].map((hours) => hours * hourMs),
  ...[1, 2, 3, 4, 5, 6].map((days) => days * dayMs),
  ...[1, 2, 3, 4, 6].map((weeks) => weeks * weekMs),
];

/** Sorts recovery points by the moment up to which each recovers data, newest first. */
export function byMoment<Point extends Pick<PointItem, 'cutoffAt' | 'pointId'>>(
  points: Iterable<Point>,
): readonly Point[] {
  const momentOf = ({ cutoffAt }: Point) => Date.parse(cutoffAt) || 0;
  return [...points].toSorted((a, b) => momentOf(b) - momentOf(a) || (a.pointId < b.pointId ? -1 : 1));
}

/**
 * Puts the recovery points that status lists before all others: the oldest one, one for each age in `spreadMs`, and as
 * many of the newest as fit.
 */
function shownFirst(points: Iterable<PointItem>): readonly PointItem[] {
  const all = byMoment(points);
  const [newest] = all;
  if (newest === undefined || all.length <= mostPoints) return all;
  const chosen = new Set(all.slice(-1));
  for (const stepMs of spreadMs) {
    const limit = Date.parse(newest.cutoffAt) - stepMs;
    const found = all.find(({ cutoffAt }) => Date.parse(cutoffAt) <= limit);
    if (found !== undefined) chosen.add(found);
  }
  for (const point of all) if (chosen.size < mostPoints) chosen.add(point);
  return [...byMoment(chosen), ...all.filter((point) => !chosen.has(point))];
}

/**
 * Returns the recovery points as entries of `status.recoveryPoints`, the most important first; undefined if there are
 * none.
 */
export function pointsShown(
  points: Iterable<PointItem>,
  configuration: Pick<ConfigurationItem, 'generation'>,
): PointRow[] | undefined {
  return unlessEmpty(pointRows(shownFirst(points), configuration));
}

/** Converts recovery points to entries of `status.recoveryPoints`. */
export function pointRows(
  points: readonly PointItem[],
  { generation }: Pick<ConfigurationItem, 'generation'>,
): PointRow[] {
  return points.map((point) => ({
    selectedOperationId: point.selectedOperationId,
    pointId: point.pointId,
    cutoffTime: point.cutoffAt,
    configurationGeneration: point.generation ?? generation,
    availabilityRequiresVerification: point.availabilityRequiresVerification,
    sizing: stated(point.retainedSizing ?? {}),
  }));
}
