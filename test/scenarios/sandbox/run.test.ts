import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { kubeconfigFor } from '../../../src/sandbox/control-plane/credentials.ts';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { apiOf, connect, eventually, sharedKubernetes } from '../support/kubernetes.ts';
import { startHostingService, type HostingService } from '../support/hosting-service.ts';
import { aPost, startOperator } from '../support/operator-process.ts';
import { startProgram } from '../support/running.ts';
import { Tenant } from '../support/stages/tenant.ts';

const api = connect(sharedKubernetes());
let service: HostingService;

beforeAll(async () => {
  service = await startHostingService();
});

afterAll(async () => {
  await service.end();
  await api.close();
});

/** Runs the operator to its end. */
async function ran(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const running = startProgram(['run', '--metrics-listen', '127.0.0.1:0', ...args]);
  onTestFinished(running.end);
  const code = await running.ended;
  return { code, output: running.output() };
}

/** A kubeconfig in a file of its own. */
async function kubeconfig(text: string): Promise<string> {
  const folder = await temporaryFolder('tests');
  onTestFinished(folder.release);
  const path = join(folder.dir, 'kubeconfig');
  await writeFile(path, text);
  return path;
}

const oneLine = /^apphosting run: [^\n]+\n$/;

describe('apphosting run', () => {
  it('refuses a wrong flag in one line', async () => {
    const { code, output } = await ran('--horizon-seconds', 'soon');

    expect(code).toBe(64);
    expect(output).toMatch(oneLine);
    expect(output).toContain('--horizon-seconds');
  });

  it('says in one line that there is no kubeconfig', async () => {
    const { code, output } = await ran('--kubeconfig', '/does/not/exist');

    expect(code).toBe(1);
    expect(output).toMatch(oneLine);
    expect(output).toContain('kubeconfig /does/not/exist cannot be read (ENOENT)');
  });

  it('says in one line that no cluster answers', async () => {
    const { ca } = sharedKubernetes();
    const path = await kubeconfig(kubeconfigFor('https://127.0.0.1:9', ca, 'nobody', 'nothing'));

    const { code, output } = await ran('--kubeconfig', path);

    expect(code).toBe(1);
    expect(output).toMatch(oneLine);
    expect(output).toContain('cannot be used');
  });

  it('says in one line that its credentials are not accepted', async () => {
    const { url, ca } = sharedKubernetes();
    const path = await kubeconfig(kubeconfigFor(url, ca, 'nobody', 'nothing'));

    const { code, output } = await ran('--kubeconfig', path);

    expect(code).toBe(1);
    expect(output).toMatch(oneLine);
    expect(output).toContain('renew the kubeconfig');
  });

  it.each([
    ['of all that it watches', async () => {}],
    [
      'of its own namespace',
      async (namespace: string, admin: ReturnType<typeof apiOf>) => {
        const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings/apphosting-operator-own`;
        expect((await admin.delete(path)).status).toBe(200);
      },
    ],
  ])('says in one line that permissions %s are missing', async (_which, take) => {
    const admin = apiOf(sharedKubernetes());
    const isOwn = _which.includes('own');
    const post = await aPost(sharedKubernetes(), admin, isOwn ? 'cluster-wide' : 'namespaced');
    await take(post.namespace, admin);

    const { code, output } = await ran('--kubeconfig', post.kubeconfigPath, '--operator-namespace', post.namespace);

    expect(code).toBe(1);
    expect(output).toMatch(oneLine);
    expect(output).toContain('kubectl apply -k deploy/kustomize');
  });

  it('answers its probes, drains on SIGTERM and hands the lease over', async () => {
    const post = await aPost(sharedKubernetes(), api, 'namespaced');
    // So long that a machine which stands still for a while costs nobody the lease.
    const flags = ['--namespace', post.namespace, '--leader-elect', 'on', '--lease-seconds', '30'];
    const [first, second] = [await startOperator(post, ...flags), await startOperator(post, ...flags)];
    onTestFinished(first.end);
    onTestFinished(second.end);
    const tenant = await Tenant.arrive(api, service, post.namespace);
    await tenant.openAccount();
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    await eventually('it is ready', async () => (await first.probe('/readyz')).status === 200);
    expect((await first.probe('/healthz')).text).toBe('ok\n');
    expect((await first.probe('/metrics')).text).toContain('apphosting_objects{kind="HostingAccount"');
    const match = { method: 'POST', path: '/contact-point' };
    await service.control('POST', '/faults', { match, effect: { delayMs: 3_000 } });
    await tenant.apply('ContactPoint', 'ops', { email: { addresses: ['ops@example.com'] } });
    await eventually('the create is under way', () => tenant.hasBegun('ContactPoint', 'ops'));

    const [leader, standby] = first.output().includes('this replica acts') ? [first, second] : [second, first];
    leader.signal('SIGTERM');
    expect(await leader.ended).toBe(0);
    const idAtTheEnd = await tenant.status('ContactPoint', 'ops', 'externalId');
    await eventually('the other takes over', async () => standby.output().includes('this replica acts'));

    expect(idAtTheEnd).toEqual(expect.any(String));
    expect(standby.output()).toContain('"takeOver":false');
    expect(await tenant.commits('contactPoint.created')).toBe(1);
    await tenant.clear();
  });
});
