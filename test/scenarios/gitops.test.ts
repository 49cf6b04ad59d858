import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { eventually, kubectl } from './support/kubernetes.ts';
import { aStage } from './support/stages/stage.ts';
import type { Held, Manifest, Team } from './support/stages/team.ts';

/* One operator for the whole cluster; each team has a namespace and a service of its own, and all of them live side by side. */

const { plane, api, aTeam } = aStage();

const ours = (manifests: readonly Manifest[]) => manifests.filter(({ kind }) => kind !== 'Secret');
const goldenPath = 'deploy/samples-more/golden-path';

/** The folder of the golden path, applied and Ready, with the environments that only the console can make. */
async function goldenPathOf(team: Team): Promise<readonly Manifest[]> {
  const manifests = await team.manifests(goldenPath);
  for (const manifest of manifests) await team.apply(manifest);
  const apps = manifests.filter(({ kind }) => kind === 'HostedApp');
  await team.until('True/', apps);
  for (const app of apps) {
    const appId = (await team.get(app))?.status?.['externalId'];
    await team.control('POST', '/environments', { appId, name: 'production', region: 'eu-west' });
  }
  for (const environment of manifests.filter(({ kind }) => kind === 'AppEnvironment'))
    await team.annotate(environment, 'apphosting.dev/reconcile-at', 'now');
  await team.until('True/', ours(manifests));
  return manifests;
}

function shuffled(items: readonly Manifest[], seed: number): readonly Manifest[] {
  const entropy = new SeededEntropy(seed);
  return items
    .map((item) => [entropy.fraction(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}

const first = (items: readonly Manifest[], kind: string) =>
  items.toSorted((a, b) => Number(b.kind === kind) - Number(a.kind === kind));

const orders: Readonly<Record<string, (items: readonly Manifest[]) => readonly Manifest[]>> = {
  'the account first': (items) => first(items, 'HostingAccount'),
  'both Secrets first': (items) => first(items, 'Secret'),
  shuffled: (items) => shuffled(items, 11),
};

/** What an object says about why it is still there. */
function wordsOf({ kind, metadata, status }: Held): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return `${kind} ${metadata.name}: ${ready?.message ?? 'nothing'}`;
}

describe.concurrent('a folder that is pruned object by object', () => {
  it.each(Object.entries(orders))('comes to its end: %s', async (_name, order) => {
    const team = await aTeam();
    const manifests = await goldenPathOf(team);

    for (const manifest of order(manifests)) expect((await team.delete(manifest)).status).toBe(200);

    await eventually('everything goes', async () => (await team.left()).length === 0);
    const deleted = (await team.commits()).filter((kind) => kind.endsWith('.deleted'));
    expect(deleted.toSorted()).toEqual(['alert.deleted', 'contactPoint.deleted']);
  });

  it('says what holds it when only the Secret is taken away, and the annotation it names lets go', async () => {
    const team = await aTeam();
    const manifests = await goldenPathOf(team);
    const secret = { kind: 'Secret', metadata: { name: 'hosting-credentials' } };
    const account = { kind: 'HostingAccount', metadata: { name: 'default' } };
    const others = ours(manifests).filter(({ kind }) => kind !== account.kind);

    await team.delete(secret);
    await team.until('False/SecretMissing', [account]);
    for (const manifest of others) await team.delete(manifest);
    const held = async () => (await team.left()).filter(({ kind }) => kind !== account.kind);
    await eventually('each that is left names the Secret and the way out', async () => {
      const words = (await held()).map(wordsOf);
      return (
        words.length > 0 && words.every((line) => /hosting-credentials.*apphosting\.dev\/on-delete=Retain/u.test(line))
      );
    });

    for (const object of await held()) {
      const [, name = '', value = ''] = /set its annotation (\S+)=(\w+)/u.exec(wordsOf(object)) ?? [];
      await team.annotate(object, name, value);
    }
    await eventually('they go', async () => (await held()).length === 0);
    await team.delete(account);
    await eventually('everything goes', async () => (await team.left()).length === 0);
  });
});

/** What `kubectl diff` says of a folder: nothing is what it should be. */
async function diff(namespace: string, how: string, folder: string): Promise<string> {
  const args = ['--kubeconfig', plane.kubeconfigPath, '-n', namespace, 'diff', how, '-f', folder];
  return promisify(execFile)(plane.binaries.kubectl, args).then(
    ({ stdout }) => stdout,
    // It ends with 1 when there is a difference, and with more when it failed.
    (error: Error & { stdout: string; code: number }) => (error.code === 1 ? error.stdout : Promise.reject(error)),
  );
}

/** Waits until there is no difference: while the operator writes a status, the two reads of `kubectl diff` may differ in that. */
async function hasNoDiff(namespace: string, how: string, folder: string): Promise<void> {
  let last = '';
  const isSame = async (): Promise<boolean> => {
    last = await diff(namespace, how, folder);
    return last === '';
  };
  await eventually('there is no diff', isSame).catch(() => expect(last).toBe(''));
}

describe.concurrent('every sample', () => {
  it.each([
    ['--server-side', ['deploy/samples', 'deploy/samples-more']],
    ['--server-side=false', ['deploy/samples', 'deploy/samples-more']],
    ['--server-side', [goldenPath]],
  ])('has no diff after apply %s: %o', async (how, folders) => {
    const team = await aTeam();
    const samples = (await team.manifests(...folders)).map((sample) =>
      sample.kind === 'ClusterHostingAccount' ? { ...sample, metadata: { name: team.namespace } } : sample,
    );
    const folder = await team.folder(samples);

    await kubectl(plane, '-n', team.namespace, 'apply', how, '-f', folder.path);
    const looked = async (sample: Manifest) => {
      const held = await team.get(sample);
      return held?.status?.['observedGeneration'] === held?.metadata.generation;
    };
    await eventually('the operator has looked at each', async () =>
      (await Promise.all(ours(samples).map(looked))).every(Boolean),
    );

    expect(new Set(samples.map(({ kind }) => kind)).size).toBe(folders.includes(goldenPath) ? 7 : kinds.length + 1);
    await hasNoDiff(team.namespace, how, folder.path);
    expect(await kubectl(plane, '-n', team.namespace, 'apply', how, '-f', folder.path)).not.toContain('created');
    await hasNoDiff(team.namespace, how, folder.path);
    await team.delete({ kind: 'ClusterHostingAccount', metadata: { name: team.namespace } });
    await folder.remove();
  });

  it('shows a change in the diff, and no more after it is applied', async () => {
    const team = await aTeam();
    const written = (threshold: number): Manifest => ({
      apiVersion: 'apphosting.dev/v1alpha1',
      kind: 'MetricAlert',
      metadata: { name: 'web-cpu' },
      spec: {
        environmentRef: { externalId: 'env_web_prod' },
        metric: 'cpu_percent',
        operator: 'GreaterThan',
        threshold,
        duration: '10m',
        contactPointRefs: [{ name: 'on-call' }],
      },
    });
    const [before, after] = [await team.folder([written(85)]), await team.folder([written(90)])];

    await kubectl(plane, '-n', team.namespace, 'apply', '-f', before.path);
    expect(await diff(team.namespace, '--server-side=false', after.path)).toMatch(/^\+\s+threshold: 90$/mu);
    await kubectl(plane, '-n', team.namespace, 'apply', '-f', after.path);
    expect(await diff(team.namespace, '--server-side=false', after.path)).toBe('');
    await Promise.all([before.remove(), after.remove()]);
  });
});

describe.concurrent('an object that others write, too', () => {
  it('is shared by three field managers and the operator without a fight', async () => {
    const team = await aTeam();
    const manifests = await team.manifests('deploy/samples');
    const wanted = manifests.filter(({ metadata }) =>
      ['hosting-credentials', 'default', 'on-call'].includes(metadata.name),
    );
    for (const manifest of wanted) await team.apply(manifest);
    await team.until('True/', ours(wanted));
    const onCall = { apiVersion: 'apphosting.dev/v1alpha1', kind: 'ContactPoint', metadata: { name: 'on-call' } };
    const apply = (manager: string, metadata: object) =>
      api.patch(
        `${team.path(onCall)}?fieldManager=${manager}`,
        { ...onCall, metadata: { ...onCall.metadata, ...metadata } },
        'application/apply-patch+yaml',
      );

    expect((await apply('cost-tool', { labels: { team: 'a' } })).status).toBe(200);
    expect((await apply('people', { annotations: { 'apphosting.dev/reconcile-at': 'now' } })).status).toBe(200);
    await eventually(
      'the token is acknowledged',
      async () => (await team.get(onCall))?.status?.['lastHandledReconcileAt'] === 'now',
    );

    for (const manifest of wanted) await team.apply(manifest);
    const { body } = await api.get(team.path(onCall));
    expect(body).toMatchObject({
      metadata: { labels: { team: 'a' }, annotations: { 'apphosting.dev/reconcile-at': 'now' } },
    });
    const { managedFields } = (body as { metadata: { managedFields: readonly { manager: string }[] } }).metadata;
    expect(new Set(managedFields.map(({ manager }) => manager))).toEqual(
      new Set(['gitops', 'cost-tool', 'people', 'apphosting-operator']),
    );
  });

  it('goes from client-side to server-side apply of kubectl and back, and the operator keeps its finalizer', async () => {
    const team = await aTeam();
    const manifests = await team.manifests('deploy/samples');
    const wanted = manifests.filter(({ metadata }) =>
      ['hosting-credentials', 'default', 'on-call'].includes(metadata.name),
    );
    const folder = await team.folder(wanted);
    const onCall = { apiVersion: 'apphosting.dev/v1alpha1', kind: 'ContactPoint', metadata: { name: 'on-call' } };
    const held = async () => (await api.get(team.path(onCall))).body as Shared;

    for (const how of ['--server-side=false', '--server-side', '--server-side=false']) {
      await kubectl(plane, '-n', team.namespace, 'apply', how, '-f', folder.path);
      await team.until('True/', ours(wanted));
      await kubectl(
        plane,
        '-n',
        team.namespace,
        'annotate',
        '--overwrite',
        'contactpoint/on-call',
        `who=${how.length}`,
      );

      const { finalizers, managedFields } = (await held()).metadata;
      const ownerOf = managedFields.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('f:finalizers'));
      expect(finalizers, how).toHaveLength(1);
      expect(
        ownerOf.map(({ manager }) => manager),
        how,
      ).toEqual(['apphosting-operator']);
      expect(await diff(team.namespace, how, folder.path), how).toBe('');
    }

    await folder.remove();
    for (const manifest of wanted.toReversed()) await team.delete(manifest);
    await eventually('everything goes', async () => (await team.left()).length === 0);
  });
});

interface Shared {
  readonly metadata: {
    readonly finalizers?: readonly string[];
    readonly managedFields: readonly { readonly manager: string; readonly fieldsV1: unknown }[];
  };
}
