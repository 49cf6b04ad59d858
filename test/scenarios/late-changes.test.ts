import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { aPost, startOperator, withoutLease, type OperatorProcess, type Post } from './support/operator-process.ts';
import { spoilingProxy, type SpoilingProxy } from './support/spoiling-proxy.ts';
import { Tenant, type TenantKind } from './support/tenant.ts';

/*
 * A change of what the service never shows is held between operator and service until after the operator has been killed and the next one
 * has sent a newer change.
 */

const plane = sharedKubernetes();
const api = connect(plane);
let service: HostingService;
let proxy: SpoilingProxy;
let post: Post;
let operator: OperatorProcess;

/** Time enough for the next operator to start on a slow machine, before the held call counts as one that no longer arrives. */
const start = () => startOperator(post, '--namespace', post.namespace, '--horizon-seconds', '20', ...withoutLease);

beforeAll(async () => {
  service = await startHostingService();
  proxy = await spoilingProxy(service.url);
  post = await aPost(plane, api, 'namespaced');
  operator = await start();
});

afterAll(async () => {
  await operator.end();
  await proxy.close();
  await service.end();
  await api.delete(`/api/v1/namespaces/${post.namespace}`);
  await api.close();
});

/** A resource with a field that the service never shows. */
interface Changed {
  readonly kind: TenantKind;
  readonly name: string;
  readonly spec: (value: string) => object;
  /** The object with that field, as the service holds it. */
  readonly held: (collections: Collections) => string;
}

type Collections = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

const contactPoint: Changed = {
  kind: 'ContactPoint',
  name: 'late-point',
  spec: (value) => ({ email: { addresses: [`${value}@example.com`] } }),
  held: ({ contactPoints = [] }) => JSON.stringify(contactPoints.find(({ name }) => name === 'late-point')),
};

const app: Changed = {
  kind: 'HostedApp',
  name: 'late-app',
  spec: (value) => ({ port: 8080, image: { reference: `r/web:${value}` } }),
  held: ({ apps = [] }) => JSON.stringify(apps.find(({ name }) => name === 'late-app')),
};

async function heldByService({ held }: Changed): Promise<string> {
  const { collections } = (await service.control('GET', '/world')) as { collections: Collections };
  return held(collections);
}

describe('a change whose answer was lost with the operator, and that arrives after the newer one', () => {
  it('is told as in doubt, and does not stay in the service', async () => {
    const tenant = await Tenant.arrive(api, service, post.namespace, 'bare');
    await tenant.secret('hosting-credentials', { baseUrl: proxy.url, token: tenant.token });
    const credentialsRef = { name: 'hosting-credentials' };
    await tenant.apply('HostingAccount', 'default', { externalId: tenant.accountId, credentialsRef });
    const all = [contactPoint, app];
    const apply = (value: string) => Promise.all(all.map((one) => tenant.apply(one.kind, one.name, one.spec(value))));
    const says = async ({ kind, name }: Changed) => (await tenant.condition(kind, name, 'Ready'))?.reason;
    const hold = async (value: string, one: Changed) =>
      new RegExp(`\\b${value}\\b`, 'u').test(await heldByService(one));
    await apply('first');
    for (const { kind, name } of all) await tenant.becomes(kind, name, 'True/InSync');

    const late = Promise.withResolvers<void>();
    let held = 0;
    proxy.spoil = (method, _path, body) => {
      if (method !== 'PATCH' || !/\bold\b/u.test(body)) return undefined;
      return async ({ forward }) => {
        held += 1;
        await late.promise;
        await forward();
      };
    };
    await apply('old');
    await eventually('both changes are held', async () => held === all.length);
    operator.signal('SIGKILL');
    await operator.ended;
    await apply('new');
    operator = await start();
    for (const one of all) await eventually(`${one.kind} is changed`, () => hold('new', one));
    late.resolve();
    for (const one of all) await eventually(`the old change of ${one.kind} arrives`, () => hold('old', one));
    for (const one of all) expect(await says(one)).toBe('InDoubt');

    for (const one of all) {
      // Never InSync before the newest stands: status is read first.
      const isSettled = async () => {
        const reason = await says(one);
        expect([reason, await hold('new', one)]).not.toEqual(['InSync', false]);
        return reason === 'InSync';
      };
      await eventually(`${one.kind} is in sync`, isSettled, 240_000);
      expect(await hold('new', one)).toBe(true);
    }
  });
});
