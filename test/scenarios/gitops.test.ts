import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { identities } from '../../src/kinds/schema/index.ts';
import type { ControlPlane } from '../../src/cli/control-plane/control-plane.ts';
import { type Deployed, deployed } from './support/deployed.ts';
import { type Api, apiOf, eventually, kubectl, ownControlPlane } from './support/kubernetes.ts';

const namespace = 'team-a';
const group = `/apis/apphosting.dev/v1alpha1/namespaces/${namespace}`;

let plane: ControlPlane;
let api: Api;
let operator: Deployed;
let folder: string;

beforeEach(async () => {
  plane = await ownControlPlane();
  api = apiOf(plane);
  operator = await deployed(plane, api, 'cluster-wide', 'apphosting-system');
  await api.post('/api/v1/namespaces', { metadata: { name: namespace } });
  folder = await mkdtemp(join(tmpdir(), 'gitops-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await commit(everything('on-call@example.com'));
});

const ours = (kind: string, name: string, spec: object) => ({
  apiVersion: 'apphosting.dev/v1alpha1',
  kind,
  metadata: { name, namespace },
  spec,
});

/** What a team keeps in its repository. */
function everything(address: string): readonly object[] {
  const stringData = { baseUrl: operator.simulator.url, token: 'demo-admin' };
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hosting-credentials', namespace }, stringData },
    ours('HostingAccount', 'default', { credentialsRef: { name: 'hosting-credentials' }, accountId: 'acc_demo' }),
    ours('ContactPoint', 'on-call', { name: 'On call', email: { addresses: [address] } }),
    ours('MetricAlert', 'web-cpu', {
      appEnvId: 'env_web_prod',
      metric: 'cpu_percent',
      operator: 'gt',
      threshold: 85,
      duration: '10m',
      contactPoints: [{ contactPointRef: { name: 'on-call' } }],
    }),
  ];
}

async function commit(objects: readonly object[]): Promise<void> {
  await writeFile(join(folder, 'all.yaml'), objects.map((object) => stringify(object)).join('---\n'));
}

const ready = () =>
  kubectl(plane, '-n', namespace, 'wait', '--for=condition=Ready', 'apphosting', '--all', '--timeout=50s');

/** What `kubectl diff` says of the folder: nothing is what it should be. */
async function diff(...flags: readonly string[]): Promise<string> {
  const args = ['--kubeconfig', plane.kubeconfigPath, 'diff', ...flags, '-f', folder];
  return promisify(execFile)(plane.binaries.kubectl, args).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

async function left(): Promise<readonly string[]> {
  const plurals = identities.filter(({ scope }) => scope === 'Namespaced').map(({ plural }) => plural);
  const lists = await Promise.all(plurals.map((plural) => api.get(`${group}/${plural}`)));
  return lists.flatMap(({ body }) =>
    (body as { items: readonly { kind: string; metadata: { name: string } }[] }).items.map(
      ({ kind, metadata }) => `${kind} ${metadata.name}`,
    ),
  );
}

describe('a folder in Git', () => {
  it.each([['--server-side'], ['--server-side=false']])('has no diff after apply %s and Ready', async (how) => {
    await kubectl(plane, 'apply', how, '-f', folder);
    await ready();

    expect(await diff(how)).toBe('');
    expect(await kubectl(plane, 'apply', how, '-f', folder)).not.toContain('created');
    await commit(everything('second@example.com'));
    expect(await diff(how)).toContain('second@example.com');
    await kubectl(plane, 'apply', how, '-f', folder);
    await ready();
    expect(await diff(how)).toBe('');
  });

  it('is shared by three field managers and the operator without a fight', async () => {
    await kubectl(plane, 'apply', '--server-side', '--field-manager=flux', '-f', folder);
    await ready();
    const path = `${group}/contactpoints/on-call`;
    const apply = (manager: string, metadata: object) =>
      api.patch(
        `${path}?fieldManager=${manager}`,
        { apiVersion: 'apphosting.dev/v1alpha1', kind: 'ContactPoint', metadata },
        'application/apply-patch+yaml',
      );

    expect((await apply('cost-tool', { labels: { team: 'a' } })).status).toBe(200);
    expect((await apply('people', { annotations: { 'apphosting.dev/reconcile-at': 'now' } })).status).toBe(200);
    await eventually('the token is acknowledged', async () =>
      JSON.stringify((await api.get(path)).body).includes('"lastHandledReconcileAt":"now"'),
    );

    await kubectl(plane, 'apply', '--server-side', '--field-manager=flux', '-f', folder);
    const { body } = await api.get(path);
    expect(body).toMatchObject({
      metadata: { labels: { team: 'a' }, annotations: { 'apphosting.dev/reconcile-at': 'now' } },
    });
    const { managedFields } = (body as { metadata: { managedFields: readonly { manager: string }[] } }).metadata;
    expect(new Set(managedFields.map(({ manager }) => manager))).toEqual(
      new Set(['flux', 'cost-tool', 'people', 'apphosting-operator']),
    );
  });

  it('is deleted to the end, whichever goes first', async () => {
    await kubectl(plane, 'apply', '-f', folder);
    await ready();

    await api.delete(`${group}/hostingaccounts/default`);
    await api.delete(`${group}/contactpoints/on-call`);
    await api.delete(`${group}/metricalerts/web-cpu`);

    await eventually('everything goes', async () => (await left()).length === 0, 200_000);
  });

  it('says what holds it when the Secret goes first', async () => {
    await kubectl(plane, 'apply', '-f', folder);
    await ready();

    await api.delete(`/api/v1/namespaces/${namespace}/secrets/hosting-credentials`);
    for (const path of ['hostingaccounts/default', 'contactpoints/on-call', 'metricalerts/web-cpu'])
      await api.delete(`${group}/${path}`);

    const held = async () => JSON.stringify((await api.get(`${group}/contactpoints/on-call`)).body);
    await eventually('it says what holds it', async () => {
      const text = await held();
      return text.includes('"code":404') || text.includes('hosting-credentials');
    });
    for (const path of ['contactpoints/on-call', 'metricalerts/web-cpu'])
      await api.patch(`${group}/${path}`, { metadata: { annotations: { 'apphosting.dev/on-delete': 'Retain' } } });
    await eventually('everything goes', async () => (await left()).length === 0, 200_000);
  });
});
