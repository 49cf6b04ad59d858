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
}

/** Runs each check, or those whose names have one of the words, and prints what came of it. */
export async function runChecks(checks: Checks, words: readonly string[] = [], print = toStdout): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  const obstacles = new Set<string>();
  for (const [name, check] of Object.entries(checks)) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
    try {
      const wrong = await check();
      tally[wrong.length === 0 ? 'passed' : 'failed'] += 1;
      print(told(wrong.length === 0 ? 'passed' : 'FAILED', name, wrong));
    } catch (error) {
      if (error instanceof NotRun) obstacles.add(error.message);
      else tally.failed += 1;
      const why = error instanceof Error ? error.message : String(error);
      print(told(error instanceof NotRun ? 'not run' : 'FAILED', name, [why]));
    }
  }
  return obstacles.size === 0 ? tally : { ...tally, note: `not run: ${[...obstacles].join('; ')}` };
}

function told(word: string, name: string, lines: readonly string[]): string {
  return `${word.padEnd(9)}${name}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function toStdout(text: string): void {
  process.stdout.write(text);
}
