import { pointsCommand } from '../config.ts';
import { mostPoints } from '../kinds/disaster-protection/schema.ts';
import { aboutProtection, ageOf, cautionsOn, parseNamed, type Point, type Protection } from './protection.ts';

/** `apphosting points NAME`: the recovery points of a protection. */
export function points(args: readonly string[]): Promise<number> {
  const parsed = parseNamed(pointsCommand, args);
  return aboutProtection('points', parsed, (protection, _settings, nowMs) => ({ text: tableOf(protection, nowMs) }));
}

/** The points as a table, newest first. */
export function tableOf(protection: Protection, nowMs: number): string {
  const { recoveryPoints = [] } = protection.facts;
  if (recoveryPoints.length === 0) return 'The service lists no recovery point.\n';
  const rows = recoveryPoints.map((point) => [
    point.pointId.slice(0, 12),
    ageOf(point.cutoffTime, nowMs),
    point.cutoffTime,
    String(point.configurationGeneration),
    sizeOf(point),
  ]);
  const header = ['POINT', 'AGE', 'CUTOFF', 'GENERATION', 'SIZE'];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const lines = [header, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const isCut = recoveryPoints.length >= mostPoints;
  const more = isCut ? [`Only the newest ${mostPoints} are listed; the service may have older ones.`] : [];
  const notes = [...more, ...cautionsOn(protection, nowMs)];
  return [...lines, ...(notes.length === 0 ? [] : ['', ...notes]), ''].join('\n');
}

/** What a recovery from the point would need, as far as it is known. */
function sizeOf({ sizing }: Point): string {
  if (sizing === undefined) return '-';
  const parts = [
    sizing.replicas === undefined ? undefined : `${sizing.replicas} replicas`,
    sizing.cpu === undefined ? undefined : `${sizing.cpu} CPU`,
    sizing.memoryMb === undefined ? undefined : `${sizing.memoryMb} MB`,
    sizing.volumeCapacities === undefined ? undefined : sizing.volumeCapacities.join('+'),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? '-' : parts.join(', ');
}
