import { stripVTControlCharacters } from 'node:util';

/** Something that failed in a run of tests. */
export interface Failure {
  readonly file: string;
  /** The test, or in brackets what else it was. */
  readonly test: string;
  /** Why, as vitest says it. */
  readonly why: string;
}

/** How long a test took. */
export interface Timed {
  readonly file: string;
  readonly test: string;
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending';
  readonly ms: number;
}

/** What came of one run of vitest, as `reporter.ts` writes it. */
export interface Reported {
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
  /** Every test, also one that did not run. */
  readonly times: readonly Timed[];
}

const nothing: Reported = { passed: 0, skipped: 0, failures: [], times: [] };

/** Reads the report of a run; one that failed and reports no failure, or nothing at all, gives what it said of errors at its end. */
export function reported(
  text: string | undefined,
  run: { readonly isFailed: boolean; readonly errors: string },
): Reported {
  const report = text === undefined ? nothing : (JSON.parse(text) as Reported);
  if (!run.isFailed || report.failures.length > 0) return report;
  const last = lastOf(stripVTControlCharacters(run.errors).trim());
  const why = last === '' ? 'it failed without a word' : last;
  return { ...report, failures: [{ file: '(the run itself)', test: '(outside of a test)', why }] };
}

/** The end of what a run said of errors: from the last heading of an error of no test on, where there is one. */
function lastOf(errors: string): string {
  const heading = /^⎯+ Unhandled Errors? ⎯+$/mu;
  const lines = (errors.split(heading).at(-1) ?? '').trim().split('\n');
  return (heading.test(errors) ? lines.slice(0, 60) : lines.slice(-60)).join('\n');
}

/** The slowest tests, slowest first. */
export function slowest(times: readonly Timed[], count: number): readonly Timed[] {
  return times.toSorted((a, b) => b.ms - a.ms).slice(0, count);
}

/** The failures in a few lines each, without the frames of other people's code, to be read at the end of a long log. */
export function tellFailures(failures: readonly Failure[]): string {
  return failures.map(({ file, test, why }) => `  ${file} > ${test}\n${indented(firstLines(why))}\n`).join('');
}

const shownLines = 12;

function firstLines(why: string): readonly string[] {
  const lines = why.split('\n').filter((line) => !/^\s*(?:at|❯) .*node_modules/u.test(line));
  return lines.length <= shownLines ? lines : [...lines.slice(0, shownLines), '…'];
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `    ${line}`).join('\n');
}
