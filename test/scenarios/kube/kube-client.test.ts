import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { ClassedApi } from '../../../src/kube/client/api-classes.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { KubeTransport, usualLimits } from '../../../src/kube/client/transport.ts';
import { findCredentials } from '../../../src/kube/credentials/credentials.ts';
import { present, thing, things } from '../../kube/example.ts';
import { realClock } from '../../support/real-time.ts';
import { defineThings, kubeAt, kubeconfigText, ownNamespace } from '../support/kube.ts';
import { sharedKubernetes } from '../support/kubernetes.ts';

let api: KubeClient;
let namespace: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  api = await kubeAt(sharedKubernetes().kubeconfigPath);
  await defineThings(api);
  ({ name: namespace, remove } = await ownNamespace(api));
});

afterAll(async () => {
  await remove();
  await api.close();
});

/** The server told its time since then; it tells whole seconds. */
function expectTold(date: { readonly dateMs: number } | undefined, since: number): void {
  expect(date?.dateMs).toBeGreaterThan(since - 1_000);
  expect(date?.dateMs).toBeLessThanOrEqual(Date.now());
}

describe('the client', () => {
  it('knows the version and the clock of the API server', async () => {
    const before = Date.now();

    const version = await api.serverVersion();

    expect(version).toEqual({ text: expect.stringMatching(/^v1\.\d+/), supported: true });
    expectTold(api.serverDate(), before);
  });

  it('says what somebody else on whose behalf we ask may not do', async () => {
    const { url, ca, adminToken } = sharedKubernetes();
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    const file = join(folder.dir, 'nobody');
    await writeFile(
      file,
      kubeconfigText({ url, ca, user: { token: adminToken, as: 'nobody', 'as-groups': ['a', 'b'] } }),
    );
    const nobody = await kubeAt(file);
    onTestFinished(() => nobody.close());

    const refused = nobody.list(things, { limit: 1 });
    await expect(refused).rejects.toMatchObject({ reason: 'forbidden', message: expect.stringContaining('"nobody"') });
  });

  it('trusts what the kubeconfig says and nothing else', async () => {
    const { url, ca, adminToken } = sharedKubernetes();
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    const asked = async (name: string, cluster: object): Promise<string> => {
      const file = join(folder.dir, name);
      await writeFile(file, kubeconfigText({ url, ca, user: { token: adminToken }, cluster }));
      const client = await kubeAt(file);
      onTestFinished(() => client.close());
      return client.list(things, { limit: 1 }).then(
        () => 'trusted',
        (error: unknown) => (error instanceof Error ? error.message : ''),
      );
    };
    const noCa = { 'certificate-authority-data': undefined };

    expect(await asked('as-it-is', {})).toBe('trusted');
    expect(await asked('other-name', { 'tls-server-name': 'kubernetes' })).toBe('trusted');
    expect(await asked('wrong-name', { 'tls-server-name': 'example.com' })).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await asked('no-authority', noCa)).toMatch(/listing things: no answer from .*\(.*SELF_SIGNED.*\)/);
    expect(await asked('insecure', { ...noCa, 'insecure-skip-tls-verify': true })).toBe('trusted');
  });

  it('is told that a wrong token is wrong, and does not say which one it was', async () => {
    const { url, ca } = sharedKubernetes();
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    const file = join(folder.dir, 'wrong');
    await writeFile(file, kubeconfigText({ url, ca, user: { token: 'planted-token-value' } }));
    const stranger = await kubeAt(file);
    onTestFinished(() => stranger.close());

    const error: unknown = await stranger.list(things, { limit: 1 }).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ reason: 'unauthorized' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('planted-token-value');
  });
});

/** The API of the commands for people, for the cluster of a kubeconfig. */
async function commandsAt(kubeconfig: string): Promise<ClassedApi> {
  const credentials = await findCredentials({ clock: realClock, env: {}, kubeconfig });
  const api = new ClassedApi(new KubeTransport(credentials, realClock, usualLimits));
  onTestFinished(() => api.close());
  return api;
}

describe('the API classes of the commands', () => {
  const secrets = { group: '', version: 'v1', plural: 'secrets', namespaced: true };
  const definitions = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

  it('read what the operator reads, page by page, and write what it reads', async () => {
    const before = Date.now();
    const commands = await commandsAt(sharedKubernetes().kubeconfigPath);
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'classed' }, data: { token: 'bWFkZSB1cA==' } };
    for (const name of ['classed-a', 'classed-b']) await api.create(things, namespace, thing(name));
    await api.create(secrets, namespace, secret);

    await commands.patch(things, namespace, 'classed-a', [{ op: 'replace', path: '/spec/size', value: 7 }]);

    const known = present(await api.get(things, namespace, 'classed-a'));
    expect(known.spec).toEqual({ size: 7 });
    expect(await commands.get(things, namespace, 'classed-a')).toEqual(known);
    expect((await commands.get(secrets, namespace, 'classed'))?.['data']).toEqual(secret.data);
    const name = 'things.contract.apphosting.dev';
    expect((await commands.get({ ...definitions, namespaced: false }, undefined, name))?.metadata.name).toBe(name);
    const { items } = await api.list(things, { limit: 500, namespace });
    const first = await commands.list(things, { limit: 1, namespace });
    expect(first.items).toEqual(items.slice(0, 1));
    const next = await commands.list(things, { limit: 1, namespace, continue: first.continue ?? '' });
    expect(next.items).toEqual(items.slice(1, 2));
    expect((await commands.list(things, { limit: 500 })).items).toContainEqual(known);
    expectTold(commands.serverDate(), before);
  });

  it('say what is not there, what is refused and what does not fit as the operator does', async () => {
    const { kubeconfigPath, url, ca, adminToken } = sharedKubernetes();
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    const file = join(folder.dir, 'nobody');
    await writeFile(file, kubeconfigText({ url, ca, user: { token: adminToken, as: 'nobody' } }));
    const [commands, nobody] = [await commandsAt(kubeconfigPath), await commandsAt(file)];
    const unknown = { ...things, plural: 'nothings' };
    const patch = [{ op: 'test', path: '/spec/size', value: 'no such size' }] as const;
    const said = (asked: Promise<unknown>) =>
      asked.then(
        () => 'nothing',
        (error: unknown) => error,
      );

    for (const name of ['absent', 'classed-refused'])
      expect(await commands.get(things, namespace, name)).toBeUndefined();
    await api.create(things, namespace, thing('classed-refused'));

    expect(await said(commands.get(unknown, namespace, 'a'))).toEqual(await said(api.get(unknown, namespace, 'a')));
    expect(await said(commands.patch(things, namespace, 'classed-refused', patch))).toEqual(
      await said(api.patch(things, namespace, 'classed-refused', patch)),
    );
    expect(await said(nobody.list(things, { limit: 1 }))).toMatchObject({ reason: 'forbidden' });
    const mayNot = { verb: 'list', group: things.group, resource: 'things/status', namespace };
    expect(await commands.isAllowed({ user: 'nobody', groups: ['a'] }, mayNot)).toBe(false);
    expect(await commands.isAllowed({ user: 'root', groups: ['system:masters'] }, mayNot)).toBe(true);
  });
});
