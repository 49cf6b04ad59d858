import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { archive } from '../../../deploy/bundle.ts';
import { startSimulator } from '../../../src/simulator/start.ts';
import { blocksOf, exchangesIn } from '../../support/documents.ts';
import { overlays, startDeployed } from '../support/deployed.ts';
import { apiOf, barePlane, eventually, kubectl, sharedKubernetes, type OwnPlane } from '../support/kubernetes.ts';
import { startProgram } from '../support/running.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const run = promisify(execFile);

/** A cluster in which nothing is installed when the first test begins. */
let plane: OwnPlane;

beforeAll(async () => {
  plane = await barePlane();
});

afterAll(() => plane.stop());

it('the operator says in one line what to do before anything is installed', async () => {
  const running = startProgram(['run', '--metrics-listen', '127.0.0.1:0', '--kubeconfig', plane.kubeconfigPath]);
  onTestFinished(running.end);

  expect(await running.ended).toBe(1);
  expect(running.output()).toMatch(/^apphosting run: [^\n]+kubectl apply -f crds\/[^\n]*\n$/u);
});

/*
 * docs/getting-started.md, followed word by word on a real API server: each block is run, and each `console` block must print
 * what the page shows. There are no nodes, so the operator runs here, with the token and the arguments of its Deployment.
 */

/** What a program printed, without what differs from one cluster and one moment to the next. */
function comparable(text: string): readonly string[] {
  return text
    .replaceAll(/\b\d+(?:ms|[smh])(?:\d+s)?$/gmu, 'AGE')
    .replaceAll(/^(apphosting-operator\s+)\S+/gmu, '$1HOLDER')
    .replaceAll(/\bacc_\w+/gu, 'ACCOUNT')
    .replaceAll(/127\.0\.0\.1:\d+|hosting\.example\.com/gu, 'ENDPOINT')
    .split('\n')
    .map((line) => line.trim().split(/\s+/u).join(' '))
    .filter((line) => line !== '');
}

it('getting started leads from a cluster and a token to an app that runs and is watched', async () => {
  const api = apiOf(plane);
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  const home = await mkdtemp(join(tmpdir(), 'getting-started-'));
  onTestFinished(() => rm(home, { recursive: true }));
  await cp(join(root, 'deploy'), join(home, 'deploy'), { recursive: true });
  await symlink(plane.binaries.kubectl, join(home, 'kubectl'));
  const env = {
    ...process.env,
    PATH: `${home}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    KUBECONFIG: plane.kubeconfigPath,
    IMAGE: 'registry.example.com/apphosting-operator',
    HOSTING_HOST: '127.0.0.1',
    HOSTING_URL: simulator.url,
    HOSTING_ACCOUNT: 'acc_demo',
    HOSTING_TOKEN: 'demo-admin',
  };
  const typed = async (script: string) => (await run('sh', ['-eu', '-c', script], { cwd: home, env })).stdout;
  const byHand: Readonly<Record<string, () => Promise<unknown>>> = {
    yours: async () => undefined,
    'not here': async () => undefined,
    'the operator starts': () => startDeployed(plane, api, 'apphosting-system'),
    'the environment is created': async () => {
      const appId = (await typed("kubectl -n shop get hostedapp shop -o jsonpath='{.status.externalId}'")).trim();
      const body = JSON.stringify({ appId, name: 'production', region: 'eu-west' });
      const { statusCode } = await request(`${simulator.url}/_sim/environments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect(statusCode).toBe(200);
    },
  };

  const followed: string[] = [];
  for (const { language, text, note } of blocksOf(await readFile(join(root, 'docs', 'getting-started.md'), 'utf8'))) {
    if (note !== undefined) await (byHand[note] ?? (() => Promise.reject(new Error(`nobody knows "${note}"`))))();
    else if (language === 'sh') await typed(text);
    else if (language === 'console')
      for (const { command, prints } of exchangesIn(text))
        expect(comparable(await typed(command)), command).toEqual(comparable(prints));
    followed.push(note ?? language);
  }

  expect(followed.filter((one) => one === 'sh').length).toBeGreaterThan(8);
  expect(followed.filter((one) => one === 'console').length).toBeGreaterThan(6);
  expect(followed).toEqual(expect.arrayContaining(Object.keys(byHand)));
});

const strict = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' };

interface Template {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: { securityContext?: object } } };
}

const overlaysAndNamespaces = [
  ['cluster-wide', 'apphosting-system'],
  ['activation', 'apphosting-system'],
  // Without the definitions, which are there by now.
  ['namespaced', 'apphosting'],
] as const;

describe('every overlay', () => {
  it('is taken whole by an API server, and its pods by the strictest Pod Security', async () => {
    const api = apiOf(plane);
    const apply = (overlay: string, ...flags: readonly string[]) =>
      kubectl(plane, 'apply', '--server-side', '--warnings-as-errors', ...flags, '-k', join(overlays, overlay));
    for (const name of new Set(overlaysAndNamespaces.map(([, namespace]) => namespace))) {
      // The namespace of an installation that another test took away may still be on its way out.
      await eventually(`namespace ${name} is there to stay`, async () => {
        await api.post('/api/v1/namespaces', { metadata: { name } });
        const { body } = await api.get(`/api/v1/namespaces/${name}`);
        return (body as { status?: { phase?: string } }).status?.phase === 'Active';
      });
      await api.patch(`/api/v1/namespaces/${name}`, { metadata: { labels: strict } });
    }

    for (const [overlay, namespace] of overlaysAndNamespaces) {
      await apply(overlay, '--dry-run=server');
      await apply(overlay);

      const kinds = 'deployments,poddisruptionbudgets,networkpolicies,services';
      const names = await kubectl(plane, '-n', namespace, 'get', kinds, '-o', 'name');
      expect(names.trim().split('\n').toSorted(), overlay).toEqual([
        'deployment.apps/apphosting-operator',
        'networkpolicy.networking.k8s.io/apphosting-operator',
        'poddisruptionbudget.policy/apphosting-operator',
        'service/apphosting-operator-metrics',
      ]);
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/apphosting-operator`;
      const { template } = ((await api.get(path)).body as Template).spec;
      const create = (spec: object) =>
        api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, { metadata: { name: 'one' }, spec });
      const { securityContext: _dropped, ...lax } = template.spec;
      expect(await create(template.spec), overlay).toMatchObject({ status: 201 });
      expect(await create(lax), overlay).toMatchObject({ status: 403 });
    }
  });
});

describe('the archive for laptops', () => {
  it('runs from an empty folder with nothing but Node, also as a plugin of kubectl', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'apphosting-archive-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const packed = archive(dirname(inject('prepared').program), folder);
    await run('tar', ['-xzf', packed, '-C', folder, '--strip-components=1']);
    // The only Node there is on PATH, and no other program.
    const env = { PATH: [join(folder, 'bin'), dirname(process.execPath)].join(delimiter) };
    const { binaries } = sharedKubernetes();

    const { stdout } = await run('apphosting', ['run', '--help'], { cwd: folder, env });
    const version = await run('apphosting', ['--version'], { cwd: folder, env });
    const plugin = await run(binaries.kubectl, ['apphosting', 'points', '--help'], { cwd: folder, env });
    const wrong = run('kubectl-apphosting', ['run', '--nothing'], { cwd: folder, env });

    expect(stdout).toContain('apphosting run [options]');
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/u);
    expect(plugin.stdout).toContain('points');
    await expect(wrong).rejects.toMatchObject({ code: 64 });
  });
});
