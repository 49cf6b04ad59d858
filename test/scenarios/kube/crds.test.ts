import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { manifestsIn, type Manifest } from '../../../src/sandbox/manifests.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { schemasOf } from '../../../src/crd/manifest.ts';
import { structural, type Structural } from '../../../src/crd/structural.ts';
import { brokenOf } from '../invalid/bounds.ts';
import { verdicts } from '../invalid/index.ts';
import type { Spec } from '../invalid/table.ts';
import { connect, freshNamespace, kubectl, sharedKubernetes, type Answer } from '../support/kubernetes.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const groupVersion = 'apis/apphosting.dev/v1alpha1';

const api = connect(sharedKubernetes());
/** Where objects are only tried, or have names of their own: to make a namespace and delete it costs more than most tests here. */
const common = `t-${randomUUID().slice(0, 8)}`;
let namespace: string;

beforeAll(async () => void (await api.post('/api/v1/namespaces', { metadata: { name: common } })));

beforeEach(() => {
  namespace = common;
});

afterAll(async () => {
  await api.delete(`/api/v1/namespaces/${common}`);
  await api.close();
});

/** For what finds other objects there, or leaves one with a name that others use. */
async function moveIntoOwnNamespace(): Promise<void> {
  namespace = await freshNamespace(api);
}

/** A name that no other object has. */
function unusedName(): string {
  return `t-${randomUUID().slice(0, 8)}`;
}

/** Where objects of a kind are. */
function collection(kind: string): string {
  const identity = kinds.find((one) => one.kind === kind);
  if (identity === undefined) throw new Error(`no kind ${kind}`);
  const place = identity.scope === 'Cluster' ? '' : `/namespaces/${namespace}`;
  return `/${groupVersion}${place}/${identity.plural}`;
}

async function create(kind: string, spec: Spec, name = 'a-name', query = ''): Promise<Answer> {
  const object = { apiVersion: 'apphosting.dev/v1alpha1', kind, metadata: { name }, spec };
  return api.post(`${collection(kind)}?fieldValidation=Strict${query}`, object);
}

function messageOf({ body }: Answer): string {
  return String((body as { message?: unknown }).message);
}

describe('the definitions', () => {
  it('are all accepted and established', async () => {
    const conditions = await Promise.all(
      kinds.map(async ({ plural }) => {
        const { body } = await api.get(
          `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.apphosting.dev`,
        );
        const { status } = body as { status: { conditions: readonly { type: string; status: string }[] } };
        const held = status.conditions.filter((one) => one.status === 'True').map((one) => one.type);
        return [plural, held.toSorted()];
      }),
    );

    expect(conditions).toEqual(kinds.map(({ plural }) => [plural, ['Established', 'NamesAccepted']]));
  });

  it('are found by category and by every short name', async () => {
    // Other tests may have left something: that kubectl knows every name is all that counts.
    const shortNames = kinds.flatMap((identity) => identity.shortNames).join(',');
    await expect(kubectl(sharedKubernetes(), 'get', shortNames, '-A')).resolves.toBeDefined();
    const named = await kubectl(sharedKubernetes(), 'api-resources', '--categories=apphosting', '-o', 'name');
    expect(named.trim().split('\n').toSorted()).toEqual(
      kinds.map(({ plural }) => `${plural}.apphosting.dev`).toSorted(),
    );
  });

  it.each([
    ['contactpoint.spec', 'exactly one of email, webhook, chatA, chatB'],
    ['contactpoint.spec.name', 'Default: the name of this resource.'],
    ['metricalert.spec.threshold', 'Default: 80 for percentages of CPU and memory'],
    [
      'disasterprotection.status.recoveryPoints',
      'The newest recovery points, some that are hours, days and weeks older, and the oldest',
    ],
    ['recoveryactivation.spec.validUntil', 'Time after which the request is not sent'],
    ['hostedapp.status.internal.journal', 'a call that must not happen twice'],
  ])('explain %s in plain words', async (path, words) => {
    const text = await kubectl(sharedKubernetes(), 'explain', path);

    expect(text.replaceAll(/\s+/gu, ' ').toLowerCase()).toContain(words.toLowerCase());
  });

  it('start with a status that no tool takes for finished', async () => {
    await moveIntoOwnNamespace();
    const { body } = await create('ContactPoint', { email: { addresses: ['a@example.com'] } });

    expect(body).toMatchObject({ status: { observedGeneration: -1 } });
    expect(body).not.toHaveProperty('spec.accountRef');
    expect(body).not.toHaveProperty('spec.lifecycle');
  });

  it('show a long name as too long where the service takes only a short one', async () => {
    await moveIntoOwnNamespace();
    const email = { email: { addresses: ['a@example.com'] } };

    const refused = await create('ContactPoint', email, 'x'.repeat(51));
    const named = await create('ContactPoint', { ...email, name: 'short' }, 'x'.repeat(51));

    expect(messageOf(refused)).toContain('metadata.name has more than 50 characters: set spec.name');
    expect(named.status).toBe(201);
  });

  it('let a default name be written out where a name is fixed', async () => {
    await moveIntoOwnNamespace();
    const spec = { port: 80, image: { reference: 'a' } };
    await create('HostedApp', spec, 'web');

    const same = await api.patch(`${collection('HostedApp')}/web`, { spec: { name: 'web' } });
    const other = await api.patch(`${collection('HostedApp')}/web`, { spec: { name: 'shop' } });

    expect(same.status).toBe(200);
    expect(messageOf(other)).toContain('the service cannot rename an app');
  });

  it('can be filtered by the fields that people filter by', async () => {
    await moveIntoOwnNamespace();
    const alert = { metric: 'cpu_percent', operator: 'GreaterThan', contactPointRefs: [{ externalId: 'cp' }] };
    await create('MetricAlert', { ...alert, environmentRef: { name: 'web' } }, 'one');
    await create('MetricAlert', { ...alert, environmentRef: { name: 'db' } }, 'two');

    const filter = 'spec.environmentRef.name=web';
    const selected = await kubectl(
      sharedKubernetes(),
      'get',
      'malert',
      '-n',
      namespace,
      '-o',
      'name',
      '--field-selector',
      filter,
    );

    expect(selected).toBe('metricalert.apphosting.dev/one\n');
  });

  it('show how an object is in columns', async () => {
    await moveIntoOwnNamespace();
    const environmentRef = { externalId: 'env_db_prod' };
    await create('DisasterProtection', { environmentRef, destinationRegion: 'us-east', protectionMode: 'Cold' }, 'db');
    await setStatus('DisasterProtection', 'db', [condition('RecoveryReady', 'False'), condition('Ready', 'True')], {
      settings: { protectionMode: 'Cold', destinationRegion: 'us-east' },
    });

    const [head, row] = (await kubectl(sharedKubernetes(), 'get', 'dprot', '-n', namespace)).split('\n');

    expect(head?.replaceAll(/\s+/gu, ' ')).toBe(
      'NAME READY REASON RECOVERY-READY MODE REGION STAGE SINCE LAST-POINT AGE',
    );
    expect(row?.split(/\s+/u).slice(0, 5)).toEqual(['db', 'True', 'InSync', 'False', 'Cold']);
  });
});

function condition(type: string, status: string) {
  return { type, status, reason: 'InSync', message: '', lastTransitionTime: '2026-01-31T12:00:00Z' };
}

describe('the status of', () => {
  it.each(kinds)('a $kind keeps everything that its schema names', async ({ kind }) => {
    const spec = verdicts.find((one) => one.kind === kind)?.accepted[0]?.spec ?? {};
    const name = unusedName();
    const identity = kinds.find((one) => one.kind === kind);
    if (identity === undefined) throw new Error(`no kind ${kind}`);
    const whole = valueOf(schemasOf(identity).status);
    await create(kind, spec, name);

    const answer = await api.patch(`${collection(kind)}/${name}/status`, { status: whole });

    expect([answer.status, messageOf(answer)]).toEqual([200, 'undefined']);
    expect((answer.body as { status: unknown }).status).toEqual(whole);
    if (identity.scope === 'Cluster') await api.delete(`${collection(kind)}/${name}`);
  });

  /** A value that fills every field of a schema. */
  function valueOf(node: Structural): unknown {
    if (node.enum !== undefined) return node.enum[0];
    if (node.items !== undefined) return [valueOf(node.items)];
    if (node.additionalProperties !== undefined) return { aKey: valueOf(node.additionalProperties) };
    if (node.type === 'string') return node['format'] === 'date-time' ? '2026-01-31T12:00:00Z' : 'Abc';
    if (node.type === 'integer' || node.type === 'number') return 1;
    if (node.type === 'boolean') return true;
    const fields = Object.entries(node.properties ?? {}).map(([field, child]) => [field, valueOf(child)] as const);
    return Object.fromEntries(fields);
  }
});

describe('two appliers', () => {
  beforeEach(moveIntoOwnNamespace);

  /** Applies these fields as this one, and returns the spec that comes of it. */
  async function applied(kind: string, manager: string, spec: Spec): Promise<Spec> {
    const object = { apiVersion: 'apphosting.dev/v1alpha1', kind, metadata: { name: 'shared' }, spec };
    const path = `${collection(kind)}/shared?fieldManager=${manager}&fieldValidation=Strict`;
    const answer = await api.patch(path, object, 'application/apply-patch+yaml');
    expect([answer.status < 300, messageOf(answer)]).toEqual([true, 'undefined']);
    return (answer.body as { spec: Spec }).spec;
  }

  const from = (key: string) => ({ valueFrom: { secretKeyRef: { name: 'values', key } } });
  const environment = { cliEnvironmentName: 'web-prod', deploy: { image: 'r/web:1' } };
  const app = { port: 80, image: { reference: 'r/web:1' } };

  const shared = [
    {
      list: '.env',
      kind: 'AppEnvironment',
      with: (env: readonly Spec[]) => ({ ...environment, env }),
      only: (env: readonly Spec[]) => ({ env }),
      of: ({ env }: Spec) => env,
    },
    {
      list: '.healthCheck.headers',
      kind: 'HostedApp',
      with: (headers: readonly Spec[]) => ({ ...app, healthCheck: { headers } }),
      only: (headers: readonly Spec[]) => ({ healthCheck: { headers } }),
      of: ({ healthCheck }: Spec) => (healthCheck as Spec | undefined)?.['headers'],
    },
    {
      list: '.inputs',
      kind: 'SolutionInstallation',
      with: (inputs: readonly Spec[]) => ({ solution: 's', appName: 'a', region: 'r', inputs }),
      only: (inputs: readonly Spec[]) => ({ inputs }),
      of: ({ inputs }: Spec) => inputs,
    },
  ] as const;

  /** The lists of a spec whose items have keys. */
  function keyedLists(node: Structural, path: string): readonly string[] {
    const below = Object.entries(node.properties ?? {}).map(([name, child]) => [child, `${path}.${name}`] as const);
    const own = node['x-kubernetes-list-type'] === 'map' ? [path] : [];
    return [...own, ...below.flatMap(([child, at]) => keyedLists(child, at))];
  }

  it('are tried with every list whose items have keys, in specs that can change', () => {
    const lists = kinds
      .filter(({ life }) => life !== 'request')
      .flatMap(({ kind, spec }) => keyedLists(structural(spec, 'spec'), '').map((list) => `${kind} ${list}`));

    expect(shared.map(({ kind, list }) => `${kind} ${list}`).toSorted()).toEqual(lists.toSorted());
  });

  it.each(shared)('each own their items of $list of a $kind', async ({ kind, with: whole, only, of }) => {
    const [a, b, b2] = [
      { name: 'A', value: '1' },
      { name: 'B', ...from('b') },
      { name: 'B', ...from('b2') },
    ];

    await applied(kind, 'team', whole([a]));
    const both = of(await applied(kind, 'platform', only([b])));
    const changed = of(await applied(kind, 'platform', only([b2])));
    const again = of(await applied(kind, 'team', whole([a])));
    const without = of(await applied(kind, 'platform', {}));

    expect([both, changed, again, without]).toEqual([[a, b], [a, b2], [a, b2], [a]]);
  });

  it('each own their addresses of a ContactPoint, and the name is of the one who gave it', async () => {
    await applied('ContactPoint', 'team', { email: { addresses: ['a@example.com'] }, name: 'On call' });

    const both = await applied('ContactPoint', 'platform', { email: { addresses: ['b@example.com'] } });
    const path = `${collection('ContactPoint')}/shared?fieldManager=platform`;
    const stolen = await api.patch(
      path,
      {
        apiVersion: 'apphosting.dev/v1alpha1',
        kind: 'ContactPoint',
        metadata: { name: 'shared' },
        spec: { name: 'Ours' },
      },
      'application/apply-patch+yaml',
    );

    expect(both).toEqual({ email: { addresses: ['a@example.com', 'b@example.com'] }, name: 'On call' });
    expect([stolen.status, messageOf(stolen)]).toEqual([409, expect.stringContaining('.spec.name')]);
  });
});

async function setStatus(kind: string, name: string, conditions: readonly object[], more: object = {}): Promise<void> {
  const answer = await api.patch(`${collection(kind)}/${name}/status`, { status: { conditions, ...more } });
  expect(answer.status).toBe(200);
}

describe('samples', () => {
  beforeEach(moveIntoOwnNamespace);

  it.each(['samples', 'samples-more'])('in deploy/%s are accepted', async (folder) => {
    const manifests = await manifestsIn(join(root, 'deploy', folder));

    const answers = await Promise.all(manifests.map(async (manifest) => [manifest.kind, await dryRun(manifest)]));

    expect(answers).toEqual(manifests.map(({ kind }) => [kind, 201]));
  });

  it.each(['samples', 'samples-more'])(
    'in deploy/%s are the same once applied, so that no tool fights',
    async (folder) => {
      const isShared = ({ kind }: Manifest) => kinds.some((one) => one.kind === kind && one.scope === 'Cluster');
      for (const manifest of await manifestsIn(join(root, 'deploy', folder))) {
        await applied(manifest);
        // The default of status is stored by the first write after the creation.
        const before = await applied(manifest);
        const after = await applied(manifest);

        expect(after).toEqual(before);
        expect(after['spec']).toEqual(manifest['spec']);
        if (isShared(manifest)) await api.delete(`${collection(manifest.kind)}/${manifest.metadata.name}`);
      }
    },
  );

  /** Applies a manifest as GitOps tools do. */
  async function applied(manifest: Manifest): Promise<Manifest> {
    const place = manifest.kind === 'Secret' ? `/api/v1/namespaces/${namespace}/secrets` : collection(manifest.kind);
    const path = `${place}/${manifest.metadata.name}?fieldManager=gitops&fieldValidation=Strict`;
    const placed = { ...manifest, metadata: { ...manifest.metadata, namespace: undefined } };
    const answer = await api.patch(path, placed, 'application/apply-patch+yaml');
    expect([answer.status < 300, messageOf(answer)]).toEqual([true, 'undefined']);
    return answer.body as Manifest;
  }

  async function dryRun(manifest: Manifest): Promise<number> {
    const path = manifest.kind === 'Secret' ? `/api/v1/namespaces/${namespace}/secrets` : collection(manifest.kind);
    return (await api.post(`${path}?dryRun=All&fieldValidation=Strict`, manifest)).status;
  }
});

describe.each(verdicts)('the API server', (verdict) => {
  const { kind, accepted, refused, changes } = verdict;

  it.each(accepted)(`accepts a ${kind}: $because`, async ({ spec }) => {
    const answer = await create(kind, spec, 'a-name', '&dryRun=All');

    expect([answer.status, messageOf(answer)]).toEqual([201, 'undefined']);
    // A default that is written into a spec would be a difference to every tool that applies it.
    expect((answer.body as { spec: Spec }).spec).toEqual(JSON.parse(JSON.stringify(spec)));
  });

  it.each(refused)(`refuses a ${kind}: $because`, async ({ spec, says }) => {
    const answer = await create(kind, spec, 'a-name', '&dryRun=All');

    expect([400, 422]).toContain(answer.status);
    expect(messageOf(answer)).toContain(says);
  });

  it(`refuses a ${kind} that breaks any bound of any field, and names the path`, async () => {
    const told: string[] = [];
    for (const { because, spec, at } of brokenOf(verdict)) {
      const answer = await create(kind, spec, 'a-name', '&dryRun=All');
      if (answer.status < 400 || !messageOf(answer).includes(at)) told.push(`${because}: ${messageOf(answer)}`);
    }

    expect(told).toEqual([]);
  });

  it.each(changes)(`judges a change of a ${kind}: $because`, async ({ from, to, says }) => {
    const name = unusedName();
    const before = await create(kind, from, name);
    expect([before.status, messageOf(before)]).toEqual([201, 'undefined']);

    const answer = await api.patch(
      `${collection(kind)}/${name}?dryRun=All`,
      [{ op: 'replace', path: '/spec', value: to }],
      'application/json-patch+json',
    );

    expect(answer.status).toBe(says === undefined ? 200 : 422);
    if (says !== undefined) expect(messageOf(answer)).toContain(says);
    if (collection(kind).includes('cluster')) await api.delete(`${collection(kind)}/${name}`);
  });
});
