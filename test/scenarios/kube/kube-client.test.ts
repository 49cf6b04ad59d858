import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { things } from '../../kube/example.ts';
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

  it('asks what others may do', async () => {
    const action = { verb: 'list', group: things.group, resource: 'things/status', namespace };

    expect(await api.isAllowed({ user: 'nobody', groups: ['a'] }, action)).toBe(false);
    expect(await api.isAllowed({ user: 'root', groups: ['system:masters'] }, action)).toBe(true);
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
