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
import { builtTools } from './deploy/tools.ts';
import { reported, slowest, tellFailures } from './reported.ts';
import type { Timed } from './reported.ts';
import { setup as leaveNoOrphans } from './support/no-orphans.ts';

/*
 * `npm test` and, with --fast, `npm run check`: every check of this repository in the order in which a failure is
 * cheapest to learn of, each one run whatever came of the others, and one summary at the end, with the time of each.
 * What takes minutes the first time, the programs of a control plane and the tools of the deploy checks, is built beside them.
 */

/** What came of one step. */
interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly note?: string;
  /** What somebody who opens the log at its end needs to know. */
  readonly told?: string;
  readonly times?: readonly Timed[];
}

interface Step {
  readonly name: string;
  readonly fast: boolean;
  readonly run: () => Promise<Outcome>;
}

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
/** The second time only what changed is looked at. */
const incremental = ['--incremental', '--tsBuildInfoFile', 'types.tmp'];
const generatedFolders = ['crds', 'deploy', 'docs'];

const steps: readonly Step[] = [
  { name: 'types', fast: true, run: () => program(bin('tsc'), incremental) },
  { name: 'lint', fast: true, run: () => program(bin('oxlint'), ['--type-aware', '--deny-warnings']) },
  { name: 'unused code', fast: true, run: () => program(bin('knip'), []) },
  { name: 'format', fast: true, run: () => program(bin('oxfmt'), ['--check']) },
  { name: 'generated files', fast: true, run: generatedFiles },
  { name: 'unit tests', fast: true, run: unitTests },
  { name: 'control plane', fast: false, run: controlPlane },
  { name: 'scenarios', fast: false, run: () => vitest('scenarios') },
  { name: 'deploy', fast: false, run: deploy },
];

/** Runs a program to its end with its output on ours. */
async function program(
  command: string,
  args: readonly string[],
  extra: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const env = { ...process.env, ...extra };
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
  child.once('error', reject);
  child.once('exit', (code) => resolve(code ?? 1));
  return (await promise) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function npm(...args: readonly string[]): Promise<Outcome> {
  const script = process.env['npm_execpath'];
  if (script === undefined) return program('npm', args);
  return program(process.env['npm_node_execpath'] ?? process.execPath, [script, ...args]);
}

/** Nothing in the unit tests depends on how busy the machine is. */
function unitTests(): Promise<Outcome> {
  return vitest('unit', isFast ? { DRAW: 'quick' } : {});
}

/** Runs one project of the tests. Every test counts at its first try. */
async function vitest(project: string, env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  const dir = await mkdtemp(join(tmpdir(), 'apphosting-report-'));
  try {
    const report = join(dir, 'report.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const { failed } = await program(bin('vitest'), ['run', '--project', project, ...reporters], env);
    const said = reported(await readFile(report, 'utf8').catch(() => undefined), root);
    const failures =
      failed === 0 || said.failures.length > 0
        ? said.failures
        : [{ file: project, test: '(the run itself)', why: 'vitest failed without a failed test' }];
    const { passed, skipped, times } = said;
    const note = skipped > 0 ? { note: `${skipped} skipped` } : {};
    return { passed, failed: failures.length, ...note, told: tellFailures(failures), times };
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

/** Builds beside the checks what takes minutes the first time, one after the other; each step tells what came of its own. */
function buildAhead() {
  const progress = progressOn(process.stderr);
  const { cacheDir } = surroundings();
  const plane = findBinaries(surroundings(), progress);
  const ended = plane.then(
    () => builtTools(cacheDir, progress),
    () => builtTools(cacheDir, progress),
  );
  return { plane, ended: ended.catch(() => undefined) };
}

const isFast = process.argv.includes('--fast');
leaveNoOrphans();
const ahead = isFast ? undefined : buildAhead();
// Its failure is told by its own step.
ahead?.plane.catch(() => undefined);

async function controlPlane(): Promise<Outcome> {
  await ahead?.plane;
  return { passed: 1, failed: 0 };
}

async function deploy(): Promise<Outcome> {
  await ahead?.ended;
  return checkDeploy();
}

const slowestTold = 10;

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
  const began = performance.now();
  const results: Result[] = [];
  for (const step of steps.filter((candidate) => candidate.fast || !isFast)) results.push(await runStep(step));
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
  const slow = slowest(
    results.flatMap(({ outcome }) => outcome.times ?? []),
    slowestTold,
  ).map(({ file, test, ms }) => `  ${seconds(ms).padStart(12)}  ${file} > ${test}`);
  if (slow.length > 0) process.stdout.write(`\n── the slowest tests\n${slow.join('\n')}\n`);
  const took = seconds(performance.now() - began).trim();
  const verdict = `${total('passed')} passed, ${total('failed')} failed, in ${took}`;
  process.stdout.write(`\n── what ran\n${rows.join('\n')}\n\n${verdict}\n`);
  return total('failed') === 0 ? 0 : 1;
}

process.exitCode = await main();
