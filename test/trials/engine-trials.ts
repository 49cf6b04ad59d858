/* The trials with other people's engines, which are tests of a project of their own, as a part of the long programme. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { reported, type Reported } from '../reported.ts';
import type { EngineTrial } from './progress.ts';

const root = join(import.meta.dirname, '..', '..');
/** A shorter programme leaves them out. */
export const leastMinutes = 30;

/** Runs them, or those whose name has these words, and tells what came of each. */
export async function engineTrials(words = ''): Promise<readonly EngineTrial[]> {
  const dir = await mkdtemp(join(tmpdir(), 'apphosting-report-'));
  try {
    const report = join(dir, 'report.json');
    const reporters = ['--reporter=verbose', '--reporter=test/reporter.ts', `--outputFile=${report}`];
    const named = words === '' ? [] : ['-t', words.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)];
    const args = ['run', '--project', 'engines', ...reporters, ...named];
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const child = spawn(join(root, 'node_modules', '.bin', 'vitest'), args, {
      cwd: root,
      stdio: ['inherit', 'inherit', 'pipe'],
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
      process.stderr.write(text);
    });
    child.once('error', reject);
    child.once('close', (code) => resolve(code !== 0));
    const isFailed = await promise;
    return trialsOf(reported(await readFile(report, 'utf8').catch(() => undefined), { isFailed, errors }), words);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** What came of each trial of a run, or of those with these words; whatever else failed in it counts as one that failed. */
export function trialsOf({ times, failures }: Reported, words = ''): readonly EngineTrial[] {
  const whyOf = new Map(failures.map(({ file, test, why }) => [`${file} > ${test}`, why]));
  const trials = times.flatMap(({ file, test, state, ms }): readonly EngineTrial[] => {
    const name = `${file} > ${test}`;
    const why = whyOf.get(name) ?? (state === 'pending' ? 'it did not come to its end' : undefined);
    whyOf.delete(name);
    if (why !== undefined) return [{ name: test, why, ms }];
    if (state === 'passed') return [{ name: test, ms }];
    // What was not asked for is left out without a word.
    return words === '' || test.includes('could not be had') ? [{ name: test, isLeftOut: true, ms }] : [];
  });
  const others = [...whyOf].map(([name, why]) => ({ name, why, isOutside: true, ms: 0 }));
  if (trials.length + others.length > 0) return [...trials, ...others];
  return [{ name: 'the run itself', why: 'no trial was run', isOutside: true, ms: 0 }];
}
