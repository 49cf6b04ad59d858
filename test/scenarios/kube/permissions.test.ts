import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { kinds } from '../../../src/kinds/index.ts';
import { withKustomization } from '../../support/kustomization.ts';
import { auditOf, type Audited } from '../support/audit.ts';
import { type Deployed, deployed } from '../support/deployed.ts';
import { type Api, apiOf, definedPlane, eventually, type OwnPlane } from '../support/kubernetes.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** A control plane without other operators; what one test installs there, the next one installs in its own way. */
let plane: OwnPlane;

beforeAll(async () => {
  plane = await definedPlane({ audit: true });
});

afterAll(() => plane.stop());

interface Sample {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly stringData?: Readonly<Record<string, string>>;
}

interface Held {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  };
}

/** Every sample of the kinds that this operator has. */
async function samples(scope: 'Namespaced' | 'Cluster'): Promise<readonly Sample[]> {
  const known = new Set(['Secret', ...kinds.filter((kind) => kind.scope === scope).map(({ kind }) => kind)]);
  const folders = ['deploy/samples', 'deploy/samples-more'];
  const files = await Promise.all(folders.map(async (folder) => yamlIn(join(root, folder))));
  const texts = await Promise.all(files.flat().map((file) => readFile(file, 'utf8')));
  const documents = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Sample));
  return documents.filter(({ kind }) => known.has(kind));
}

async function yamlIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.yaml')).map((name) => join(folder, name));
}

function pathOf({ kind }: Sample, namespace: string): string {
  if (kind === 'Secret') return `/api/v1/namespaces/${namespace}/secrets`;
  const { plural, scope } = kinds.find((one) => one.kind === kind) ?? { plural: kind, scope: 'Namespaced' };
  const inside = scope === 'Cluster' ? '' : `/namespaces/${namespace}`;
  return `/apis/apphosting.dev/v1alpha1${inside}/${plural}`;
}

/** Applies the samples, asks for a second look at each, and deletes them; each step waits for the operator. */
async function live(api: Api, service: string, namespace: string, all: readonly Sample[]): Promise<void> {
  const ours = all.filter(({ kind }) => kind !== 'Secret');
  const at = (sample: Sample) => `${pathOf(sample, namespace)}/${sample.metadata.name}`;
  for (const sample of all) {
    const stringData = sample.stringData && { ...sample.stringData, baseUrl: service, token: 'demo-admin' };
    const { status } = await api.post(pathOf(sample, namespace), { ...sample, ...(stringData && { stringData }) });
    expect([201, 409]).toContain(status);
  }
  const settled = async (sample: Sample, isSo: (held: Held) => boolean) =>
    eventually(`${sample.kind} ${sample.metadata.name}`, async () => isSo((await api.get(at(sample))).body as Held));
  for (const sample of ours)
    await settled(sample, ({ metadata, status }) => status?.observedGeneration === metadata.generation);

  // The same change again and again is one event with a count.
  for (const round of [1, 2, 3, 4])
    for (const sample of ours.filter(({ kind }) => kind === 'ContactPoint').slice(0, 1)) {
      await api.patch(at(sample), { spec: { name: `Name ${round % 2}` } });
      await settled(sample, ({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === 'Ready');
        return status?.observedGeneration === metadata.generation && ready?.status === 'True';
      });
    }
  for (const sample of ours.toReversed()) {
    await api.patch(at(sample), { metadata: { annotations: { 'apphosting.dev/on-delete': 'Retain' } } });
    await api.delete(at(sample));
  }
  for (const sample of ours)
    await eventually(`${sample.kind} goes`, async () => (await api.get(at(sample))).status === 404);
  // The next test has a service at another address.
  for (const sample of all.filter(({ kind }) => kind === 'Secret')) await api.delete(at(sample));
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** What a role allows, one `group/resource verb` a line. */
async function allowedBy(api: Api, path: string): Promise<readonly string[]> {
  const { body } = await api.get(`/apis/rbac.authorization.k8s.io/v1/${path}`);
  return (body as { rules: readonly Rule[] }).rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((what) => verbs.map((verb) => `${group}/${what} ${verb}`))),
  );
}

const uses = (audited: readonly Audited[]) => new Set(audited.map(({ what, verb }) => `${what} ${verb}`));

/** Allowed, and not seen in a short life; each with the reason why it stays. */
function expectedUnused(line: string): boolean {
  const [what = '', verb = ''] = line.split(' ');
  const plural = what.split('/')[1];
  // Read again only when a write met a conflict at the moment when an id was being recorded.
  if (what.startsWith('apphosting.dev/') && verb === 'get') return true;
  // Read only for a field that names one, and no sample does.
  if (line === '/configmaps get') return true;
  // The definition is installed, and this operator does nothing with it yet.
  return what.startsWith('apphosting.dev/') && !kinds.some((kind) => kind.plural === plural);
}

/** Everything that operators of this ServiceAccount have asked for so far. */
function asked({ user }: Pick<Deployed, 'user'>): Promise<readonly Audited[]> {
  return auditOf(plane.auditLogPath ?? '', user);
}

const refused = (audited: readonly Audited[]) => audited.filter(({ code }) => code === 403);

describe('the permissions of the operator', () => {
  it.each([
    ['', [], 'team-a'],
    [', also when Secrets are not watched', ['secret-watch-off'], 'team-b'],
  ])('are exactly what it uses for the whole cluster%s', async (_also, components, team) => {
    const api = apiOf(plane);
    const before = await asked({ user: 'system:serviceaccount:apphosting-system:apphosting-operator' });
    const operator = await withKustomization({ overlay: 'cluster-wide', components }, (folder) =>
      deployed(plane, api, folder, 'apphosting-system'),
    );
    await api.post('/api/v1/namespaces', { metadata: { name: team } });

    await live(api, operator.simulator.url, team, await samples('Namespaced'));
    const shared = { kind: 'Secret', metadata: { name: 'shared-hosting-credentials' }, stringData: {} };
    await live(api, operator.simulator.url, 'apphosting-system', [
      shared,
      ...(await samples('Cluster')).filter(({ kind }) => kind !== 'Secret'),
    ]);
    await operator.stop();

    const audited = (await asked(operator)).slice(before.length);
    expect(refused(audited)).toEqual([]);
    const own = await allowedBy(api, 'namespaces/apphosting-system/roles/apphosting-operator-own');
    const everywhere = await allowedBy(api, 'clusterroles/apphosting-operator');
    const inOwn = uses(audited.filter(({ namespace }) => namespace === 'apphosting-system'));
    const elsewhere = uses(audited.filter(({ namespace }) => namespace !== 'apphosting-system'));
    expect(own.filter((line) => !inOwn.has(line))).toEqual([]);
    expect(everywhere.filter((line) => !elsewhere.has(line) && !expectedUnused(line))).toEqual([]);
    // The next operator finds nothing that this one has made.
    await api.delete('/api/v1/namespaces/apphosting-system');
    await eventually(
      'its namespace has gone',
      async () => (await api.get('/api/v1/namespaces/apphosting-system')).status === 404,
    );
  });

  it('are exactly what it uses for one namespace', async () => {
    const api = apiOf(plane);
    await api.post('/api/v1/namespaces', { metadata: { name: 'apphosting' } });
    const operator = await deployed(plane, api, 'namespaced', 'apphosting');

    await live(api, operator.simulator.url, 'apphosting', await samples('Namespaced'));
    await operator.stop();

    const audited = await asked(operator);
    expect(refused(audited)).toEqual([]);
    expect(audited.filter(({ namespace }) => namespace !== 'apphosting')).toEqual([]);
    const roles = ['apphosting-operator', 'apphosting-operator-own'];
    const granted = await Promise.all(roles.map((name) => allowedBy(api, `namespaces/apphosting/roles/${name}`)));
    const used = uses(audited);
    expect(granted.flat().filter((line) => !used.has(line) && !expectedUnused(line))).toEqual([]);
  });
});
