import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { aPost, startOperator, withoutLease, type OperatorProcess, type Post } from './support/operator-process.ts';
import { spoilingProxy, type SpoilingProxy } from './support/spoiling-proxy.ts';
import { Tenant } from './support/tenant.ts';

/* What the service does to the calls of some namespaces is nothing to the others. */

const mail = { email: { addresses: ['ops@example.com'] } };
/** Together they have more calls under way than there are workers, with the default budget of four each. */
const hungTenants = 10;
const underWay = 4 * hungTenants;
const rounds = 3;

const plane = sharedKubernetes();
const api = connect(plane);
let service: HostingService;
let proxy: SpoilingProxy;
let post: Post;
let operator: OperatorProcess;

beforeAll(async () => {
  service = await startHostingService();
  proxy = await spoilingProxy(service.url);
  post = await aPost(plane, api, 'cluster-wide');
  // None of the hung calls is given up while the others are looked at.
  operator = await startOperator(post, '--call-deadline-seconds', '300', ...withoutLease);
});

afterAll(async () => {
  await proxy.close();
  await operator.end();
  await service.end();
  await api.delete(`/api/v1/namespaces/${post.namespace}`);
  await api.close();
});

/** A tenant with the default budget whose account is Ready; its requests go through the proxy. */
async function aTenant(): Promise<Tenant> {
  const tenant = await Tenant.arrive(api, service, undefined, 'bare');
  await tenant.secret('hosting-credentials', { baseUrl: proxy.url, token: tenant.token });
  const credentialsRef = { name: 'hosting-credentials' };
  await tenant.apply('HostingAccount', 'default', { externalId: tenant.accountId, credentialsRef });
  await tenant.becomes('HostingAccount', 'default', 'True/InSync');
  return tenant;
}

/** The time in ms that one contact point after the other takes until it is Ready, the shortest first. */
async function times(tenant: Tenant, prefix: string): Promise<readonly number[]> {
  const all: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now();
    await tenant.apply('ContactPoint', `${prefix}-${round}`, mail);
    await tenant.becomes('ContactPoint', `${prefix}-${round}`, 'True/InSync');
    all.push(performance.now() - began);
  }
  return all.toSorted((a, b) => a - b);
}

describe('a namespace goes on', () => {
  it('beside some whose service takes their POSTs and answers none', async () => {
    const quiet = await aTenant();
    const hung = await Promise.all(Array.from({ length: hungTenants }, () => aTenant()));
    const alone = await times(quiet, 'alone');
    let [taken, given] = [0, 0];
    const accounts = new Set(hung.map(({ accountId }) => accountId));
    proxy.spoil = (method, _path, body) => {
      const { accountId } = method === 'POST' ? (JSON.parse(body) as { accountId: string }) : { accountId: '' };
      if (!accounts.has(accountId)) return undefined;
      return async ({ socket }) => {
        taken += 1;
        socket.on('close', () => (given += 1));
      };
    };
    const names = Array.from({ length: 8 }, (_, nth) => `hung-${nth}`);
    await Promise.all(hung.flatMap((tenant) => names.map((name) => tenant.apply('ContactPoint', name, mail))));
    await eventually('as many calls hang as the budgets allow', async () => taken >= underWay);

    const beside = await times(quiet, 'beside');

    // Some of them hung all the while.
    expect(given).toBeLessThan(underWay);
    // The one in the middle: one that is slow for other reasons says nothing.
    expect(beside[Math.floor(rounds / 2)]).toBeLessThan(10 * (alone.at(-1) ?? 0));
  });

  it('beside one whose service asks to wait for 31 years, which is told there at once', async () => {
    const [quiet, throttled] = await Promise.all([aTenant(), aTenant()]);
    let asked = 0;
    proxy.spoil = (_method, path) => {
      if (!path.includes(throttled.accountId)) return undefined;
      return async ({ socket }) => {
        asked += 1;
        socket.end('HTTP/1.1 429 Slow Down\r\nretry-after: 1000000000\r\ncontent-length: 2\r\n\r\n{}');
      };
    };
    await throttled.apply('ContactPoint', 'waits', mail);
    const said = await throttled.becomes('ContactPoint', 'waits', 'False/Throttled');
    const account = async () =>
      (await throttled.condition('HostingAccount', 'default', 'Throttled'))?.status === 'True';
    await eventually('the account says so', account);

    await quiet.apply('ContactPoint', 'beside', mail);
    await quiet.becomes('ContactPoint', 'beside', 'True/InSync');

    expect(said).toMatch(/requests wait until 20/u);
    expect(asked).toBeLessThan(5);
  });
});
