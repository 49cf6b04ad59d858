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
  const failed = (name: string, wrong: readonly string[]) => {
    tally.failed += 1;
    failures.push(told('FAILED', name, wrong));
    print(told('FAILED', name, wrong));
  };
  for (const [name, check] of Object.entries(checks)) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
    try {
      const wrong = await check();
      if (wrong.length > 0) {
        failed(name, wrong);
        continue;
      }
      tally.passed += 1;
      print(told('passed', name, []));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof NotRun)) {
        failed(name, [why]);
        continue;
      }
      obstacles.add(why);
      print(told('not run', name, [why]));
    }
  }
  return {
    ...tally,
    ...(obstacles.size > 0 && { note: `not run: ${[...obstacles].join('; ')}` }),
    ...(failures.length > 0 && { told: failures.join('') }),
  };
}

function told(word: string, name: string, lines: readonly string[]): string {
  return `${word.padEnd(9)}${name}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function toStdout(text: string): void {
  process.stdout.write(text);
}
