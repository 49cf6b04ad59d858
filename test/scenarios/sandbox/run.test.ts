import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
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

describe('apphosting run', () => {
  it('says in one line that permissions of its own namespace are missing', async () => {
    const admin = apiOf(sharedKubernetes());
    const post = await aPost(sharedKubernetes(), admin, 'cluster-wide');
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${post.namespace}/rolebindings/apphosting-operator-own`;
    expect((await admin.delete(path)).status).toBe(200);

    const own = ['--kubeconfig', post.kubeconfigPath, '--operator-namespace', post.namespace];
    const running = startProgram(['run', '--metrics-listen', '127.0.0.1:0', ...own]);
    onTestFinished(running.end);

    expect(await running.ended).toBe(1);
    expect(running.output()).toMatch(/^apphosting run: [^\n]+kubectl apply -k deploy\/kustomize[^\n]*\n$/);
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
