import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { connect, kubectl, sharedKubernetes } from './support/kubernetes.ts';
import { aPost, startOperator, type OperatorProcess, type Post } from './support/operator-process.ts';
import { startProgram } from './support/running.ts';
import { Tenant, type TenantKind } from './support/stages/tenant.ts';

/* An account that people clicked together becomes a folder, and the folder is applied. */

const api = connect(sharedKubernetes());
let service: HostingService;
let post: Post;
let operator: OperatorProcess;

beforeAll(async () => {
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'cluster-wide')]);
  operator = await startOperator(post);
});

afterAll(async () => {
  await operator.end();
  await service.end();
  await api.close();
});

/** What people made by hand: something of every kind that can be imported; the flags for what no list shows. */
async function clickedTogether({ accountId, token, appEnvId }: Tenant): Promise<readonly string[]> {
  const call = async (path: string, body: object) =>
    (await service.call(token, 'POST', path, { accountId, ...body })) as Readonly<Record<string, unknown>>;
  const point = async (name: string, type: string, config: object) => {
    const { contactPoint } = await call('/contact-point', { name, type, config });
    return (contactPoint as { readonly contactPointId: string }).contactPointId;
  };
  const image = { name: 'api', dockerPreset: 'CUSTOM', port: 8080, useImage: true };
  const { appId } = await call('/app', image);
  const environment = { appId, name: 'production', region: 'eu-west', status: 'running' };
  const web = (await service.control('POST', '/environments', environment)) as { readonly appEnvId: string };
  const mail = await point('On call', 'email', { addresses: ['on-call@example.com'] });
  const hook = await point('Desk', 'webhook', { url: 'https://desk.example.com/in', password: 'made-up-by-hand' });
  await point('Room', 'chat_webhook_a', { webhookUrl: 'https://chat.example.com/room', channel: '#ops' });
  const condition = { metric: 'cpu_percent', operator: 'gt', threshold: 75, duration: '5m' };
  for (const [name, of] of [
    ['busy', web.appEnvId],
    ['orders', appEnvId],
  ] as const) {
    const { accountId: _none, ...alert } = {
      accountId,
      appEnvId: of,
      name,
      ...condition,
      contactPointIds: [mail, hook],
    };
    await service.call(token, 'POST', '/app-env/alert', alert);
  }
  const { appId: store } = await call('/app', { name: 'store', dockerPreset: 'POSTGRESQL', port: 5432 });
  const database = { appId: store, name: 'production', region: 'eu-west', status: 'running', volumes: 1 };
  const source = (await service.control('POST', '/environments', database)) as { readonly appEnvId: string };
  const common = { destinationRegion: 'us-east', mode: 'cold', snapshotIntervalMs: 300_000 };
  const target = { envName: 'spare', appName: 'store-spare', createNewApp: true };
  const item = { sourceAppEnvId: source.appEnvId, expectedGeneration: 0, requestId: 'by-hand', target };
  const { items } = await call('/disaster-readiness/configure', { common, items: [item] });
  expect(items).toMatchObject([{ success: true }]);
  const [{ configurationId = '' } = {}] = items as readonly { readonly configurationId?: string }[];
  const isEnrolled = async () => (await service.ledger()).some((row) => row.kind === 'enrollment.succeeded');
  while (!(await isEnrolled()))
    await service.control('PATCH', `/configurations/${configurationId}`, { nextPhase: true });
  const membershipId = `mem_${accountId}`;
  await service.control('POST', '/tokens', { memberships: [{ accountId, membershipId, role: 'member' }] });
  return ['--member', membershipId];
}

/** What somebody asked the service to change; what it does by itself, such as taking snapshots, is none of it. */
async function asked({ accountId }: Tenant): Promise<readonly string[]> {
  const rows = (await service.ledger()).filter((row) => row.accountId === accountId && row.requestSeq !== null);
  return rows.map(({ seq, kind }) => `${seq} ${kind}`).filter((row) => !row.includes('refresh'));
}

/** Runs the program to its end. */
async function apphosting(...args: readonly string[]): Promise<string> {
  const running = startProgram(args);
  expect(await running.ended, running.output()).toBe(0);
  return running.output();
}

it('an imported account is applied: all of it becomes Ready, and nothing is sent', async () => {
  const tenant = await Tenant.arrive(api, service);
  await tenant.openAccount();
  const flags = await clickedTogether(tenant);
  await tenant.becomes('HostingAccount', 'default', 'True/InSync');
  const folder = await mkdtemp(join(tmpdir(), 'apphosting-import-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const before = await asked(tenant);

  const cluster = ['--kubeconfig', sharedKubernetes().kubeconfigPath, '--namespace', tenant.namespace];
  const reach = ['--account', 'default', '--allow-insecure-loopback', '--requests-per-second', '100'];
  const report = await apphosting('import', folder, ...cluster, ...reach, ...flags);
  await kubectl(sharedKubernetes(), '-n', tenant.namespace, 'apply', '-f', join(folder, 'secrets'));
  await kubectl(sharedKubernetes(), '-n', tenant.namespace, 'apply', '-k', folder);

  expect(report).toContain('apps 3, environments 3, contact points 3, alerts 2, protections 1, members 1');
  expect(report).toContain('applying this folder sends 0 calls');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.yaml'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const resources = texts
    .map((text) => parse(text) as { readonly kind: string; readonly metadata: { readonly name: string } })
    .filter(({ kind }) => kind !== 'Secret' && kind !== 'Kustomization');
  expect(new Set(resources.map(({ kind }) => kind))).toHaveLength(6);
  const looked = async ({ kind, metadata }: (typeof resources)[number]) => {
    await tenant.becomes(kind as TenantKind, metadata.name, 'True/InSync');
    await tenant.isLookedAt(kind as TenantKind, metadata.name);
  };
  await Promise.all(resources.map(looked));
  expect(await asked(tenant)).toEqual(before);

  const held = ['pause', 'ContactPoint/desk', '--wait'];
  await apphosting(...held, ...cluster);
  await apphosting('resume', ...held.slice(1), ...cluster);
  expect(await asked(tenant)).toEqual(before);
  const again = await apphosting('import', folder, '--check', ...cluster, ...reach, ...flags);
  expect(again).toContain('nothing would change');
});
