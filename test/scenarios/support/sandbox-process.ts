import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { onTestFailed, onTestFinished } from 'vitest';
import { inTime } from '../../../src/base/time.ts';
import { realClock } from '../../../src/cli/machine.ts';
import { belongsTo, endLeftovers } from '../../../src/sandbox/control-plane/leftovers.ts';
import { processTable } from '../../../src/sandbox/control-plane/process-table.ts';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { programPlaces } from '../../../src/config.ts';
import { eventually, sharedKubernetes } from './kubernetes.ts';

/** A sandbox with stand-ins, as a process like the one a person starts. */
export interface SandboxProcess {
  readonly pid: number;
  /** Everything it has printed. */
  readonly output: () => string;
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

const program = join(import.meta.dirname, 'stand-ins', 'sandbox.ts');
const root = join(import.meta.dirname, '..', '..', '..');

/** The folders of a test's sandboxes: one for temporary ones, and one for `--data`. */
export async function aPlace() {
  const folder = await temporaryFolder('tests');
  onTestFinished(folder.release);
  const temporary = join(folder.dir, 'tmp');
  await mkdir(temporary);
  const data = join(folder.dir, 'data');
  onTestFinished(async () => {
    // Only a test that failed half-way leaves anything.
    for (const dir of [data, ...(await readdir(temporary)).map((name) => join(temporary, name))])
      await endLeftovers(dir);
  });
  return { temporary, data };
}

/** A folder beside this one, with one sample of the stand-ins' kind. */
export async function sampleIn(data: string, name: string, spec: string): Promise<string> {
  const samples = join(data, '..', `samples-${name}`);
  await mkdir(samples);
  const sample = ['apiVersion: apphosting.dev/v1alpha1', 'kind: ContactPoint', `metadata: {name: ${name}}`];
  await writeFile(join(samples, 'a.yaml'), [...sample, `spec: ${spec}`].join('\n'));
  return samples;
}

/** Starts a sandbox. The temporary folder it uses is `temporary`, so that tests do not meet each other's. */
export function startSandbox(temporary: string, ...args: readonly string[]): SandboxProcess {
  return startNode(temporary, [program, ...args]);
}

/** Runs the sandbox of this repository, as `npm start` starts it, to its end. */
export async function runOwnSandbox(temporary: string, ...args: readonly string[]) {
  const sandbox = startNode(temporary, [join('src', 'main.ts'), 'sandbox', ...args]);
  return { code: await sandbox.ended, output: sandbox.output() };
}

function startNode(temporary: string, args: readonly string[]): SandboxProcess {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: {
      ...process.env,
      TMPDIR: temporary,
      KUBEBUILDER_ASSETS: join(sharedKubernetes().binaries.etcd, '..'),
      // As in `npm start`.
      NODE_COMPILE_CACHE: join(programPlaces().cacheDir, 'compiled'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  onTestFailed(() => void process.stdout.write(`node ${args.join(' ')} printed:\n${printed}`));
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if ((await inTime(realClock, 20_000, ended)) === undefined) child.kill('SIGKILL');
  });
  return { pid: child.pid ?? 0, output: () => printed, ended, kill: (signal) => void child.kill(signal) };
}

/** Runs a sandbox to its end. */
export async function runSandbox(temporary: string, ...args: readonly string[]) {
  const sandbox = startSandbox(temporary, ...args);
  const code = await sandbox.ended;
  return { code, output: sandbox.output() };
}

/** Waits until a sandbox has said that all is up. */
export async function up(sandbox: SandboxProcess): Promise<void> {
  await eventually('the sandbox is up', async () => sandbox.output().includes('Everything is up'));
}

/** How many processes belong to a data folder. */
export async function processesOf(dir: string): Promise<number> {
  return (await processTable()).filter((row) => belongsTo(dir, row)).length;
}

/** A JSON file of a data folder. */
export async function readJson(dir: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  return JSON.parse(await readFile(join(dir, name), 'utf8'));
}

/** The only thing in a folder. */
export async function only(dir: string): Promise<string> {
  const [first = ''] = await readdir(dir);
  return first;
}
