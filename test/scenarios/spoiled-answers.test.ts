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

const count = 60;
const stormMs = 3_000;

/** The contact points whose first request was spoiled. */
const met = new Set<string>();

/**
 * The first request to create each contact point is spoiled, in a way of its own. Meanwhile everything else meets two storms, of
 * answers of 401 and of 429, for some seconds each: until the account is read again after the first, nothing else is sent.
 */
function everythingAtOnce(): SpoilingProxy['spoil'] {
  let begunAt: number | undefined;
  return (method, _path, body) => {
    const [, nth] = /"name":"cp-(\d+)"/u.exec(body) ?? [];
    if (method === 'POST' && nth !== undefined && !met.has(nth)) {
      met.add(nth);
      return names[Number(nth) % names.length];
    }
    if (met.size < count / 2) return undefined;
    begunAt ??= Date.now();
    const sinceMs = Date.now() - begunAt;
    return sinceMs < stormMs ? 'unauthorized' : sinceMs < 2 * stormMs ? 'throttled' : undefined;
  };
}

describe('sixty answers that are spoiled at once, each on a resource of its own', () => {
  it('neither double nor lose anything, and lead nowhere else', async () => {
    const tenant = await Tenant.arrive(api, service, post.namespace);
    await tenant.secret('hosting-credentials', { baseUrl: proxy.url, token: tenant.token });
    const budget = { requestsPerSecond: 100, concurrency: 50 };
    const credentialsRef = { name: 'hosting-credentials' };
    await tenant.apply('HostingAccount', 'default', {
      externalId: tenant.accountId,
      credentialsRef,
      pollSeconds: 10,
      budget,
    });
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    const all = Array.from({ length: count }, (_, n) => n);

    proxy.spoil = everythingAtOnce();
    await Promise.all(all.map((n) => tenant.apply('ContactPoint', `cp-${n}`, email)));
    await eventually('each met its own', async () => met.size === count, 200_000);
    const { mostAtOnce } = proxy;
    proxy.spoil = () => undefined;
    // What looks like a refusal of the service is asked for again by whoever mended the proxy.
    const ask = (n: number, token: string) =>
      tenant.apply('ContactPoint', `cp-${n}`, email, { 'apphosting.dev/reconcile-at': token });
    await Promise.all(all.map((n) => ask(n, 'mended')));

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
    expect(names.every((name) => proxy.taken.has(name))).toBe(true);
    expect(mostAtOnce).toBeGreaterThan(10);
    expect(await tenant.commits('contactPoint.created')).toBe(count);
    expect((await tenant.contactPoints()).map(({ name }) => name).toSorted()).toEqual(
      all.map((n) => `cp-${n}`).toSorted(),
    );
    expect(proxy.trapped).toEqual([]);
    expect(await tenant.everythingWritten()).not.toContain(tenant.token);
  });
});
