import { stringify } from 'yaml';
import { pointsCommand, type Settings } from '../config.ts';
import {
  aboutProtection,
  ageOf,
  cautionsOn,
  parseNamed,
  type Point,
  type ProtectionView,
  type Said,
} from './protection.ts';

/** `apphosting points NAME`: the recovery points of a protection, as the service lists them now. */
export function points(args: readonly string[]): Promise<number> {
  return aboutProtection('points', parseNamed(pointsCommand, args), listing);
}

type Asked = Pick<Settings<(typeof pointsCommand)['flags']>, 'before' | 'limit' | 'output'>;

/** Prints the points of a protection. */
export function listing(protection: ProtectionView, { before, limit, output }: Asked, nowMs: number): Said {
  const { recoveryPoints = [] } = protection.facts;
  const asked = recoveryPoints.filter(({ cutoffTime }) => before === undefined || Date.parse(cutoffTime) <= before);
  const listed = asked.slice(0, limit);
  const { configurationId, stale } = protection;
  const whole = {
    configurationId,
    source: stale === undefined ? 'Service' : 'Status',
    total: asked.length,
    points: listed,
  };
  const doubt = stale && {
    note: `the service could not be asked (${stale.why}); these are the points in status`,
    isUnsure: stale.asked,
  };
  switch (output) {
    case 'json':
      return { text: `${JSON.stringify(whole, undefined, 2)}\n`, ...doubt };
    case 'yaml':
      return { text: stringify(whole), ...doubt };
    case 'name':
      return { text: listed.map(({ pointId }) => `${pointId}\n`).join(''), ...doubt };
    case 'table':
      return { text: tableOf(protection, { listed, total: asked.length }, nowMs), ...doubt };
  }
}

/** The points as a table, newest first. */
function tableOf(
  protection: ProtectionView,
  { listed, total }: { readonly listed: readonly Point[]; readonly total: number },
  nowMs: number,
): string {
  if (listed.length === 0) return 'There is no such recovery point.\n';
  const rows = listed.map((point) => [
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
  const more =
    total > listed.length ? [`${listed.length} of ${total} are listed; --limit and --before show others.`] : [];
  const notes = [...more, ...cautionsOn(protection, nowMs)];
  return [...lines, ...(notes.length === 0 ? [] : ['', ...notes]), ''].join('\n');
}

/** The resources that a recovery from the point would need, as far as they are known. */
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
