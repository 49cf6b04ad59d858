import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { aPost, startOperator, type OperatorProcess, type Post } from './support/operator-process.ts';
import { spoilingProxy, spoils, type SpoilingProxy } from './support/spoiling-proxy.ts';
import { Tenant } from './support/tenant.ts';

/* What lies between the operator and the service spoils the answers, on real sockets; the ledger of the service is the judge. */

const email = { email: { addresses: ['ops@example.com'] } };
const plane = sharedKubernetes();
const api = connect(plane);
const names = Object.keys(spoils);
let service: HostingService;
let proxy: SpoilingProxy;
let post: Post;
let operator: OperatorProcess;

beforeAll(async () => {
  service = await startHostingService();
  proxy = await spoilingProxy(service.url);
  post = await aPost(plane, api, 'namespaced');
  operator = await startOperator(
    post,
    '--namespace',
    post.namespace,
    '--horizon-seconds',
    '5',
    '--leader-elect',
    'off',
  );
});

afterAll(async () => {
  await operator.end();
  await proxy.close();
  await service.end();
  await api.delete(`/api/v1/namespaces/${post.namespace}`);
  await api.close();
});

/** Each way in turn, on every write and on every fifth read; what takes long only while the first ones are made. */
function inTurn(): SpoilingProxy['spoil'] {
  let writes = 0;
  let reads = 0;
  return (method) => {
    if (method !== 'GET') return names[writes++ % names.length];
    return reads++ % 5 === 4 ? names[Math.floor(reads / 5) % names.length] : undefined;
  };
}

describe('answers that are spoiled on their way in every way', () => {
  it('neither double nor lose anything, and lead nowhere else', async () => {
    const tenant = await Tenant.arrive(api, service, post.namespace);
    await tenant.secret('hosting-credentials', { baseUrl: proxy.url, token: tenant.token });
    const budget = { requestsPerSecond: 50, concurrency: 8 };
    const credentialsRef = { name: 'hosting-credentials' };
    await tenant.apply('HostingAccount', 'default', {
      externalId: tenant.accountId,
      credentialsRef,
      pollSeconds: 10,
      budget,
    });
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    const all = names.map((_, n) => n);

    proxy.spoil = inTurn();
    for (const n of all) await tenant.apply('ContactPoint', `cp-${n}`, email);
    const isTaken = (): Promise<boolean> => Promise.resolve(names.every((name) => proxy.taken.has(name)));
    await eventually('every way was taken', isTaken, 150_000);
    proxy.spoil = () => undefined;
    // What looks like a refusal of the service is asked for again by whoever mended the proxy.
    const ask = (n: number, token: string) =>
      tenant.apply('ContactPoint', `cp-${n}`, email, { 'apphosting.dev/reconcile-at': token });
    for (const n of all) await ask(n, 'mended');

    for (const n of all) {
      let asked = 0;
      const isMade = async (): Promise<boolean> => {
        const ready = await tenant.condition('ContactPoint', `cp-${n}`, 'Ready');
        // A call that was under way when the proxy was mended may have been refused after that.
        if (ready?.reason === 'Rejected') await ask(n, `mended ${(asked += 1)}`);
        return ready?.status === 'True';
      };
      await eventually(`cp-${n} is made`, isMade, 200_000);
    }
    expect(await tenant.commits('contactPoint.created')).toBe(all.length);
    expect((await tenant.contactPoints()).map(({ name }) => name).toSorted()).toEqual(
      all.map((n) => `cp-${n}`).toSorted(),
    );
    expect(proxy.trapped).toEqual([]);
    expect(await tenant.everythingWritten()).not.toContain(tenant.token);
  });
});
