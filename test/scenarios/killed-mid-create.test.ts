import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator } from './support/operator-process.ts';
import { Tenant } from './support/stages/tenant.ts';

/* Two operators, each alone in its namespace, are killed again and again while they create. */

const lanes = 2;
/** All operators together die in each way with each kind. */
const killsEach = 5;

const api = connect(sharedKubernetes());
let service: HostingService;

beforeAll(async () => {
  service = await startHostingService('--latency', '20');
});

afterAll(async () => {
  await service.end();
  await api.close();
});

const collections = {
  ContactPoint: { path: '/contact-point', created: 'contactPoint.created' },
  MetricAlert: { path: '/app-env/alert', created: 'alert.created' },
} as const;

/** What happens to the POST while the operator dies, and the moment at which it does. */
const deaths = [
  { effect: { hangAfterCommit: true }, dies: 'committed' },
  { effect: { delayMs: 1_500 }, dies: 'journalled' },
  { effect: { hang: true }, dies: 'journalled' },
  { effect: { dropAfter: true }, dies: 'committed' },
  { effect: { delayMs: 30 }, dies: 'journalled' },
] as const;

/** One operator, its tenant, and everything that it was asked to create. */
class Lane {
  readonly tenant: Tenant;
  readonly made: { readonly kind: 'ContactPoint' | 'MetricAlert'; readonly name: string }[] = [];
  readonly #start: () => ReturnType<typeof startOperator>;
  #operator: Awaited<ReturnType<typeof startOperator>> | undefined;

  private constructor(tenant: Tenant, start: () => ReturnType<typeof startOperator>) {
    this.tenant = tenant;
    this.#start = start;
  }

  static async open(): Promise<Lane> {
    const post = await aPost(sharedKubernetes(), api, 'namespaced');
    const tenant = await Tenant.arrive(api, service, post.namespace);
    await tenant.openAccount();
    const lane = new Lane(tenant, () => startOperator(post, '--namespace', post.namespace));
    await lane.restart();
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    await lane.apply('ContactPoint', 'shared');
    await tenant.becomes('ContactPoint', 'shared', 'True/InSync');
    return lane;
  }

  async restart(): Promise<void> {
    this.#operator = await this.#start();
  }

  async apply(kind: 'ContactPoint' | 'MetricAlert', name: string): Promise<void> {
    this.made.push({ kind, name });
    const contactPointRefs = [{ name: 'shared' }];
    const alert = {
      environmentRef: { externalId: this.tenant.appEnvId },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      contactPointRefs,
    };
    await this.tenant.apply(kind, name, kind === 'ContactPoint' ? { email: { addresses: ['a@example.com'] } } : alert);
  }

  /** Has an object created, and kills the operator at that moment. */
  async dieCreating(nth: number): Promise<void> {
    const kind = nth % 2 === 0 ? 'ContactPoint' : 'MetricAlert';
    const name = `${this.tenant.namespace}-${nth}`;
    const { path, created } = collections[kind];
    const { effect, dies } = deaths[nth % deaths.length] ?? deaths[0];
    const match = { method: 'POST', path, bodyContains: `"${name}"` };
    const { faultId } = (await service.control('POST', '/faults', { match, effect })) as { faultId: string };
    const before = await this.tenant.commits(created);

    await this.apply(kind, name);
    const isThere =
      dies === 'committed'
        ? async () => (await this.tenant.commits(created)) > before
        : async () => (await this.#begun(kind, name)) || (await this.tenant.commits(created)) > before;
    await eventually(`${name} is ${dies}`, isThere);
    this.#operator?.signal('SIGKILL');
    await this.#operator?.ended;
    // It may have died before it sent anything: then the next attempt is not to be disturbed.
    await service.control('DELETE', `/faults/${faultId}`).catch(() => undefined);
    await this.restart();
  }

  /** A call may be over before anybody has seen that it was begun. */
  async #begun(kind: 'ContactPoint' | 'MetricAlert', name: string): Promise<boolean> {
    return (await this.tenant.internal(kind, name, 'journal')) !== undefined;
  }

  async close(): Promise<void> {
    await this.#operator?.end();
  }
}

describe('an operator that is killed while it creates', () => {
  it(`has created nothing twice and lost nothing after ${lanes * killsEach} deaths`, async () => {
    const open = await Promise.all(Array.from({ length: lanes }, () => Lane.open()));
    try {
      await Promise.all(
        open.map(async (lane, at) => {
          for (let nth = at * killsEach; nth < (at + 1) * killsEach; nth += 1) await lane.dieCreating(nth);
        }),
      );
      await Promise.all(
        open.flatMap((lane) => lane.made.map(({ kind, name }) => lane.tenant.becomes(kind, name, 'True/InSync'))),
      );

      for (const { tenant, made } of open) {
        const contactPoints = made.filter(({ kind }) => kind === 'ContactPoint');
        expect(await tenant.commits('contactPoint.created')).toBe(contactPoints.length);
        expect(await tenant.commits('alert.created')).toBe(made.length - contactPoints.length);
        const names = (await tenant.contactPoints()).map(({ name }) => name);
        expect(names.toSorted()).toEqual(contactPoints.map(({ name }) => name).toSorted());
      }
      await Promise.all(open.map((lane) => lane.tenant.clear()));
    } finally {
      await Promise.all(open.map((lane) => lane.close()));
    }
  });
});
