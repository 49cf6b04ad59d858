import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { plan } from '../../../src/cli/plan/command.ts';
import { Plan } from '../../../src/cli/plan/model.ts';
import { folderOf, resource } from '../support/folder.ts';
import { serviceAtSocket, type ServiceAtSocket } from '../support/service.ts';
import { ran } from '../support/spoken.ts';

const samples = join(import.meta.dirname, '../../../deploy/samples');

const contactPoint = (address = 'a@example.com') =>
  resource('ContactPoint', 'on-call', { email: { addresses: [address] } });
const alert = (threshold: number, name = 'web-cpu') =>
  resource('MetricAlert', name, {
    environmentRef: { externalId: 'env_web_prod' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    threshold,
    contactPointRefs: [{ name: 'on-call' }],
  });
const environment = (image: string) =>
  resource('AppEnvironment', 'web', { externalId: 'env_web_prod', deploy: { image } });

/** What somebody made earlier: a contact point, and an alert that goes there. */
async function madeEarlier(service: ServiceAtSocket): Promise<void> {
  const config = { addresses: ['a@example.com'] };
  const point = await service.post('/contact-point', { accountId: 'acc_demo', name: 'on-call', type: 'email', config });
  const { contactPointId } = point['contactPoint'] as { contactPointId: string };
  const condition = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' };
  const rest = { contactPointIds: [contactPointId], description: 'apphosting:abcdefghijklmnop' };
  await service.post('/app-env/alert', { appEnvId: 'env_web_prod', name: 'web-cpu', ...condition, ...rest });
}

async function planned(args: readonly string[]): Promise<Plan> {
  const { out } = await ran(plan, [...args, '-o', 'json']);
  return Plan.parse(JSON.parse(out));
}

const toldOf = ({ rows }: Plan) =>
  rows.map(({ action, kind, name, call, fields }) => [action, `${kind}/${name}`, call, fields] as const);

describe('a plan', () => {
  it('sends nothing but GET, and leaves the service as it was', async () => {
    const service = await serviceAtSocket('demo-admin');
    const before = await service.commits();

    const { code, out } = await ran(plan, [samples, ...service.flags]);

    expect(code).toBe(0);
    expect(out).toContain('+ ContactPoint/on-call');
    expect(new Set(await service.methods())).toEqual(new Set(['GET']));
    expect(await service.commits()).toBe(before);
  });

  it('tells what a new folder creates, in the order in which it can be created', async () => {
    const service = await serviceAtSocket();
    const folder = folderOf({ 'a.yaml': alert(85), 'b.yaml': contactPoint() });

    const made = await planned([folder, ...service.flags]);

    expect(toldOf(made).map(([action, title, call]) => [action, title, call])).toEqual([
      ['create', 'ContactPoint/on-call', 'POST /contact-point'],
      ['create', 'MetricAlert/web-cpu', 'POST /app-env/alert'],
    ]);
    expect(made.rows[1]?.fields).toContainEqual({ name: 'contactPointIds', after: ['ContactPoint/on-call'] });
    expect(made).toMatchObject({ complete: true, findings: [], calls: { total: 2 } });
  });

  it('tells the fields of a change, and that hidden ones may differ', async () => {
    const service = await serviceAtSocket();
    await madeEarlier(service);
    const folder = folderOf({ 'a.yaml': contactPoint() + alert(85).replace(/^/, '---\n') });

    const made = await planned([folder, ...service.flags]);

    expect(toldOf(made)).toEqual([
      ['unknown', 'ContactPoint/on-call', undefined, [{ name: 'config.addresses' }]],
      ['change', 'MetricAlert/web-cpu', 'PATCH /alert', [{ name: 'threshold', before: 80, after: 85 }]],
    ]);
    expect(made.rows[1]).toMatchObject({ file: 'a.yaml', line: 3 });
  });

  it('tells a field that the service can show and does not show yet', async () => {
    const service = await serviceAtSocket();
    const config = { addresses: ['a@example.com'] };
    const made = await service.post('/contact-point', {
      accountId: 'acc_demo',
      name: 'on-call',
      type: 'email',
      config,
    });
    const { contactPointId } = made['contactPoint'] as { contactPointId: string };
    const condition = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' };
    const where = { appEnvId: 'env_web_prod', name: 'web-cpu', contactPointIds: [contactPointId] };
    await service.post('/app-env/alert', { ...where, ...condition });
    const documents = contactPoint() + alert(80).replace('"threshold"', '"description":"Look at web","threshold"');

    const { rows } = await planned([folderOf({ 'a.yaml': documents.replace('\n', '\n---\n') }), ...service.flags]);

    expect(rows[1]).toMatchObject({
      action: 'change',
      call: 'PATCH /alert',
      fields: [{ name: 'description', after: 'Look at web' }],
    });
  });

  it('tells a field that is taken out of an object, and an object that is emptied', async () => {
    const service = await serviceAtSocket();
    const app = (...headers: readonly string[]) => {
      const all = headers.map((name) => ({ name, value: 'x' }));
      return resource('HostedApp', 'api', {
        port: 80,
        image: { reference: 'r.example/api:1' },
        healthCheck: { headers: all },
      });
    };
    const fieldsFrom = async (before: string, after: string) => {
      const base = folderOf({ 'a.yaml': before });
      const { rows } = await planned([folderOf({ 'a.yaml': after }), '--base', base, ...service.flags]);
      return rows.map(({ call, fields }) => [call, fields]);
    };

    expect(await fieldsFrom(app('A', 'B'), app('A'))).toEqual([
      ['PATCH /app', [{ name: 'healthCheckHeaders.B', before: 'x' }]],
    ]);
    expect(await fieldsFrom(app('A'), app())).toEqual([['PATCH /app', [{ name: 'healthCheckHeaders', after: {} }]]]);
  });

  it('tells a value from a ConfigMap that the documents do not contain as ?', async () => {
    const service = await serviceAtSocket();
    const hook = (key: string) =>
      resource('ContactPoint', 'hook', { webhook: { url: { valueFrom: { configMapKeyRef: { name: 'urls', key } } } } });
    const [base, folder] = ['a', 'b'].map((key) => folderOf({ 'a.yaml': hook(key) }));

    const made = await planned([folder ?? '', '--base', base ?? '', ...service.flags]);

    expect(made.rows).toMatchObject([{ call: 'PATCH /contact-point', fields: [{ name: 'config.url', after: '?' }] }]);
  });

  it('tells with --base what the documents cause, hidden fields and deletions included', async () => {
    const service = await serviceAtSocket();
    await madeEarlier(service);
    const base = folderOf({ 'a.yaml': contactPoint(), 'b.yaml': alert(80), 'c.yaml': environment('r.example/web:1') });
    const folder = folderOf({ 'a.yaml': contactPoint('b@example.com'), 'c.yaml': environment('r.example/web:2') });

    const made = await planned([folder, '--base', base, ...service.flags]);

    expect(toldOf(made).map(([action, title, call]) => [action, title, call])).toEqual([
      ['deploy', 'AppEnvironment/web', 'POST /app-env/deploy-image'],
      ['change', 'ContactPoint/on-call', 'PATCH /contact-point'],
      ['delete', 'MetricAlert/web-cpu', 'DELETE /alert'],
    ]);
    expect(made.rows[0]?.note).toBe('deploys, restarts web/production');
    expect(made.drift).toEqual([]);
  });

  it('tells nothing where the documents change nothing', async () => {
    const service = await serviceAtSocket();
    await madeEarlier(service);
    const folder = folderOf({
      'a.yaml': contactPoint(),
      'b.yaml': alert(80),
      'c.yaml': environment('r.example/web:1'),
    });

    const { code, out } = await ran(plan, [folder, '--base', folder, '--detailed-exitcode', ...service.flags]);

    expect(out).toContain('No changes.');
    expect(code).toBe(0);
  });

  it('is the same bytes for the same input, in every form', async () => {
    const service = await serviceAtSocket();

    for (const form of ['text', 'wide', 'json', 'yaml', 'markdown']) {
      const [one, two] = await Promise.all([1, 2].map(() => ran(plan, [samples, ...service.flags, '-o', form])));
      const timeless = (text = '') => text.replaceAll(/\d\d:\d\d(:00)?Z/g, 'now');
      expect(timeless(two?.out)).toBe(timeless(one?.out));
    }
  });

  it('never shows a secret', async () => {
    const service = await serviceAtSocket();
    const secret = 'https://hooks.example.com/s3cr3t-part';
    const values = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hook' }, stringData: { url: secret } };
    const webhook = { webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };
    const folder = folderOf({ 'a.yaml': resource('ContactPoint', 'hook', webhook), 's.yaml': JSON.stringify(values) });

    for (const form of ['wide', 'json', 'yaml', 'markdown']) {
      const { out } = await ran(plan, [folder, ...service.flags, '-o', form]);
      expect(out).not.toContain('s3cr3t');
      expect(out).not.toContain(Buffer.from(secret).toString('base64'));
    }
  });

  it('never reads the settings of a contact point, also not where the operator verifies them', async () => {
    const service = await serviceAtSocket('demo-admin-no-secrets');
    await madeEarlier(service);
    const spec = { verifyConfig: true, email: { addresses: ['b@example.com'] } };

    const made = await planned([folderOf({ 'a.yaml': resource('ContactPoint', 'on-call', spec) }), ...service.flags]);

    expect(toldOf(made)).toEqual([['unknown', 'ContactPoint/on-call', undefined, [{ name: 'config.addresses' }]]]);
    expect(made).toMatchObject({ complete: true, findings: [] });
  });

  it('never shows what was a secret before the change', async () => {
    const service = await serviceAtSocket();
    const values = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'v' }, stringData: { a: 's3cr3t', b: 'b' } };
    const secret = (key: string) => ({ valueFrom: { secretKeyRef: { name: 'v', key } } });
    const app = (dockerfile: object, ...headers: readonly object[]) => {
      const source = { git: { namespace: 'team', repo: 'api' }, dockerfile };
      const spec = { port: 80, source, healthCheck: { headers } };
      return `${resource('HostedApp', 'api', spec)}---\n${JSON.stringify(values)}\n`;
    };
    const header = { name: 'A', ...secret('a') };
    const same = { name: 'B', ...secret('b') };
    const base = folderOf({ 'a.yaml': app(secret('a'), header, same) });
    const folder = folderOf({ 'a.yaml': app({ value: 'FROM b' }, same) });

    const made = await planned([folder, '--base', base, ...service.flags]);

    expect(made.rows[0]?.fields).toEqual([
      { name: 'customDockerfileContent', secret: true },
      { name: 'healthCheckHeaders.A', secret: true },
    ]);
    expect(JSON.stringify(made)).not.toContain('s3cr3t');
  });

  it('counts as a restart what a call does, not what a note says', async () => {
    const service = await serviceAtSocket();
    const base = folderOf({ 'a.yaml': contactPoint() + '---\n' + environment('r.example/web:1') });
    const folder = folderOf({ 'restarts/c.yaml': environment('r.example/web:1') });

    const { code, out } = await ran(plan, [
      join(folder, 'restarts'),
      '--base',
      base,
      ...service.flags,
      '--fail-on=restart',
    ]);

    expect(out).toMatch(/^- ContactPoint\/on-call .* not in .*restarts/m);
    expect(code).toBe(0);
  });

  it.each([
    ['2 with --detailed-exitcode when there is something to do', ['--detailed-exitcode'], 2],
    ['3 where a gate is hit', ['--fail-on', 'restart,delete'], 3],
    ['0 where no gate is hit', ['--fail-on', 'access'], 0],
    ['64 for a gate that is none', ['--fail-on', 'everything'], 64],
    ['64 for an output that is none', ['-o', 'xml'], 64],
  ])('ends with %s', async (_because, flags, code) => {
    const service = await serviceAtSocket();
    const base = folderOf({ 'c.yaml': environment('r.example/web:1') });
    const folder = folderOf({ 'c.yaml': environment('r.example/web:2') });

    expect((await ran(plan, [folder, '--base', base, ...service.flags, ...flags])).code).toBe(code);
  });

  it.each([
    ['0 with --detailed-exitcode', ['--detailed-exitcode'], 0],
    ['3 with a gate for it', ['--detailed-exitcode', '--fail-on', 'unknown'], 3],
  ])('ends where there is nothing but what cannot be told with %s', async (_because, flags, code) => {
    const service = await serviceAtSocket();
    await madeEarlier(service);
    const folder = folderOf({ 'a.yaml': contactPoint(), 'b.yaml': alert(80) });

    const result = await ran(plan, [folder, ...service.flags, ...flags]);

    expect(result.out).toMatch(/^\? ContactPoint\/on-call [^]*^1 unknown\./mu);
    expect(result.code).toBe(code);
  });

  it('leaves out whole rows of Markdown that do not fit, and counts them', async () => {
    const service = await serviceAtSocket();
    const names = Array.from({ length: 40 }, (_, at) => `point-${at}`);
    const email = { email: { addresses: ['a@example.com'] } };
    const folder = folderOf({ 'a.yaml': names.map((name) => resource('ContactPoint', name, email)).join('---\n') });

    const { out } = await ran(plan, [
      folder,
      ...service.flags,
      '-o',
      'markdown',
      '--max-chars',
      '1500',
      '--name',
      'prod',
    ]);

    expect(out.length).toBeLessThanOrEqual(1500);
    expect(out).toMatch(/^<!-- apphosting-plan:prod -->\n### prod: 40 creates/);
    const rows = out.match(/^\| \+ /gm)?.length ?? 0;
    expect(out).toContain(`${40 - rows} more rows did not fit into the comment.`);
  });
});

describe('a plan of bad input', () => {
  const webhook = resource('ContactPoint', 'hook', { webhook: { adress: 'https://example.com' } });
  const namespace = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });

  it.each([
    ['an empty folder', {}, 1, 'the manifests contain no resources'],
    ['kinds of others only', { 'a.yaml': namespace }, 1, 'none of the 1 resources is of the API group apphosting.dev'],
    ['a tab', { 'a.yaml': 'apiVersion: v1\nkind: Secret\nmetadata:\n\tname: a\n' }, 1, 'x a.yaml:4: '],
    [
      'two of one name',
      { 'a.yaml': contactPoint(), 'b.yaml': contactPoint() },
      2,
      'x b.yaml:1: ContactPoint/on-call: the resource is also in a.yaml:1 [Duplicate]',
    ],
    ['a field that is none', { 'a.yaml': webhook }, 2, 'x a.yaml:1: ContactPoint/hook: spec.webhook.url: is required'],
    [
      'a document that is no object',
      { 'a.yaml': 'just words\n' },
      1,
      'the YAML document is not a mapping, so it is no Kubernetes object',
    ],
    [
      'an alias of nothing',
      { 'a.yaml': 'apiVersion: v1\n---\nkind: *team\n' },
      1,
      'x a.yaml:3: Unresolved alias (the anchor must be set before the alias): team',
    ],
  ])('says of %s what and where', async (_because, files, code, line) => {
    const service = await serviceAtSocket();

    const result = await ran(plan, [folderOf(files), ...service.flags]);

    expect(result.out).toContain(line);
    expect(result.code).toBe(code);
  });

  it('takes no label or annotation that is no text', async () => {
    const service = await serviceAtSocket();
    const { metadata, ...rest } = JSON.parse(contactPoint()) as { metadata: object };
    const document = JSON.stringify({ ...rest, metadata: { ...metadata, labels: { a: null }, annotations: { b: 1 } } });

    const result = await ran(plan, [folderOf({ 'a.yaml': document }), ...service.flags]);

    expect(result).toMatchObject({ code: 0, err: '', out: expect.stringContaining('+ ContactPoint/on-call') });
  });

  it('says of links that lead back or nowhere where they are, and reads everything else once', async () => {
    const service = await serviceAtSocket();
    const folder = folderOf({ 'apps/a.yaml': contactPoint() });
    symlinkSync('..', join(folder, 'apps/back'));
    symlinkSync('nowhere', join(folder, 'apps/base'));

    const { code, out } = await ran(plan, [folder, ...service.flags]);

    expect(out.split('\n').filter((line) => line.startsWith('x '))).toEqual([
      'x apps/back:1: the symbolic link points to a folder that contains the link [Unreadable]',
      'x apps/base:1: there is no such file or folder [Unreadable]',
    ]);
    expect(out).toMatch(/^1 create, 2 findings\..* INCOMPLETE/m);
    expect(code).toBe(1);
  });

  it('says why a kustomization fails in words that are the same each time', async () => {
    const service = await serviceAtSocket();
    const line = 'E1123 00:37:27.000000    3704 run.go:72] "command failed" err="no resources"';
    const programs = folderOf({ kustomize: `#!/bin/sh\necho '${line}' >&2\nexit 1\n` });
    chmodSync(join(programs, 'kustomize'), 0o755);
    vi.stubEnv('PATH', programs);
    onTestFinished(() => void vi.unstubAllEnvs());

    const { out } = await ran(plan, [folderOf({ 'kustomization.yaml': 'resources: []\n' }), ...service.flags]);

    expect(out).toContain('x kustomization.yaml:1: kustomize: "command failed" err="no resources" [Unreadable]\n');
  });

  it('leaves hidden files and folders alone', async () => {
    const service = await serviceAtSocket();
    const folder = folderOf({ 'a.yaml': contactPoint(), '.github/workflows/a.yaml': 'on: push\n', '.b.yaml': '*' });

    const { code, out } = await ran(plan, [folder, ...service.flags]);

    expect(out).toMatch(/^1 create\./m);
    expect(code).toBe(0);
  });

  it('says of a Secret among the documents that it lacks a key', async () => {
    const service = await serviceAtSocket();
    const secret = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { a: 'b' },
    });
    const pager = resource('ContactPoint', 'pager', {
      incident: { integrationKey: { valueFrom: { secretKeyRef: { name: 's', key: 'key' } } } },
    });
    const folder = folderOf({ 'a.yaml': secret, 'b.yaml': pager });

    const { out } = await ran(plan, [folder, ...service.flags]);

    expect(out).toMatch(/^\? ContactPoint\/pager +SecretMissing: spec\.\S+: Secret s has no key "key"/m);
    expect(out).toMatch(/^1 unknown\./m);
  });

  it('says of a resource in --only that there is none', async () => {
    const service = await serviceAtSocket();
    const folder = folderOf({ 'a.yaml': contactPoint() });

    const { code, out } = await ran(plan, [folder, ...service.flags, '--only', 'ContactPoint/oncall']);

    expect(out).toContain('x --only ContactPoint/oncall: no manifest defines this resource [NoResources]\n');
    expect(code).toBe(1);
  });

  it.each([
    ['may not be read', { status: 403 }, /GET \/contact-points: .*403/],
    ['stops half-way', { truncate: 5 }, /GET \/contact-points: the connection was closed/],
  ])('says of a list that %s which it is, and never looks complete', async (_because, effect, line) => {
    const service = await serviceAtSocket();
    await service.disturb('/contact-points', effect);

    const { code, out } = await ran(plan, [samples, ...service.flags, '--detailed-exitcode', '--fail-on', 'delete']);

    expect(code).toBe(1);
    expect(out).toContain('INCOMPLETE');
    expect(out).toMatch(line);
  });

  it('says in one line that a service is down', async () => {
    const service = await serviceAtSocket();
    const down = service.flags.map((flag) => (flag === service.url ? 'http://127.0.0.1:59999' : flag));

    const { code, out } = await ran(plan, [folderOf({ 'a.yaml': contactPoint() }), ...down]);

    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      'x account acc_demo at 127.0.0.1:59999 cannot be read: the connection was refused [ReadFailed]',
      expect.stringMatching(/^1 finding\. 0 of \d lists read.* INCOMPLETE/),
      '',
    ]);
  });

  it('says in one line that a token is of another account', async () => {
    const service = await serviceAtSocket('demo-foreign');
    const folder = folderOf({ 'a.yaml': contactPoint(), 'b.yaml': alert(80) });

    const { code, out } = await ran(plan, [folder, ...service.flags]);

    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^x account acc_demo at .* cannot be read: .* 403: you are not a member.*ReadFailed\]$/u),
      expect.stringMatching(/^1 finding\. .* INCOMPLETE/u),
      '',
    ]);
  });

  it('says once what resources wait for that wait only for their account', async () => {
    const service = await serviceAtSocket();
    const account = JSON.stringify({
      apiVersion: 'apphosting.dev/v1alpha1',
      kind: 'HostingAccount',
      metadata: { name: 'default', annotations: { 'apphosting.dev/paused': 'true' } },
      spec: { externalId: 'acc_demo', credentialsRef: { name: 'a' } },
    });
    const folder = folderOf({ 'a.yaml': account, 'b.yaml': contactPoint(), 'c.yaml': environment('r.example/web:1') });

    const { out } = await ran(plan, [folder, ...service.flags]);

    expect(out).toMatch(
      /^\? HostingAccount\/default +Paused: .*; 2 resources wait for this account +a\.yaml:1\n1 unknown\./u,
    );
  });

  it.each([
    ['no account', ['x'], 64, 'name the account with'],
    ['no account, as kubectl takes files', ['-f', 'x'], 64, 'name the account with'],
    ['no folder', [], 64, 'it needs DIR|FILE|-'],
    ['two folders', ['x', '--filename', 'y'], 64, 'the manifests are given twice: as the argument and with --filename'],
    ['half an account', ['x', '--base-url', 'http://127.0.0.1:1'], 64, '--token-file and --account-id are needed too'],
  ])('says with %s what is missing', async (_because, args, code, line) => {
    const result = await ran(plan, args);

    expect(result.err).toContain(line);
    expect(result.code).toBe(code);
  });
});
