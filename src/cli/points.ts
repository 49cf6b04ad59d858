import { z } from 'zod';
import { output, whole, type CommandLine, type Flags, type Settings } from '../config.ts';
import { command, type CommandAnswer } from './frame.ts';
import { ageInTwoUnits, columns, counted } from './output.ts';
import { cautionsOn, protectionCommand, readProtection, type Point, type ProtectionView } from './protection.ts';

/** Describes the command `apphosting points`: its name, flags and notes. */
export const pointsCommand = {
  name: 'points NAME',
  summary:
    'Lists the recovery points that the service has now for the DisasterProtection NAME, newest first, with age and size. If they cannot\nbe read, lists the points in the status of the protection, and says why. The exit code is then 1, or 0 if the command has no\ncredential for the service.',
  operand: 'needed',
  flags: {
    ...protectionCommand.flags,
    before: {
      help: 'list only recovery points with data up to this time, such as 2026-01-31T12:00:00Z',
      value: 'TIME',
      schema: z
        .string()
        .refine(
          (text) => /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text)),
          'must be a time, such as 2026-01-31T12:00:00Z',
        )
        .transform((text) => Date.parse(text))
        .optional(),
    },
    limit: whole('list at most this many recovery points', 'N', '50', [1, 100_000]),
    output: output(['table', 'json', 'yaml', 'name'], 'the output format; name prints only the ids'),
  },
  notes: [...protectionCommand.notes, 'Exit codes: 0 success, 1 something could not be read, 64 wrong usage.'],
} satisfies CommandLine<Flags>;

/** `apphosting points NAME`: prints the recovery points of a protection, as the service lists them now. */
export const points = command(pointsCommand, async (called) =>
  listing(await readProtection(called), called.settings, called.time.nowMs()),
);

type Asked = Pick<Settings<(typeof pointsCommand)['flags']>, 'before' | 'limit' | 'output'>;

/** Makes the result of `apphosting points`: the recovery points of a protection. */
export function listing(protection: ProtectionView, { before, limit, output }: Asked, nowMs: number): CommandAnswer {
  const { recoveryPoints = [] } = protection.facts;
  const asked = recoveryPoints.filter(({ cutoffTime }) => before === undefined || Date.parse(cutoffTime) <= before);
  const listed = asked.slice(0, limit);
  const { configurationId, stale } = protection;
  const data = {
    configurationId,
    source: stale === undefined ? 'Service' : 'Status',
    total: asked.length,
    points: listed,
  };
  const text =
    output === 'name'
      ? listed.map(({ pointId }) => `${pointId}\n`).join('')
      : tableOf(protection, listed, asked.length, nowMs);
  if (stale === undefined) return { data, text };
  const doubt = `the service gave no list of recovery points (${stale.why}); these points are from the status of the protection`;
  return { data, text, ...(stale.asked ? { problems: [doubt] } : { note: doubt }) };
}

/** Formats recovery points as a table, newest first. */
function tableOf(protection: ProtectionView, listed: readonly Point[], total: number, nowMs: number): string {
  if (listed.length === 0) return 'There are no recovery points to list.\n';
  const rows = listed.map((point) => [
    point.pointId.slice(0, 12),
    ageInTwoUnits(point.cutoffTime, nowMs),
    point.cutoffTime,
    String(point.configurationGeneration),
    sizeOf(point),
  ]);
  const header = ['POINT', 'AGE', 'CUTOFF', 'GENERATION', 'SIZE'];
  const lines = columns([header, ...rows]);
  const more =
    total > listed.length
      ? [`${listed.length} of ${total} recovery points are listed; use --limit or --before to list others.`]
      : [];
  const notes = [...more, ...cautionsOn(protection, nowMs)];
  return [...lines, ...(notes.length === 0 ? [] : ['', ...notes]), ''].join('\n');
}

/** Formats the size of a recovery point: its replicas, CPU, memory and volumes, as far as they are known. */
function sizeOf({ sizing }: Point): string {
  if (sizing === undefined) return '-';
  const parts = [
    sizing.replicas === undefined ? undefined : counted(sizing.replicas, 'replica'),
    sizing.cpu === undefined ? undefined : `${sizing.cpu} CPU`,
    sizing.memoryMb === undefined ? undefined : `${sizing.memoryMb} MB`,
    sizing.volumeCapacities === undefined ? undefined : sizing.volumeCapacities.join('+'),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? '-' : parts.join(', ');
}
