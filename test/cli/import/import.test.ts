import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { importAccount } from '../../../src/cli/import/command.ts';
import { plan } from '../../../src/cli/plan/command.ts';
import { resourceOf } from '../../../src/engine/kind/contract/define.ts';
import { clusterHostingAccount } from '../../../src/kinds/hosting-account/cluster-hosting-account.ts';
import { InProcess, namespace } from '../../support/in-process.ts';
import { clusterOf } from '../support/in-memory.ts';
import { folderOf, resource } from '../support/folder.ts';
import { serviceAtSocket, type ServiceAtSocket } from '../support/service.ts';
import { ran } from '../support/spoken.ts';

const point = 'apiVersion: apphosting.dev/v1alpha1\nkind: ContactPoint\nmetadata: {name: x}\nspec: {}\n';
const secretUrl = 'https://hooks.example.com/s3cr3t-part';

interface Point {
  readonly selectedOperationId: string;
  readonly pointId: string;
  readonly cutoffAt: string;
}

interface Poster {
  post(path: string, body: object): Promise<Readonly<Record<string, unknown>>>;
}

/** What people clicked together: contact points of two kinds, and alerts on two environments. */
async function clicked(service: Poster): Promise<void> {
  const made = async (name: string, type: string, config: object) => {
    const { contactPoint } = await service.post('/contact-point', { accountId: 'acc_demo', name, type, config });
    return (contactPoint as { readonly contactPointId: string }).contactPointId;
  };
  const mail = await made('On call', 'email', { addresses: ['on-call@example.com'] });
  const hook = await made('pager', 'webhook', {
    url: secretUrl,
    httpMethod: 'PUT',
    username: 'bot',
    password: 'pa55word',
  });
  const condition = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' };
  await service.post('/app-env/alert', {
    appEnvId: 'env_web_prod',
    name: 'busy',
    ...condition,
    contactPointIds: [mail, hook],
  });
  await service.post('/app-env/alert', {
    appEnvId: 'env_web_staging',
    name: 'busy',
    ...condition,
    threshold: 90,
    contactPointIds: [mail],
  });
}

/** The demo database, protected, with a recovery point; the id of its configuration. */
async function protectedIn(service: ServiceAtSocket): Promise<string> {
  const { items } = await service.post('/disaster-readiness/configure', {
    accountId: 'acc_demo',
    common: { destinationRegion: 'us-east', mode: 'cold', snapshotIntervalMs: 3_600_000 },
    items: [
      {
        sourceAppEnvId: 'env_db_prod',
        requestId: 'made-up',
        expectedGeneration: 0,
        target: { envName: 'recovered', appName: 'orders-db-recovered', createNewApp: true },
      },
    ],
  });
  await service.advance(900_000);
  return (items as readonly { readonly configurationId: string }[])[0]?.configurationId ?? '';
}

function readyOf(status: unknown): string | undefined {
  const { conditions } = status as {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.find(({ type }) => type === 'Ready')?.status;
}

function filesIn(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));
  return new Map(names.toSorted().map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

async function imported(service: ServiceAtSocket, ...flags: readonly string[]) {
  const folder = folderOf({});
  const result = await ran(importAccount, [folder, ...service.flags, ...flags]);
  return { folder, ...result };
}

describe('a snapshot of an import', () => {
  it('lets an activation of a recovery point be planned without a credential', async () => {
    const service = await serviceAtSocket('demo-admin', 'virtual');
    const configurationId = await protectedIn(service);
    const snapshot = join(folderOf({}), 'prod.json');
    const { folder } = await imported(service, '--snapshot', snapshot);
    const { answers, takenAt } = JSON.parse(readFileSync(snapshot, 'utf8')) as {
      readonly takenAt: string;
      readonly answers: readonly { readonly address: string; readonly body: { readonly items: readonly Point[] } }[];
    };
    const [point] = answers.find(({ address }) => address.includes('/points?'))?.body.items ?? [];
    const spec = {
      protectionRef: { name: 'orders-db-prod' },
      configurationId,
      recoveryPoint: {
        selectedOperationId: point?.selectedOperationId,
        pointId: point?.pointId,
        cutoffTime: point?.cutoffAt,
        configurationGeneration: 1,
      },
      target: { environmentName: 'recovered', appName: 'orders-db-recovered', createNewApp: true },
      acknowledgements: ['WriterSafety'],
      confirmation: 'orders-db/production',
      validUntil: new Date(Date.parse(takenAt) + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z'),
    };
    writeFileSync(join(folder, 'activation.yaml'), resource('RecoveryActivation', 'take-over', spec));
    rmSync(join(folder, 'kustomization.yaml'));

    const { out } = await ran(plan, [folder, '--snapshot', snapshot, '-o', 'json']);

    expect(JSON.parse(out)).toMatchObject({
      complete: true,
      findings: [],
      rows: [{ kind: 'RecoveryActivation', call: 'POST /disaster-readiness/activate' }],
    });
  });

  it('lets the first protection of an account be planned', async () => {
    const service = await serviceAtSocket('demo-admin');
    const snapshot = join(folderOf({}), 'prod.json');
    await imported(service, '--snapshot', snapshot);
    const spec = { environmentRef: { externalId: 'env_web_prod' }, destinationRegion: 'us-east' };
    const folder = folderOf({ 'a.yaml': resource('DisasterProtection', 'web', spec) });

    const { out } = await ran(plan, [folder, '--snapshot', snapshot, '-o', 'json']);

    expect(JSON.parse(out)).toMatchObject({
      complete: true,
      rows: [
        {
          action: 'create',
          kind: 'DisasterProtection',
          call: 'POST /disaster-readiness/configure',
          fields: [
            { name: 'appEnvId', after: 'env_web_prod' },
            { name: 'destinationRegion', after: 'us-east' },
          ],
        },
      ],
    });
  });
});

describe('an import', () => {
  it('writes everything that has an id, with references and without a secret, and sends nothing but GET', async () => {
    const service = await serviceAtSocket();
    await clicked(service);
    const before = await service.commits();
    const asked = (await service.methods()).length;

    const { code, out, folder } = await imported(service);

    expect(out).toContain('written  apps 4, environments 5, contact points 2, alerts 2');
    expect(out).toContain('applying this folder sends 0 calls to the service');
    expect(code).toBe(0);
    const files = filesIn(folder);
    expect(parse(files.get('contact-points/pager.yaml') ?? '')).toMatchObject({
      spec: {
        webhook: {
          url: { valueFrom: { secretKeyRef: { name: 'contact-point-pager', key: 'url' } } },
          httpMethod: 'PUT',
          password: { valueFrom: { secretKeyRef: { name: 'contact-point-pager', key: 'password' } } },
        },
      },
    });
    const alerts = [...files.keys()].filter((name) => name.startsWith('alerts/'));
    expect(alerts).toHaveLength(2);
    expect(alerts[0]).toMatch(/^alerts\/busy-alert-[0-9a-f]+\.yaml$/);
    expect([...files.values()].join('')).not.toMatch(/s3cr3t|pa55word/);
    expect(new Set((await service.methods()).slice(asked))).toEqual(new Set(['GET']));
    expect(await service.commits()).toBe(before);
  });

  it('changes nothing in the service when it is applied, and all of it becomes Ready', async () => {
    const world = new InProcess({ world: 'demo' });
    const service = await serviceAtSocket();
    await clicked(service);
    await clicked({
      post: async (path, body) => (await world.request('POST', path, body)).body as Readonly<Record<string, unknown>>,
    });
    const { folder } = await imported(service);
    await world.start();
    world.account();
    await world.run(70_000);
    world.sent.splice(0);
    const commits = (await world.ledger()).length;

    for (const [path, text] of filesIn(folder)) {
      const { kind, metadata, spec, stringData } = parse(text);
      if (kind === 'Secret' && path !== 'secrets/hosting-credentials.yaml') world.secret(metadata.name, stringData);
      if (kind !== 'Secret' && kind !== 'Kustomization' && kind !== 'HostingAccount')
        world.apply(kind, metadata.name, spec);
    }
    await world.run(600_000);

    const mutating = world.sent.filter(({ path }) => !path.endsWith('/alert/refresh'));
    expect(mutating).toEqual([]);
    expect((await world.ledger()).slice(commits).filter(({ kind }) => !kind.includes('refresh'))).toEqual([]);
    for (const text of filesIn(folder).values()) {
      const { kind, metadata } = parse(text);
      if (kind === 'Secret' || kind === 'Kustomization') continue;
      expect([kind, metadata.name, readyOf(world.get(kind, metadata.name)?.status)]).toEqual([
        kind,
        metadata.name,
        'True',
      ]);
    }
  });

  it('keeps comments and edits by hand, and brings in what changed in the service', async () => {
    const service = await serviceAtSocket();
    await clicked(service);
    const { folder } = await imported(service);
    const path = join(folder, 'apps/web.yaml');
    const edited = readFileSync(path, 'utf8')
      .replace('  port: 3000', '  # the port of nginx\n  port: 3000 # as in its image')
      .replace('metadata:\n', 'metadata:\n  labels:\n    team: a\n');
    writeFileSync(path, edited);
    await service.post('/app', { appId: 'app_web', port: 3001 }, 'PATCH');

    const checked = await ran(importAccount, [folder, ...service.flags, '--check']);
    const again = await ran(importAccount, [folder, ...service.flags]);

    expect([checked.code, again.code]).toEqual([2, 0]);
    expect(checked.out).toContain('1 file would change: apps/web.yaml');
    expect(readFileSync(path, 'utf8')).toBe(edited.replace('3000', '3001'));
    expect((await ran(importAccount, [folder, ...service.flags, '--check'])).code).toBe(0);
  });

  it('says of an --id that there is none, and ends with 1', async () => {
    const service = await serviceAtSocket();

    const { code, out } = await imported(service, '--id', 'app_wep');

    expect(out).toMatch(/^skipped +1 +--id app_wep: no object with this id can be imported +\[NotFound\]$/m);
    expect(code).toBe(1);
  });

  it('counts the calls that edits by hand ask for', async () => {
    const service = await serviceAtSocket();
    const { folder } = await imported(service);
    const path = join(folder, 'environments/web-prod.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('spec:\n', 'spec:\n  powerState: Stopped\n'));

    const { out } = await ran(importAccount, [folder, ...service.flags]);

    expect(out).toContain(
      'applying this folder sends 1 call to the service, because of edits by hand: AppEnvironment/web-prod POST /app-env/stop\n',
    );
  });

  it('brings in the changes of all resources that were put into one file', async () => {
    const service = await serviceAtSocket();
    const { folder } = await imported(service);
    const [web, fn] = ['apps/web.yaml', 'apps/resize.yaml'].map((name) => readFileSync(join(folder, name), 'utf8'));
    const path = join(folder, 'apps.yaml');
    const together = `${web}---\n# by hand\n${fn}`;
    writeFileSync(path, together.replace('3000', '1').replace('8080', '2'));
    for (const name of ['apps', 'kustomization.yaml']) rmSync(join(folder, name), { recursive: true });

    await ran(importAccount, [folder, ...service.flags]);

    expect(readFileSync(path, 'utf8')).toBe(together);
    const { resources } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as {
      readonly resources: readonly string[];
    };
    expect(resources.filter((one) => one === 'apps.yaml')).toEqual(['apps.yaml']);
  });

  it('leaves a kustomization alone that was arranged by hand', async () => {
    const service = await serviceAtSocket();
    const { folder } = await imported(service);
    const path = join(folder, 'kustomization.yaml');
    const byHand = 'resources: [account.yaml, apps, environments]\n';
    writeFileSync(path, byHand);

    const checked = await ran(importAccount, [folder, ...service.flags, '--check']);
    await clicked(service);
    await ran(importAccount, [folder, ...service.flags]);

    expect(checked.code).toBe(0);
    const { resources } = parse(readFileSync(path, 'utf8')) as { readonly resources: readonly string[] };
    expect(resources.slice(0, 3)).toEqual(['account.yaml', 'apps', 'environments']);
    expect(resources.slice(3).map((one) => one.split('/')[0])).toEqual([
      'alerts',
      'alerts',
      'contact-points',
      'contact-points',
    ]);
  });

  it('observes what cannot be read, and says what to fill in', async () => {
    const service = await serviceAtSocket('demo-member');
    await clicked(service);

    const { out, folder } = await imported(service);

    expect(out).toMatch(
      /observed +2 .*\n +ContactPoint\/pager: the service did not return the settings of this contact point; add them to its manifest and to secrets\/contact-point-pager.yaml +\[NeedsSecret\]/,
    );
    expect(filesIn(folder).get('contact-points/pager.yaml')).toContain('managementPolicy: Observe');
  });

  it('manages what was only observed once the reason is gone, and brings in settings that changed', async () => {
    const service = await serviceAtSocket('demo-member');
    await clicked(service);
    const { folder } = await imported(service);
    const path = (name: string) => join(folder, `contact-points/${name}.yaml`);
    const text = (name: string) => readFileSync(path(name), 'utf8');
    writeFileSync(path('pager'), text('pager').replace('spec:\n', '# by hand\nspec:\n'));
    const stillPoor = await ran(importAccount, [folder, ...service.flags, '--check']);
    const flags = service.flagsAs('demo-readonly');

    const again = await ran(importAccount, [folder, ...flags]);

    expect(stillPoor.code).toBe(0);
    expect(again.out).toContain('applying this folder sends 0 calls to the service');
    expect(again.out).not.toContain('observed');
    expect(text('on-call')).not.toMatch(/observe|lifecycle|fill-in/iu);
    expect(parse(text('on-call'))).toMatchObject({ spec: { email: { addresses: ['on-call@example.com'] } } });
    expect(text('pager')).toContain('# by hand\nspec:\n');
    expect(parse(text('pager'))).toMatchObject({
      spec: { webhook: { httpMethod: 'PUT', username: 'bot', password: { valueFrom: {} } } },
    });
    expect(parse(readFileSync(join(folder, 'secrets/contact-point-pager.yaml'), 'utf8'))).toMatchObject({
      stringData: { url: expect.any(String), password: expect.any(String) },
    });

    const secret = join(folder, 'secrets/contact-point-pager.yaml');
    const withSecretToFillIn = parse(text('pager')).spec;
    writeFileSync(secret, readFileSync(secret, 'utf8').replaceAll('fill-in.example.com', 'hooks.example.org'));
    await ran(importAccount, [folder, ...flags]);

    expect(withSecretToFillIn).toMatchObject({ lifecycle: { managementPolicy: 'Observe' } });
    expect(parse(text('pager')).spec).not.toHaveProperty('lifecycle');

    const contactPointId = parse(text('on-call')).spec.externalId;
    await service.post('/contact-point', { contactPointId, config: { addresses: ['new@example.com'] } }, 'PATCH');
    await ran(importAccount, [folder, ...flags]);
    const settled = text('on-call');
    await ran(importAccount, [folder, ...service.flags]);

    expect(parse(settled)).toMatchObject({ spec: { email: { addresses: ['new@example.com'] } } });
    expect(text('on-call')).toBe(settled);
  });

  it('leaves an Observe alone that a person wrote or asked for', async () => {
    const service = await serviceAtSocket();
    const { folder } = await imported(service, '--observe');
    const path = join(folder, 'environments/web-prod.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^# Only observed.*$/mu, '# ours for now'));

    const { code } = await ran(importAccount, [folder, ...service.flags, '--check']);

    expect(code).toBe(0);
  });

  it('lists the files to fill in until they are filled in', async () => {
    const service = await serviceAtSocket();
    await clicked(service);

    const { out, folder } = await imported(service);
    const path = join(folder, 'secrets/contact-point-pager.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('fill-in.example.com', 'hooks.example.org'));
    const again = await ran(importAccount, [folder, ...service.flags, '-o', 'json']);

    expect(out).toMatch(/^fill in +2 +secrets\/contact-point-pager\.yaml\n +secrets\/hosting-credentials\.yaml$/mu);
    expect(JSON.parse(again.out)).toMatchObject({ toFillIn: ['secrets/hosting-credentials.yaml'] });
  });

  it('writes a snapshot without secrets, from which a plan needs no credential', async () => {
    const service = await serviceAtSocket();
    await clicked(service);
    const file = join(folderOf({}), 'snapshot.json');
    const { folder } = await imported(service, '--snapshot', file);
    const asked = (await service.methods()).length;

    const planned = await ran(plan, [folder, '--snapshot', file, '--detailed-exitcode']);

    expect(readFileSync(file, 'utf8')).not.toMatch(/s3cr3t|pa55word/);
    expect(planned.out).not.toMatch(/^[+~!-] /m);
    expect((await service.methods()).length).toBe(asked);
  });

  it.each([
    [
      'of another account',
      (text: string) => text.replaceAll('acc_demo', 'acc_9'),
      'the snapshot belongs to account acc_9, not to acc_demo',
    ],
    [
      'of another version',
      (text: string) => text.replace('"version": 1', '"version": 9'),
      'the snapshot has version 9',
    ],
    ['that is cut', (text: string) => text.slice(0, 100), 'the file is not JSON'],
    ['that is something else', () => '{}', 'the file is not a snapshot of an account'],
  ])('is not planned from a snapshot %s', async (_because, change, line) => {
    const service = await serviceAtSocket();
    const file = join(folderOf({}), 'snapshot.json');
    const { folder } = await imported(service, '--snapshot', file);
    writeFileSync(file, change(readFileSync(file, 'utf8')));

    const planned = await ran(plan, [folder, '--snapshot', file]);

    expect(planned.err).toContain(line);
    expect(planned.code).toBe(1);
  });

  it.each([
    ['may not be read', { status: 403 }, 'the service answered 403  [Forbidden]'],
    ['stops half-way', { truncate: 40 }, 'the connection was closed  [Unreachable]'],
  ])('writes nothing of a kind whose list %s, and ends with 1', async (_because, effect, why) => {
    const service = await serviceAtSocket();
    await service.disturb('/apps', effect);

    const { code, out, folder } = await imported(service);

    expect(code).toBe(1);
    expect(out).toContain(`the list of apps: GET /apps: ${why}`);
    expect([...filesIn(folder).keys()].filter((name) => name.startsWith('apps/'))).toEqual([]);
  });

  it.each([
    ['may not be read with this token', 'demo-foreign', '', 'the service answered 403'],
    ['is down', 'demo-readonly', 'http://127.0.0.1:59999', 'the connection was refused'],
  ])('writes nothing at all where the whole account %s', async (_because, token, url, why) => {
    const service = await serviceAtSocket(token);
    const flags = service.flags.map((flag) => (flag === service.url && url !== '' ? url : flag));
    const folder = folderOf({});

    const { code, out, err } = await ran(importAccount, [folder, ...flags]);

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(
      new RegExp(`account acc_demo at 127.0.0.1:\\d+ cannot be read: ${why}.*; nothing is written\n$`, 'u'),
    );
    expect(filesIn(folder)).toEqual(new Map());
  });

  it('is whole where the service asks for a pause in the middle', async () => {
    const service = await serviceAtSocket();
    await service.disturb('/app-env/alerts', { status: 429, headers: { 'retry-after': '0' } }, 2);

    const { code, out } = await imported(service);

    expect(out).toContain('applying this folder sends 0 calls to the service');
    expect(code).toBe(0);
  });

  it('prints its report and ends with 1 where a file or the snapshot cannot be written', async () => {
    const service = await serviceAtSocket();
    const folder = folderOf({ apps: 'a file where a folder belongs' });
    const snapshot = join(folder, 'apps', 'prod.json');

    const { code, out, err } = await ran(importAccount, [folder, ...service.flags, '--snapshot', snapshot]);

    expect(out).toContain('files    2 written');
    expect(err).toMatch(
      /apps\/[\w-]+\.yaml could not be written: EEXIST: .*; the import stopped after 2 of \d+ files; every written file is complete\n/,
    );
    expect(err).toMatch(/apps\/prod\.json could not be written: ENOTDIR/);
    expect(code).toBe(1);
    expect(readdirSync(folder).toSorted()).toEqual(['account.yaml', 'apps', 'kustomization.yaml']);
  });

  it('says how much there is to read, and how long that takes', async () => {
    const { err } = await imported(await serviceAtSocket());

    expect(err).toContain('reading acc_demo: 5 lists, then 12 reads; this takes about 1 s at 1000 requests/s');
  });

  it('asks for no more than it said, however many alerts there are', async () => {
    const service = await serviceAtSocket('demo-admin', 'virtual');
    await clicked(service);
    await protectedIn(service);
    const asked = (await service.methods()).length;

    const { out, err } = await imported(service);

    expect(out).toContain('applying this folder sends 0 calls to the service');
    const [, lists, reads] = /: (\d+) lists, then (\d+) reads/.exec(err) ?? [];
    expect((await service.methods()).length - asked).toBe(Number(lists) + Number(reads));
  });

  it('leaves whole files only where Ctrl-C comes while it writes', async () => {
    const service = await serviceAtSocket();
    await clicked(service);
    const whole = filesIn((await imported(service)).folder);
    const folder = folderOf({});

    const importing = ran(importAccount, [folder, ...service.flags]);
    while (readdirSync(folder, { recursive: true }).length === 0) await setImmediate();
    process.emit('SIGINT', 'SIGINT');
    const { code, err } = await importing;

    expect(err).toMatch(/the import stopped after \d+ of \d+ files; every written file is complete/);
    expect(code).toBe(1);
    const files = filesIn(folder);
    expect(files.size).toBeLessThan(whole.size);
    for (const [path, text] of files) expect(text).toBe(whole.get(path));
    expect(readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.tmp'))).toEqual([]);
  });

  it('writes an installation that is named by hand, only observed, and refers to an account that the cluster has', async () => {
    const world = new InProcess({ world: 'demo' });
    const service = await serviceAtSocket();
    const folder = folderOf({});
    world.secret('shared', { baseUrl: service.url, token: 'demo-readonly' });
    world.cluster.create(resourceOf(clusterHostingAccount), undefined, {
      apiVersion: 'apphosting.dev/v1alpha1',
      kind: 'ClusterHostingAccount',
      metadata: { name: 'all' },
      spec: { externalId: 'acc_demo', credentialsRef: { name: 'shared' } },
    });
    const account = ['--account', 'ClusterHostingAccount/all', '--operator-namespace', namespace];
    const named = ['--installation', 'inst_1=queue-worker/eu-west/jobs', '--allow-insecure-loopback'];

    const result = await ran(importAccount, [folder, ...account, ...named], { cluster: clusterOf(world) });

    expect(result.out).toContain('SolutionInstallation/jobs');
    expect(result).toMatchObject({ code: 0 });
    const files = filesIn(folder);
    expect(parse(files.get('installations/jobs.yaml') ?? '')).toMatchObject({
      spec: {
        solution: 'queue-worker',
        externalId: 'inst_1',
        lifecycle: { managementPolicy: 'Observe' },
        accountRef: { kind: 'ClusterHostingAccount', name: 'all' },
      },
    });
    expect([...files.keys()]).not.toContain('account.yaml');
  });

  it.each([
    ['a file that it cannot read', { 'apps/broken.yaml': 'a: [\n' }, 'apps/broken.yaml:2: '],
    ['a tab', { 'a.yaml': 'kind: A\nspec:\n\tb: 1\n' }, 'a.yaml:3: Tabs are not allowed'],
    [
      'an alias of nothing',
      { 'a.yaml': 'kind: *team\n' },
      'a.yaml:1: Unresolved alias (the anchor must be set before the alias): team',
    ],
    ['two documents of one name', { 'a.yaml': point, 'b.yaml': point }, 'b.yaml: ContactPoint/x is also in a.yaml'],
  ])('does not touch a folder with %s', async (_because, files, line) => {
    const service = await serviceAtSocket();
    const folder = folderOf(files);

    const { code, err } = await ran(importAccount, [folder, ...service.flags]);

    expect(code).toBe(1);
    expect(err).toContain(line);
    expect([...filesIn(folder).keys()]).toEqual(Object.keys(files));
  });
});
