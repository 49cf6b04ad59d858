/* The trials with other people's engines, which are tests of a project of their own, as a part of the long programme. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineTrial } from './progress.ts';

const root = join(import.meta.dirname, '..', '..');
/** A shorter programme leaves them out. */
export const leastMinutes = 30;

interface Assertion {
  readonly fullName: string;
  readonly status: string;
  readonly duration?: number;
  readonly failureMessages?: readonly string[];
}

/** Runs them, or those whose name has these words, and tells what came of each. */
export async function engineTrials(words = ''): Promise<readonly EngineTrial[]> {
  const dir = await mkdtemp(join(tmpdir(), 'apphosting-report-'));
  try {
    const report = join(dir, 'report.json');
    const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`];
    const named = words === '' ? [] : ['-t', words.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)];
    const args = ['run', '--project', 'engines', ...reporters, ...named];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const child = spawn(join(root, 'node_modules', '.bin', 'vitest'), args, { cwd: root, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', () => resolve());
    await promise;
    const text = await readFile(report, 'utf8').catch(() => '{}');
    const { testResults = [] } = JSON.parse(text) as {
      testResults?: readonly {
        name: string;
        status: string;
        message?: string;
        assertionResults: readonly Assertion[];
      }[];
    };
    const all = testResults.flatMap(({ name, status, message = '', assertionResults }) => {
      const isBroken = status === 'failed' && assertionResults.every((one) => one.status !== 'failed');
      const broken = { name: `${name} as a whole`, why: message, ms: 0 };
      return [...assertionResults.flatMap((one) => trialOf(one, words)), ...(isBroken ? [broken] : [])];
    });
    return all.length > 0 ? all : [{ name: 'the run itself', why: 'vitest ended without a report', ms: 0 }];
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function trialOf(
  { fullName, status, duration = 0, failureMessages = [] }: Assertion,
  words: string,
): readonly EngineTrial[] {
  const ms = duration;
  if (status === 'passed') return [{ name: fullName, ms }];
  if (status === 'failed') return [{ name: fullName, why: failureMessages.join('\n'), ms }];
  // What was not asked for is left out without a word.
  return words === '' || fullName.includes('could not be had') ? [{ name: fullName, isLeftOut: true, ms }] : [];
}
