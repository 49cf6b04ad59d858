/** Writes the output of commands: streams, exit codes, colours, tables, JSON and YAML. */
import { writeFile } from 'node:fs/promises';
import { styleText } from 'node:util';
import { messageOf } from '../base/text.ts';

/** The exit codes of all commands. */
export const exitCodes = {
  fine: 0,
  /**
   * The exit code if the result is incomplete, for example after a failed read. This exit code wins over those for
   * changes and problems.
   */
  unknown: 1,
  /** The exit code if the command found changes or problems. */
  found: 2,
  /**
   * The exit code of a plan if the flag `--fail-on` names something in the plan, such as a deletion. Also the exit code
   * of a command that changes nothing because Argo CD or Flux owns the resource.
   */
  gate: 3,
  /** The exit code if the command line is not valid. */
  usage: 64,
} as const;

/** The streams that a command writes to: only its result goes to `out`, everything else goes to `err`. */
export interface Speaks {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** True if the stream is a terminal, where a line may be overwritten. */
  readonly isTerminal: boolean;
}

/** The standard output and error of the process. */
export const standard: Speaks = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
};

/** A colour of text in the output. */
type Colour = 'green' | 'yellow' | 'red' | 'cyan' | 'dim';

/** Colours a text, or returns it unchanged where colours are off. */
export type Paint = (colour: Colour, text: string) => string;

/** Chooses whether the text for a stream is coloured, and returns the function that colours it. */
export function paintFor(wish: 'auto' | 'always' | 'never', stream: NodeJS.WriteStream): Paint {
  if (wish === 'never') return (_colour, text) => text;
  return (colour, text) => styleText(colour, text, wish === 'always' ? { validateStream: false } : { stream });
}

/**
 * The options with which commands write YAML, so that parsers of YAML 1.1 and of YAML 1.2 read the same values. For
 * example, the texts `22:00`, `on` and `1_000` get quotes, because YAML 1.1 would not read them as texts otherwise.
 */
export const yamlOptions = { compat: 'yaml-1.1' } as const;

/** Formats a value as the JSON or YAML that `-o` asks for; returns undefined for every other format. */
export async function asData(output: unknown, value: unknown): Promise<string | undefined> {
  if (output === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  if (output !== 'yaml') return undefined;
  // Import the YAML library only here, because the operator never writes YAML.
  const { stringify } = await import('yaml');
  return stringify(value, yamlOptions);
}

/**
 * Writes a file. If this fails, returns a list with one sentence that says why, for the command to print. Otherwise
 * returns an empty list.
 */
export async function writeOrExplain(path: string, text: string): Promise<readonly string[]> {
  try {
    await writeFile(path, text);
    return [];
  } catch (error) {
    return [unwritten(path, error)];
  }
}

/** Says that a file could not be written, and why. */
export function unwritten(path: string, error: unknown): string {
  return `${path} could not be written: ${messageOf(error)}`;
}

/** Aligns rows as columns of text; the last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.slice(0, -1).entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Writes a number with its noun: `1 call`, `2 calls`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/** Returns a word with its first letter in upper case. */
export function capitalised(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}

/** Formats how long ago a time was, in the largest unit that gives at least 2: `90s`, `12m`, `5h`, `3d`. */
export function ageInWords(time: string, nowMs = Date.now()): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1_000));
  if (Number.isNaN(seconds)) return '?';
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)}h` : `${Math.round(seconds / 86_400)}d`;
}

/** Formats how long ago a time was, in the two largest units: `12m`, `5h3m`, `3d7h`. */
export function ageInTwoUnits(moment: string, nowMs: number): string {
  const minutes = Math.max(0, Math.floor((nowMs - Date.parse(moment)) / 60_000));
  if (minutes < 60) return `${minutes}m`;
  if (minutes < 1_440) return `${Math.floor(minutes / 60)}h${minutes % 60}m`;
  return `${Math.floor(minutes / 1_440)}d${Math.floor((minutes % 1_440) / 60)}h`;
}
