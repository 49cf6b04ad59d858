import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { progressOn, seconds } from '../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../src/sandbox/binaries/sources.ts';
import { surroundings } from '../src/config.ts';
import { checkDeploy } from './deploy/check.ts';
import { reported, tellFailures } from './reported.ts';
import type { Reported } from './reported.ts';

/*
 * `npm test` and, with --fast, `npm run check`: every check of this repository in the order in which a failure is
 * cheapest to learn of, each one run whatever came of the others, and one summary at the end.
 */

/** What came of one step. */
interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly note?: string;
  /** What somebody who opens the log at its end needs to know. */
  readonly told?: string;
}

interface Step {
  readonly name: string;
  readonly fast: boolean;
  readonly run: () => Promise<Outcome>;
}

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const generatedFolders = ['crds', 'deploy', 'docs'];

const steps: readonly Step[] = [
  { name: 'types', fast: true, run: () => program(bin('tsc'), []) },
  { name: 'lint', fast: true, run: () => program(bin('oxlint'), ['--type-aware', '--deny-warnings']) },
  { name: 'format', fast: true, run: () => program(bin('oxfmt'), ['--check']) },
  { name: 'generated files', fast: true, run: generatedFiles },
  { name: 'unit tests', fast: true, run: unitTests },
  { name: 'control plane', fast: false, run: controlPlane },
  { name: 'scenarios', fast: false, run: scenarios },
  { name: 'npm start -- --once', fast: false, run: startOnce },
  { name: 'deploy', fast: false, run: () => checkDeploy() },
];

/** Runs a program to its end with its output on ours. */
async function program(command: string, args: readonly string[]): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  child.once('error', reject);
  child.once('exit', (code) => resolve(code ?? 1));
  return (await promise) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function npm(...args: readonly string[]): Promise<Outcome> {
  const script = process.env['npm_execpath'];
  if (script === undefined) return program('npm', args);
  return program(process.env['npm_node_execpath'] ?? process.execPath, [script, ...args]);
}

/** Every unit test counts at the first try: nothing in them depends on how busy the machine is. */
async function unitTests(): Promise<Outcome> {
  const run = await vitest('unit');
  return { ...counted(run), told: tellFailures(run.failures) };
}

/** More files than these fail for a reason, not by the noise of a machine. */
const filesTriedAgain = 3;

/**
 * Runs the scenarios, and the few files in which one failed once more, on a control plane of their own: real processes on a
 * shared machine can miss a deadline. What passes only then is told as that.
 */
async function scenarios(): Promise<Outcome> {
  const first = await vitest('scenarios');
  const files = [...new Set(first.failures.map(({ file }) => file))].filter((file) => file.endsWith('.test.ts'));
  if (files.length === 0 || files.length > filesTriedAgain) {
    return { ...counted(first), told: tellFailures(first.failures) };
  }
  process.stdout.write(`\n── a second try of ${files.join(', ')}\n`);
  const second = await vitest('scenarios', files);
  return {
    passed: first.passed + Math.max(0, first.failures.length - second.failures.length),
    failed: second.failures.length,
    note: `${first.failures.length} failed at the first try`,
    told: `at the first try:\n${tellFailures(first.failures)}at the second try:\n${tellFailures(second.failures) || '  nothing\n'}`,
  };
}

function counted({ passed, skipped, failures }: Reported): Outcome {
  return { passed, failed: failures.length, ...(skipped > 0 ? { note: `${skipped} skipped` } : {}) };
}

/** Runs one project of the tests, or some of its files. */
async function vitest(project: string, files: readonly string[] = []): Promise<Reported> {
  const dir = await mkdtemp(join(tmpdir(), 'apphosting-report-'));
  try {
    const report = join(dir, 'report.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const { failed } = await program(bin('vitest'), ['run', '--project', project, ...reporters, ...files]);
    const said = reported(await readFile(report, 'utf8').catch(() => undefined), root);
    if (failed === 0 || said.failures.length > 0) return said;
    return {
      ...said,
      failures: [{ file: project, test: '(the run itself)', why: 'vitest failed without a failed test' }],
    };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Generates everything anew: nothing may change. */
async function generatedFiles(): Promise<Outcome> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  if (scripts.generate === undefined) return { passed: 0, failed: 0, note: 'there is no generator yet' };
  const before = await digests();
  const { failed } = await npm('run', '--silent', 'generate');
  const after = await digests();
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  const stale = paths.filter((path) => before.get(path) !== after.get(path));
  if (failed > 0) return { passed: 0, failed: 1, note: 'npm run generate failed' };
  if (stale.length === 0) return { passed: 1, failed: 0 };
  return { passed: 0, failed: 1, note: `were not fresh, and are now: ${stale.join(', ')}` };
}

async function digests(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const folder of generatedFolders.filter((name) => existsSync(join(root, name)))) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((candidate) => candidate.isFile())) {
      const path = join(entry.parentPath, entry.name);
      found.set(
        path.slice(root.length + 1),
        createHash('sha256')
          .update(await readFile(path))
          .digest('hex'),
      );
    }
  }
  return found;
}

/** Makes sure that there is a control plane to test on: the first time this takes minutes, so it is shown. */
async function controlPlane(): Promise<Outcome> {
  await findBinaries(surroundings(), progressOn(process.stderr));
  return { passed: 1, failed: 0 };
}

async function startOnce(): Promise<Outcome> {
  if (!existsSync(join(root, 'deploy', 'samples'))) return { passed: 0, failed: 0, note: 'there are no samples yet' };
  return npm('start', '--', '--once');
}

interface Result {
  readonly name: string;
  readonly outcome: Outcome;
  readonly ms: number;
}

async function runStep({ name, run }: Step): Promise<Result> {
  process.stdout.write(`\n── ${name}\n`);
  const began = performance.now();
  try {
    return { name, outcome: await run(), ms: performance.now() - began };
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${note}\n`);
    return {
      name,
      outcome: { passed: 0, failed: 1, note: note.split('\n', 1)[0] ?? '' },
      ms: performance.now() - began,
    };
  }
}

async function main(): Promise<number> {
  const fast = process.argv.includes('--fast');
  const results: Result[] = [];
  for (const step of steps.filter((candidate) => candidate.fast || !fast)) results.push(await runStep(step));
  const rows = results.map(({ name, outcome, ms }) => {
    const { passed, failed, note = '' } = outcome;
    const word = failed > 0 ? 'FAILED' : passed > 0 ? 'passed' : 'skipped';
    const count = passed + failed > 1 ? `${passed} of ${passed + failed}` : '';
    return `  ${name.padEnd(22)}${word.padEnd(9)}${seconds(ms).padStart(12)}  ${count.padEnd(14)}${note}`.trimEnd();
  });
  for (const { name, outcome } of results) {
    if (outcome.told) process.stdout.write(`\n── ${name}: what failed\n${outcome.told}`);
  }
  const total = (which: 'passed' | 'failed') => results.reduce((sum, { outcome }) => sum + outcome[which], 0);
  process.stdout.write(`\n── what ran\n${rows.join('\n')}\n\n${total('passed')} passed, ${total('failed')} failed\n`);
  return total('failed') === 0 ? 0 : 1;
}

process.exitCode = await main();
