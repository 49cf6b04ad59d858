import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reported, tellFailures, type Reported } from './reported.ts';

const root = join(import.meta.dirname, '..');

/** Ours, without what vitest tells its own workers. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:VITEST|TEST$)/u.test(name)));

/** Everything that can go wrong in a run, file by file. */
const files = {
  'tests.test.js': `
    it('passes', () => {});
    it.skip('is skipped', () => {});
    describe('a', () => it('fails', () => { throw new Error('a is not b', { cause: new Error('b is c') }); }));`,
  'hooks.test.js': `
    afterAll(() => { throw new Error('the end fails'); });
    describe('a', () => { beforeAll(() => { throw new Error('the begin fails'); }); it('does not begin', () => {}); });
    describe('b', () => { afterEach(() => { throw new Error('after each fails'); }); it('runs', () => {}); });`,
  'unloaded.test.js': `import './nowhere.js'; it('is never seen', () => {});`,
  'unhandled.test.js': `
    it('forgets a promise', () => void Promise.reject(new Error('nobody waits')));
    it('goes on', () => {});`,
  'dies.test.js': `it('kills its worker', () => new Promise(() => process.kill(process.pid, 'SIGKILL')));`,
};

/** Runs these files with our reporter. */
async function ran(sources: Readonly<Record<string, string>>, ...more: readonly string[]): Promise<Reported> {
  const folder = await mkdtemp(join(tmpdir(), 'apphosting-reporter-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(sources)) await writeFile(join(folder, name), text);
  const report = join(folder, 'report.json');
  const reporter = `--reporter=${join(root, 'test', 'reporter.ts')}`;
  const args = ['run', '--root', folder, '--globals', reporter, `--outputFile=${report}`, ...more];
  const child = spawn(join(root, 'node_modules', '.bin', 'vitest'), args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return reported(await readFile(report, 'utf8').catch(() => undefined), { isFailed: code !== 0, errors });
}

/** Where each failure was, and the first line of why. */
function inWords({ failures }: Reported): readonly string[] {
  return failures.map(({ file, test, why }) => `${file}: ${test}: ${why.split('\n', 1)[0] ?? ''}`).toSorted();
}

describe('the report of a run', () => {
  it('says of everything that failed what it was and why, wherever it failed', async () => {
    const report = await ran(files);

    expect(inWords(report)).toEqual([
      '(the run itself): (outside of a test): Error: [vitest-pool]: Worker forks emitted error.',
      'dies.test.js: (the file itself): it did not come to its end',
      'hooks.test.js: (the file itself, or a hook): Error: the end fails',
      'hooks.test.js: a > (a hook): Error: the begin fails',
      'hooks.test.js: b > runs: Error: after each fails',
      'tests.test.js: a > fails: Error: a is not b',
      'unhandled.test.js: (outside of a test): Error: nobody waits',
      expect.stringMatching(/^unloaded\.test\.js: \(the file itself, or a hook\): Error: Cannot find module/u),
    ]);
    expect(report.failures.find(({ test }) => test === 'a > fails')?.why).toContain('caused by: Error: b is c');
    expect(report).toMatchObject({ passed: 3, skipped: 2 });
    expect(report.times.map(({ file, test, state }) => `${file}: ${test}: ${state}`)).toEqual(
      expect.arrayContaining(['tests.test.js: passes: passed', 'tests.test.js: is skipped: skipped']),
    );
  });

  it('calls a test by the words with which vitest runs it alone', async () => {
    const { times } = await ran({ 'tests.test.js': files['tests.test.js'] }, '-t', 'a > fails');

    expect(times.flatMap(({ test, state }) => (state === 'skipped' ? [] : [`${test}: ${state}`]))).toEqual([
      'a > fails: failed',
    ]);
  });

  it('that fails before its first test says the error with which vitest ended', async () => {
    const report = await ran({
      'vitest.config.mjs': `export default { test: { globalSetup: ['./setup.mjs'] } };`,
      'setup.mjs': `export function setup() { throw new Error('there is no control plane'); }`,
      'tests.test.js': files['tests.test.js'],
    });

    expect(report).toMatchObject({ passed: 0, failures: [{ file: '(the run itself)' }] });
    expect(tellFailures(report.failures)).toContain('Error: there is no control plane');
  });
});
