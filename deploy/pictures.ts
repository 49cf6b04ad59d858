/**
 * `npm run pictures`: draws what `kubectl get` shows of each kind, narrow and wide, from a run of the sandbox.
 *
 * It starts everything with the samples, sends one request of each kind of recovery, and writes `docs/images/get-<plural>.svg`.
 */
import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { isRecord } from '../src/base/json.ts';
import { environmentWith, programPlaces } from '../src/config.ts';
import { progressOn } from '../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../src/sandbox/binaries/sources.ts';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);
const binaries = await findBinaries(programPlaces(), progressOn(process.stderr));
const apphosting = [join(root, 'src', 'main.ts'), 'sandbox'];
const others = ['disaster-protection', 'cluster-hosting-account'].map((name) => join('samples-more', `${name}.yaml`));
const samples = [
  'hosting-account',
  'hosted-app',
  'app-environment',
  'contact-point',
  'metric-alert',
  'member-access',
  'solution-installation',
].map((name) => join('samples', `${name}.yaml`));

/** What `kubectl` answers in the sandbox of this folder. */
async function kubectl(data: string, ...args: readonly string[]): Promise<string> {
  const env = environmentWith({ KUBECACHEDIR: join(data, 'run', 'kubectl') });
  const { stdout } = await run(binaries.kubectl, ['--kubeconfig', join(data, 'kubeconfig'), ...args], { env });
  return stdout;
}

/** Waits until something is there and not empty. */
async function awaited(what: string, ask: () => Promise<string>): Promise<string> {
  for (let tries = 0; tries < 120; tries += 1) {
    const found = await ask().catch(() => '');
    if (found.trim() !== '') return found;
    await sleep(2_000);
  }
  throw new Error(`${what} did not come in time`);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The lines of a terminal as a picture; those that begin with `$` were typed. */
function pictureOf(lines: readonly string[]): string {
  const width = Math.max(...lines.map(({ length }) => length)) * 7.25 + 32;
  const rows = lines.map((line, at) => {
    const colour = line.startsWith('$') ? '#7ee787' : '#e6edf3';
    return `  <text x="16" y="${28 + at * 18}" fill="${colour}" xml:space="preserve">${escaped(line)}</text>`;
  });
  const size = `${Math.ceil(width)}" height="${lines.length * 18 + 24}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size} font-family="monospace" font-size="12">`,
    '  <rect width="100%" height="100%" rx="6" fill="#0d1117"/>',
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

/** Draws a kind as it is now. */
async function draw(data: string, plural: string): Promise<void> {
  const shown = async (...args: readonly string[]) => {
    const text = (await kubectl(data, 'get', plural, ...args)).trimEnd();
    return [`$ kubectl get ${[plural, ...args].join(' ')}`, ...text.split('\n').map((line) => line.trimEnd())];
  };
  const lines = [...(await shown()), '', ...(await shown('-o', 'wide'))];
  await writeFile(join(root, 'docs', 'images', `get-${plural}.svg`), pictureOf(lines));
  process.stdout.write(`${lines.join('\n')}\n\n`);
}

async function apply(data: string, manifest: object): Promise<void> {
  const file = join(data, 'manifest.yaml');
  await writeFile(file, stringify(manifest));
  await kubectl(data, 'apply', '-f', file);
}

async function statusOf(data: string, kind: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  const { status } = JSON.parse(await kubectl(data, 'get', kind, name, '-o', 'json')) as { status?: unknown };
  return isRecord(status) ? status : {};
}

/** The requests of recovery, one after the other, each drawn at its end. */
async function recover(data: string): Promise<void> {
  const request = async (kind: string, plural: string, spec: object) => {
    const metadata = { name: 'orders-db', namespace: 'default' };
    await apply(data, { apiVersion: 'apphosting.dev/v1alpha1', kind, metadata, spec });
    await awaited(`the end of ${kind}`, () => kubectl(data, 'get', plural, '-o', 'jsonpath={.items[0].status.finishedTime}'));
    await draw(data, plural);
  };
  const shown = await statusOf(data, 'disasterprotections', 'orders-db');
  const { externalId: configurationId, recoveryPoints, configurationGeneration } = shown;
  const [point] = Array.isArray(recoveryPoints) ? (recoveryPoints as readonly Readonly<Record<string, unknown>>[]) : [];
  const { availabilityRequiresVerification: _check, sizing: _sizing, ...recoveryPoint } = point ?? {};
  const validUntil = new Date(Date.now() + 3_600_000).toISOString();
  const protectionRef = { name: 'orders-db' };
  await request('RecoveryValidation', 'recoveryvalidations', { protectionRef });
  await request('RecoveryActivation', 'recoveryactivations', {
    protectionRef,
    configurationId,
    recoveryPoint,
    target: { environmentName: 'recovered', appName: 'orders-db-recovered', createNewApp: true },
    acknowledgements: ['WriterSafety'],
    confirmation: 'orders-db/production',
    validUntil,
  });
  const { externalId: operationId = 'op_none' } = await statusOf(data, 'recoveryactivations', 'orders-db');
  await request('ActivationDiscard', 'activationdiscards', {
    protectionRef,
    configurationId,
    operationId,
    configurationGeneration,
    acknowledgements: ['DiscardsRecoveredData'],
    validUntil,
  });
  await request('DisasterReset', 'disasterresets', {
    scope: 'Environment',
    environmentRef: { externalId: 'env_db_prod' },
    configurationId,
    configurationGeneration,
    confirmation: 'production',
    acknowledgements: ['DeletesProtectionAndLeftovers'],
    validUntil,
  });
}

async function pictures(data: string): Promise<void> {
  const folder = join(data, 'applied');
  await mkdir(folder);
  const named = [...samples, ...others];
  await Promise.all(named.map((name, at) => copyFile(join(root, 'deploy', name), join(folder, `${at}.yaml`))));
  const kept = join(data, 'sandbox');
  const args = [...apphosting, '--data', kept, '--samples', folder, '--operator-args', '--enable-activation'];
  const sandbox = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((resolve) => {
    sandbox.once('exit', resolve);
  });
  try {
    const urls = await awaited('the sandbox', () => readFile(join(kept, 'urls.json'), 'utf8'));
    const { simulator } = JSON.parse(urls) as { simulator: string };
    await apply(kept, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shared-hosting-credentials', namespace: 'default' },
      stringData: { baseUrl: simulator, token: 'demo-admin' },
    });
    await awaited('a recovery point', () =>
      kubectl(kept, 'get', 'dprot', 'orders-db', '-o', 'jsonpath={.status.recoveryPoints[0].pointId}'),
    );
    await awaited('the state of the alert', () => kubectl(kept, 'get', 'metricalerts', '-o', 'jsonpath={.items[0].status.state}'));
    await kubectl(kept, 'wait', '--for=condition=Ready', '--timeout=200s', 'apphosting', '--all', '-n', 'default');
    for (const plural of [
      'hostingaccounts',
      'clusterhostingaccounts',
      'hostedapps',
      'appenvironments',
      'solutioninstallations',
      'contactpoints',
      'metricalerts',
      'memberaccesses',
      'disasterprotections',
    ])
      await draw(kept, plural);
    await recover(kept);
  } finally {
    sandbox.kill('SIGTERM');
    await ended;
  }
}

const data = await mkdtemp(join(tmpdir(), 'pictures-'));
try {
  await pictures(data);
} finally {
  await rm(data, { recursive: true, force: true });
}
