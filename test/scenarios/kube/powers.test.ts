/** Who may do what: real tokens, the roles and the policies as they are installed, and the requests themselves. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BreakablePlane } from '../../support/breakable-plane.ts';
import { connect, definedPlane, eventually, kubectl, type Answer, type Api } from '../support/kubernetes.ts';

const deploy = join(import.meta.dirname, '..', '..', '..', 'deploy', 'kustomize');
const group = '/apis/apphosting.dev/v1alpha1/namespaces/team';
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/team';

/** A person: a name, and the cluster roles that are bound in the namespace `team`. */
const people = {
  viewer: ['view'],
  editor: ['edit'],
  admin: ['admin'],
  activator: ['apphosting-activator'],
  resetter: ['apphosting-resetter'],
  stranger: [],
} as const;
type Person = keyof typeof people;

const configured = { configurationId: 'drc_1', configurationGeneration: 1 };
const later = new Date(Date.now() + 3_600_000).toISOString();
const specs: Readonly<Record<string, object>> = {
  disasterprotections: { environmentRef: { externalId: 'env_1' }, destinationRegion: 'us-east' },
  recoveryvalidations: { protectionRef: { name: 'orders' } },
  recoveryactivations: {
    protectionRef: { name: 'orders' },
    configurationId: 'drc_1',
    recoveryPoint: {
      selectedOperationId: 'op_1',
      pointId: 'a'.repeat(64),
      cutoffTime: '2026-01-01T00:00:00.000Z',
      configurationGeneration: 1,
    },
    target: { environmentName: 'recovered' },
    confirmation: 'orders/prod',
    validUntil: later,
  },
  activationdiscards: {
    protectionRef: { name: 'orders' },
    ...configured,
    operationId: 'op_1',
    acknowledgements: ['DiscardsRecoveredData'],
    validUntil: later,
  },
  disasterresets: {
    scope: 'Environment',
    environmentRef: { externalId: 'env_1' },
    ...configured,
    confirmation: 'prod',
    acknowledgements: ['DeletesProtectionAndLeftovers'],
    validUntil: later,
  },
  hostingaccounts: { externalId: 'acc_1', credentialsRef: { name: 'credentials' } },
  memberaccesses: { externalId: 'mem_1', access: 'Full' },
  contactpoints: { email: { addresses: ['ops@example.com'] } },
};
const kinds: Readonly<Record<string, string>> = {
  disasterprotections: 'DisasterProtection',
  recoveryvalidations: 'RecoveryValidation',
  recoveryactivations: 'RecoveryActivation',
  activationdiscards: 'ActivationDiscard',
  disasterresets: 'DisasterReset',
  hostingaccounts: 'HostingAccount',
  memberaccesses: 'MemberAccess',
  contactpoints: 'ContactPoint',
  appenvironments: 'AppEnvironment',
  solutioninstallations: 'SolutionInstallation',
  hostedapps: 'HostedApp',
};

let plane: BreakablePlane;
let root: Api & { readonly close: () => Promise<void> };
const tokens = new Map<string, string>();
const closing: (() => Promise<void>)[] = [];

async function made(answer: Promise<Answer>): Promise<unknown> {
  const { status, body } = await answer;
  expect([200, 201], JSON.stringify(body)).toContain(status);
  return body;
}

/** A ServiceAccount in a namespace of its own: who may edit `team` cannot take its token. */
async function person(name: string, roles: readonly string[]): Promise<void> {
  await made(root.post('/api/v1/namespaces/people/serviceaccounts', { metadata: { name } }));
  for (const role of roles) await bind(name, 'ClusterRole', role);
  const path = `/api/v1/namespaces/people/serviceaccounts/${name}/token`;
  const { status } = (await made(root.post(path, { spec: { expirationSeconds: 3_600 } }))) as {
    status: { token: string };
  };
  tokens.set(name, status.token);
}

async function bind(name: string, kind: 'Role' | 'ClusterRole', role: string): Promise<void> {
  await made(
    root.post(`${rbac}/rolebindings`, {
      metadata: { name: `${name}-${role}` },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'people' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    }),
  );
}

function as(name: string): Api {
  const api = connect(plane, tokens.get(name));
  closing.push(api.close);
  return api;
}

function manifest(plural: string, name: string, spec = specs[plural]): object {
  return { apiVersion: 'apphosting.dev/v1alpha1', kind: kinds[plural], metadata: { name }, spec };
}

async function canI(name: string, ...asked: readonly string[]): Promise<boolean> {
  const flags = ['--server', plane.url, '--token', tokens.get(name) ?? '', '-n', 'team'];
  // It ends with 1 when the answer is no.
  const answer = await kubectl(plane, ...flags, 'auth', 'can-i', ...asked).catch(
    (error: { stdout?: string }) => error.stdout ?? '',
  );
  expect(['yes', 'no']).toContain(answer.trim());
  return answer.trim() === 'yes';
}

beforeAll(async () => {
  plane = await definedPlane();
  closing.push(plane.stop);
  root = connect(plane);
  closing.unshift(root.close);
  await kubectl(plane, 'apply', '-k', join(deploy, 'roles'));
  for (const name of ['team', 'people']) await made(root.post('/api/v1/namespaces', { metadata: { name } }));
  for (const [name, roles] of Object.entries(people)) await person(name, roles);
  const secret = { metadata: { name: 'credentials' }, stringData: { token: 'made-up' } };
  await made(root.post('/api/v1/namespaces/team/secrets', secret));
  for (const plural of Object.keys(specs)) await made(root.post(`${group}/${plural}`, manifest(plural, 'there')));
});

afterAll(async () => {
  for (const close of closing) await close();
});

type Row = readonly [as: Person, verb: string, resource: string, allowed: boolean];
const dangerous = ['recoveryactivations', 'activationdiscards', 'disasterresets'];
const writes = ['create', 'patch', 'delete'];

/** As whom, does what, allowed or not. */
const rows: readonly Row[] = [
  ...Object.keys(specs).flatMap((plural): Row[] => [
    ['viewer', 'get', plural, true],
    ['viewer', 'create', plural, false],
    ['viewer', 'patch', plural, false],
    ['stranger', 'get', plural, false],
  ]),
  ['viewer', 'get', 'secrets', false],
  ['viewer', 'delete', 'disasterprotections', false],
  ['editor', 'create', 'disasterprotections', true],
  ['editor', 'patch', 'disasterprotections', true],
  ['editor', 'create', 'recoveryvalidations', true],
  ['editor', 'create', 'contactpoints', true],
  ['editor', 'create', 'memberaccesses', false],
  ['editor', 'patch', 'hostingaccounts', false],
  ...dangerous.flatMap((plural): Row[] => [
    ...writes.map((verb): Row => ['editor', verb, plural, false]),
    ...writes.map((verb): Row => ['admin', verb, plural, false]),
  ]),
  ['admin', 'create', 'memberaccesses', true],
  ['admin', 'create', 'hostingaccounts', true],
  ['activator', 'get', 'disasterprotections', true],
  ['activator', 'create', 'recoveryactivations', true],
  ['activator', 'create', 'activationdiscards', true],
  ['activator', 'create', 'disasterresets', false],
  ['activator', 'create', 'disasterprotections', false],
  ['activator', 'patch', 'disasterprotections', false],
  ['activator', 'get', 'secrets', false],
  ['resetter', 'create', 'disasterresets', true],
  ['resetter', 'create', 'recoveryactivations', false],
  ['resetter', 'create', 'activationdiscards', false],
  ['resetter', 'patch', 'disasterprotections', false],
  ['resetter', 'get', 'secrets', false],
  ...(['viewer', 'editor', 'admin', 'activator', 'resetter'] as const).flatMap((name): Row[] => [
    [name, 'patch', 'disasterprotections/status', false],
    [name, 'patch', 'recoveryactivations/status', false],
  ]),
];

/** The request itself, as that person. */
async function tried(api: Api, verb: string, resource: string): Promise<number> {
  const [plural = '', part] = resource.split('/');
  const path = plural === 'secrets' ? '/api/v1/namespaces/team/secrets' : `${group}/${plural}`;
  const object = `${path}/${plural === 'secrets' ? 'credentials' : 'there'}`;
  switch (verb) {
    case 'get':
      return (await api.get(object)).status;
    case 'create':
      return (await api.post(`${path}?dryRun=All`, manifest(plural, 'tried'))).status;
    case 'patch': {
      const change = part === undefined ? { metadata: { labels: { tried: 'yes' } } } : { status: { stage: 'Wiped' } };
      return (await api.patch(`${object}${part === undefined ? '' : `/${part}`}`, change)).status;
    }
    default:
      return (await api.delete(object)).status;
  }
}

describe('with a token of their own', () => {
  it.each(Object.keys(people) as Person[])('a %s may do what the roles say, and nothing else', async (name) => {
    const own = rows.filter(([person]) => person === name);
    const api = as(name);
    if (people[name].length > 0) {
      await eventually(
        'the roles are joined',
        async () => (await api.get(`${group}/disasterprotections`)).status === 200,
      );
    }
    const wrong: string[] = [];
    for (const [, verb, resource, allowed] of own) {
      const status = await tried(api, verb, resource);
      const isAllowed = status >= 200 && status < 300;
      if (isAllowed !== allowed || (!allowed && status !== 403)) wrong.push(`${verb} ${resource}: ${status}`);
    }

    expect(own.length).toBeGreaterThan(5);
    expect(wrong).toEqual([]);
  });

  it.each(['editor', 'admin', 'activator', 'resetter'] as const)(
    'a %s hears from kubectl who may activate',
    async (name) => {
      expect(await canI(name, 'activate', 'disasterprotections.apphosting.dev')).toBe(name === 'activator');
    },
  );

  it('cannot give themselves more: an admin of the namespace binds neither the activator nor the resetter', async () => {
    for (const role of ['apphosting-activator', 'apphosting-resetter']) {
      const { status } = await as('admin').post(`${rbac}/rolebindings`, {
        metadata: { name: `mine-${role}` },
        subjects: [{ kind: 'ServiceAccount', name: 'admin', namespace: 'people' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      });
      expect(status).toBe(403);
    }
    const rule = { apiGroups: ['apphosting.dev'], resources: ['disasterresets'], verbs: ['create'] };
    const { status } = await as('admin').post(`${rbac}/roles`, { metadata: { name: 'mine' }, rules: [rule] });
    expect(status).toBe(403);
  });
});

describe('the policy for activation', () => {
  const creator = { apiGroups: ['apphosting.dev'], resources: ['recoveryactivations', 'activationdiscards'] };

  it('refuses a creation without the verb activate on that very protection, and nothing else', async () => {
    await made(
      root.post(`${rbac}/roles`, {
        metadata: { name: 'creator' },
        rules: [{ ...creator, verbs: ['create', 'patch'] }],
      }),
    );
    const activate = { apiGroups: ['apphosting.dev'], resources: ['disasterprotections'], verbs: ['activate'] };
    await made(
      root.post(`${rbac}/roles`, {
        metadata: { name: 'of-orders' },
        rules: [{ ...activate, resourceNames: ['orders'] }],
      }),
    );
    for (const name of ['creator', 'orders-only']) {
      await person(name, []);
      await bind(name, 'Role', 'creator');
    }
    await bind('orders-only', 'Role', 'of-orders');
    const create = (name: string, plural: string, spec?: object) =>
      as(name).post(`${group}/${plural}?dryRun=All`, manifest(plural, 'tried', spec));
    await eventually(
      'the roles are known',
      async () => (await create('creator', 'recoveryactivations')).status === 201,
    );

    await kubectl(plane, 'apply', '-f', join(deploy, 'components', 'activation-policy', 'policy.yaml'));
    await eventually(
      'the policy is in effect',
      async () => (await create('creator', 'recoveryactivations')).status === 403,
    );

    const other = { ...specs['recoveryactivations'], protectionRef: { name: 'payments' } };
    for (const answer of [
      await create('creator', 'recoveryactivations'),
      await create('creator', 'activationdiscards'),
      await create('orders-only', 'recoveryactivations', other),
    ]) {
      expect(answer.status).toBe(403);
      expect(answer.body).toMatchObject({ reason: 'Forbidden', code: 403 });
      expect((answer.body as { message: string }).message).toContain(
        'you need the verb "activate" on the DisasterProtection',
      );
    }
    expect((await create('orders-only', 'recoveryactivations')).status).toBe(201);
    expect((await create('activator', 'activationdiscards')).status).toBe(201);
    const change = { metadata: { labels: { noted: 'yes' } } };
    expect((await as('creator').patch(`${group}/recoveryactivations/there`, change)).status).toBe(200);
  });
});

describe('the policy for references to Secrets', () => {
  const from = (name: string) => ({ valueFrom: { secretKeyRef: { name, key: 'token' } } });
  /** Each kind with a Secret, and the same with another one. */
  const using: readonly (readonly [plural: string, spec: (secret: string) => object, without: object | undefined])[] = [
    ['hostingaccounts', (name) => ({ externalId: 'acc_1', credentialsRef: { name } }), undefined],
    ['hostingaccounts', (name) => ({ ...specs['hostingaccounts'], dangerousCredentialsRef: { name } }), undefined],
    [
      'contactpoints',
      (name) => ({ webhook: { url: { valueFrom: { secretKeyRef: { name, key: 'token' } } } } }),
      undefined,
    ],
    [
      'contactpoints',
      (name) => ({ incident: { integrationKey: { valueFrom: { secretKeyRef: { name, key: 'token' } } } } }),
      undefined,
    ],
    [
      'appenvironments',
      (name) => ({
        externalId: 'env_1',
        deploy: { image: 'i:1' },
        env: [
          { name: 'A', value: 'b' },
          { name: 'B', ...from(name) },
        ],
      }),
      { externalId: 'env_1', deploy: { image: 'i:1' } },
    ],
    [
      'hostedapps',
      (name) => ({
        image: { reference: 'i:1' },
        port: 80,
        healthCheck: { path: '/', headers: [{ name: 'X', ...from(name) }] },
      }),
      { image: { reference: 'i:1' }, port: 80 },
    ],
    [
      'solutioninstallations',
      (name) => ({
        solution: 's',
        appName: 'a',
        region: 'r',
        inputs: [
          { name: 'a', value: 'b' },
          { name: 'b', ...from(name) },
        ],
      }),
      { solution: 's', appName: 'a', region: 'r' },
    ],
  ];

  it('lets nobody use a Secret who may not read Secrets there, and asks only when others are named than before', async () => {
    const rule = { apiGroups: ['apphosting.dev'], resources: ['*'], verbs: ['get', 'create', 'patch'] };
    await made(root.post(`${rbac}/roles`, { metadata: { name: 'writer' }, rules: [rule] }));
    await person('writer', []);
    await bind('writer', 'Role', 'writer');
    const writer = as('writer');
    const create = (api: Api, plural: string, spec: object) =>
      api.post(`${group}/${plural}?dryRun=All`, manifest(plural, 'tried', spec));
    const [[plural, spec] = ['hostingaccounts', () => ({})]] = using;
    await eventually('the role is known', async () => (await create(writer, plural, spec('s'))).status === 201);

    await kubectl(plane, 'apply', '-f', join(deploy, 'components', 'secret-reference-policy', 'policy.yaml'));
    const wrong: string[] = [];
    for (const [index, [kind, with_, without]] of using.entries()) {
      await eventually(`${kind} is guarded`, async () => (await create(writer, kind, with_('s'))).status === 403);
      const refused = (await create(writer, kind, with_('s'))).body as { reason: string; message: string };
      if (refused.reason !== 'Forbidden' || !refused.message.includes('you need the verb "get" on Secrets'))
        wrong.push(`${kind}: ${refused.message}`);
      const allowed = await create(root, kind, with_('s'));
      if (allowed.status !== 201) wrong.push(`${kind} as root: ${JSON.stringify(allowed.body)}`);
      if (without !== undefined && (await create(writer, kind, without)).status !== 201) wrong.push(`${kind} without`);

      const name = `held-${index}`;
      await made(root.post(`${group}/${kind}`, manifest(kind, name, with_('s'))));
      const own = `${group}/${kind}/${name}`;
      const label = await writer.patch(own, { metadata: { labels: { noted: 'yes' } } });
      if (label.status !== 200) wrong.push(`${kind} unchanged: ${label.status}`);
      const changed = await writer.patch(own, { spec: with_('other') });
      if (changed.status !== 403) wrong.push(`${kind} changed: ${changed.status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('can afford the longest list', async () => {
    const env = Array.from({ length: 500 }, (_, index) => ({ name: `N${index}`, ...from(`secret-${index}`) }));
    const spec = { externalId: 'env_1', deploy: { image: 'i:1' }, env };
    await made(root.post(`${group}/appenvironments`, manifest('appenvironments', 'long', spec)));
    const other = [...env.slice(1), { name: 'N0', ...from('another') }];

    expect((await root.patch(`${group}/appenvironments/long`, { spec: { env: other } })).status).toBe(200);
  });
});
