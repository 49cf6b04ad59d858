import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { constants, copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { progressOn, seconds } from '../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../src/sandbox/binaries/sources.ts';
import { programPlaces } from '../src/config.ts';
import { checkDeploy } from './deploy/check.ts';
import { builtTools } from './deploy/tools.ts';
import { reported, slowest, tellFailures } from './reported.ts';
import type { Timed } from './reported.ts';
import { setup as leaveNoOrphans } from './support/no-orphans.ts';

/*
 * `npm test` and, with --fast, `npm run check`: every check of this repository, each one run whatever came of the others (scenarios need
 * their control plane), and one summary at the end, with the time of each. What only reads the sources goes on beside the tests.
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
  /** It reads nothing that is generated, so it need not wait for that. */
  readonly isOfSources?: true;
  readonly run: () => Promise<Outcome>;
}

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const generatedFolders = ['crds', 'deploy', 'docs'];

/** They only read the sources, one after the other: more threads would take from the tests. */
const beside: readonly Step[] = [
  { name: 'types', isOfSources: true, run: types },
  { name: 'lint', isOfSources: true, run: () => quietProgram(bin('oxlint'), ['--type-aware', '--deny-warnings']) },
  { name: 'unused code', run: () => quietProgram(bin('knip'), []) },
  { name: 'format', run: () => quietProgram(bin('oxfmt'), ['--check']) },
];

const fast: readonly (readonly Step[])[] = [beside, [{ name: 'unit tests', run: () => vitest('unit') }]];

/** Scenarios wait most of the time: what only computes goes on beside them. */
const whole: readonly (readonly Step[])[] = [
  beside,
  [
    { name: 'unit tests and lives', run: () => vitest('unit', 'lives') },
    { name: 'deploy', run: deploy },
  ],
  [
    { name: 'control plane', run: controlPlane },
    { name: 'scenarios', run: scenarios },
  ],
];

/** Runs a program to its end with its output on ours. */
async function program(command: string, args: readonly string[]): Promise<Outcome> {
  return endOf(spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }));
}

/** The same, and returns what it says of errors. */
async function heardProgram(command: string, args: readonly string[]): Promise<Outcome & { readonly errors: string }> {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
    process.stderr.write(text);
  });
  return { ...(await endOf(child)), errors };
}

/** Runs a program to its end beside others: what it says comes in one piece, with the summary. */
async function quietProgram(command: string, args: readonly string[]): Promise<Outcome> {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const outcome = await endOf(child);
  return outcome.failed > 0 ? { ...outcome, told: said } : outcome;
}

/** The second time only what changed is looked at; a new checkout goes on from what the one before has found. */
async function types(): Promise<Outcome> {
  const found = join(root, 'types.tmp');
  const { cacheDir } = programPlaces();
  const kept = join(cacheDir, 'types.tmp');
  // Where there is none, or no folder to keep it in, all files are looked at.
  await copyFile(kept, found, constants.COPYFILE_EXCL).catch(() => undefined);
  const outcome = await quietProgram(bin('tsc'), ['--singleThreaded', '--incremental', '--tsBuildInfoFile', found]);
  await mkdir(cacheDir, { recursive: true })
    .then(() => copyFile(found, kept))
    .catch(() => undefined);
  return outcome;
}

async function endOf(child: ChildProcess): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject);
  child.once('close', (code) => resolve(code ?? 1));
  return (await promise) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function npm(...args: readonly string[]): Promise<Outcome> {
  const script = process.env['npm_execpath'];
  if (script === undefined) return program('npm', args);
  return program(process.env['npm_node_execpath'] ?? process.execPath, [script, ...args]);
}

/** Runs projects of the tests. Every test counts at its first try. */
async function vitest(...projects: readonly string[]): Promise<Outcome> {
  const dir = await mkdtemp(join(tmpdir(), 'apphosting-report-'));
  try {
    const report = join(dir, 'report.json');
    const reporters = ['--reporter=default', '--reporter=test/reporter.ts', `--outputFile=${report}`];
    const named = projects.map((project) => `--project=${project}`);
    const { failed, errors } = await heardProgram(bin('vitest'), ['run', ...named, ...reporters]);
    const text = await readFile(report, 'utf8').catch(() => undefined);
    const { passed, skipped, failures, times } = reported(text, { isFailed: failed > 0, errors });
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
  if (failed > 0) return { passed: 0, failed: 1, note: 'npm run generate failed; its output above says why' };
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
  const { cacheDir } = programPlaces();
  const plane = findBinaries(programPlaces(), progress);
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

/** Without a control plane they would only try to build it again. */
async function scenarios(): Promise<Outcome> {
  try {
    await ahead?.plane;
  } catch {
    return { passed: 0, failed: 0, note: 'not run: there is no control plane' };
  }
  return vitest('scenarios');
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

async function inTurn(steps: readonly Step[], generated: Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const step of steps) {
    if (step.isOfSources !== true) await generated;
    results.push(await runStep(step));
  }
  return results;
}

async function main(): Promise<number> {
  const began = performance.now();
  // They are written anew, and most of the others read them.
  const generated = runStep({ name: 'generated files', run: generatedFiles });
  const lanes = await Promise.all((isFast ? fast : whole).map((steps) => inTurn(steps, generated)));
  const results = [await generated, ...lanes.flat()];
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
