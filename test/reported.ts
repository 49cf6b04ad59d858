import { relative } from 'node:path';

/** A test that failed, or a file that could not be loaded. */
export interface Failure {
  readonly file: string;
  readonly test: string;
  /** Why, as vitest says it. */
  readonly why: string;
}

/** How long a test took. */
export interface Timed {
  readonly file: string;
  readonly test: string;
  readonly ms: number;
}

/** What the report of one run says. */
export interface Reported {
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
  /** Every test that ran. */
  readonly times: readonly Timed[];
}

/** Reads the JSON report of vitest; without one nothing passed. */
export function reported(text: string | undefined, root: string): Reported {
  const report = record(text === undefined ? undefined : JSON.parse(text));
  return {
    passed: number(report['numPassedTests']),
    skipped: number(report['numPendingTests']) + number(report['numTodoTests']),
    failures: list(report['testResults']).flatMap((result) => failuresOf(record(result), root)),
    times: list(report['testResults']).flatMap((result) => timesOf(record(result), root)),
  };
}

/** The slowest tests, slowest first. */
export function slowest(times: readonly Timed[], count: number): readonly Timed[] {
  return times.toSorted((a, b) => b.ms - a.ms).slice(0, count);
}

function timesOf(result: Readonly<Record<string, unknown>>, root: string): readonly Timed[] {
  const file = relative(root, string(result['name']));
  return list(result['assertionResults'])
    .map(record)
    .map((test) => ({ file, test: string(test['fullName']), ms: number(test['duration']) }));
}

/** The failures in a few lines each, without the frames of other people's code, to be read at the end of a long log. */
export function tellFailures(failures: readonly Failure[]): string {
  return failures.map(({ file, test, why }) => `  ${file} > ${test}\n${indented(firstLines(why))}\n`).join('');
}

function failuresOf(result: Readonly<Record<string, unknown>>, root: string): readonly Failure[] {
  const file = relative(root, string(result['name']));
  const failed = list(result['assertionResults'])
    .map(record)
    .filter(({ status }) => status === 'failed')
    .map((test) => ({
      file,
      test: string(test['fullName']),
      why: list(test['failureMessages']).map(string).join('\n'),
    }));
  if (failed.length > 0 || result['status'] !== 'failed') return failed;
  // The report does not have the error of a hook.
  const why = string(result['message']) || 'a hook failed; its error stands in the output of this part';
  return [{ file, test: '(the file itself)', why }];
}

const shownLines = 12;

function firstLines(why: string): readonly string[] {
  const lines = why.split('\n').filter((line) => !/^\s*at .*node_modules/u.test(line));
  return lines.length <= shownLines ? lines : [...lines.slice(0, shownLines), '…'];
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `    ${line}`).join('\n');
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
