import process from 'node:process';

/** Why something cannot be checked on this machine: that is neither good nor bad. */
export class NotRun extends Error {
  override readonly name = 'NotRun';
}

/** Checks by name, each with what it found wrong. */
export type Checks = Readonly<Record<string, () => Promise<readonly string[]>>>;

/** What came of checks. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** Why some were not run. */
  readonly note?: string;
  /** What failed, to be read at the end of a long log. */
  readonly told?: string;
}

/** Runs each check, or those whose names have one of the words, and prints what came of it. */
export async function runChecks(checks: Checks, words: readonly string[] = [], print = toStdout): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  const obstacles = new Set<string>();
  const failures: string[] = [];
  for (const [name, check] of Object.entries(checks)) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
    const wrong = await wrongOf(check);
    if (wrong instanceof NotRun) {
      obstacles.add(wrong.message);
      print(told('not run', name, [wrong.message]));
    } else if (wrong.length > 0) {
      const failure = told('FAILED', name, wrong);
      tally.failed += 1;
      failures.push(failure);
      print(failure);
    } else {
      tally.passed += 1;
      print(told('passed', name, []));
    }
  }
  return {
    ...tally,
    ...(obstacles.size > 0 && { note: `not run: ${[...obstacles].join('; ')}` }),
    ...(failures.length > 0 && { told: failures.join('') }),
  };
}

/** What a check found wrong, an error of its own among it; or why it cannot run here. */
async function wrongOf(check: Checks[string]): Promise<readonly string[] | NotRun> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof NotRun) return error;
    return [error instanceof Error ? error.message : String(error)];
  }
}

function told(word: string, name: string, lines: readonly string[]): string {
  return `${word.padEnd(9)}${name}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function toStdout(text: string): void {
  process.stdout.write(text);
}
