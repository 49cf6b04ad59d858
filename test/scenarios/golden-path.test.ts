import type { Condition } from '../../src/engine/kind/contract/step.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { manifestsIn, type Manifest } from '../../src/sandbox/manifests.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { connect, eventually, kubectl, sharedKubernetes, waiting } from './support/kubernetes.ts';
import { aPost, startOperator, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Tenant, type TenantKind } from './support/stages/tenant.ts';

/* The folder of the golden path, applied in no order to a service that fails; test/properties/golden-path.test.ts tries many orders. */

const folder = join(import.meta.dirname, '..', '..', 'deploy', 'samples-more', 'golden-path');

const api = connect(sharedKubernetes());
let service: HostingService;
let post: Post;
let operator: OperatorProcess;
let scratch: Awaited<ReturnType<typeof temporaryFolder>>;

const retryAfter = { status: 429, headers: { 'retry-after': '1' } };

/** What the service does to the first calls. It asks to slow down but twice: an account takes that to heart for a while. */
const faults = [
  { match: { method: 'GET', skip: 4, count: 3 }, effect: { status: 503 } },
  { match: { method: 'GET', path: '/app-envs', count: 1 }, effect: retryAfter },
  { match: { method: 'GET', skip: 12, count: 2 }, effect: { truncate: 10 } },
  { match: { method: 'POST', path: '/app', bodyContains: '"shop"', count: 1 }, effect: { dropAfter: true } },
  { match: { method: 'POST', path: '/app', bodyContains: '"shop-db"', count: 1 }, effect: retryAfter },
  { match: { method: 'POST', path: '/app-env/alert', count: 1 }, effect: { commitThen: { status: 502 } } },
  { match: { method: 'POST', path: '/app-env/deploy-image', count: 1 }, effect: { dropAfter: true } },
  { match: { method: 'PATCH', path: '/member/env-access', count: 1 }, effect: { status: 500 } },
  { match: { method: 'PATCH', path: '/member/env-access', count: 1 }, effect: { dropAfter: true } },
];

beforeAll(async () => {
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'cluster-wide')]);
  scratch = await temporaryFolder('tests');
  // Calls are counted: a slow machine must not lose one.
  operator = await startOperator(post, '--call-deadline-seconds', '20');
});

afterAll(async () => {
  await operator.end();
  await service.end();
  await scratch.release();
  await api.close();
});

/** A team with an account that holds nothing but a member. */
class Team {
  readonly tenant: Tenant;
  readonly manifests: readonly Manifest[];

  private constructor(tenant: Tenant, manifests: readonly Manifest[]) {
    this.tenant = tenant;
    this.manifests = manifests;
  }

  static async arrive(): Promise<Team> {
    const tenant = await Tenant.arrive(api, service, undefined, 'bare');
    const membershipId = `mem_${tenant.accountId}`;
    const memberships = [{ accountId: tenant.accountId, membershipId, role: 'member' }];
    await service.control('POST', '/tokens', { memberships });
    const words = { acc_demo: tenant.accountId, 'demo-admin': tenant.token, mem_demo: membershipId };
    const filled = Object.entries({ ...words, 'http://127.0.0.1:8088': service.url }).reduce(
      (text, [word, value]) => text.replaceAll(word, value),
      JSON.stringify(await manifestsIn(folder)),
    );
    return new Team(tenant, JSON.parse(filled) as readonly Manifest[]);
  }

  /** Has kubectl apply these manifests, in their order. */
  async apply(name: string, manifests: readonly Manifest[]): Promise<void> {
    await kubectl(sharedKubernetes(), 'apply', '-n', this.tenant.namespace, '-f', await this.file(name, manifests));
  }

  async file(name: string, manifests: readonly Manifest[]): Promise<string> {
    const path = join(scratch.dir, `${this.tenant.namespace}-${name}.yaml`);
    await writeFile(path, manifests.map((manifest) => stringify(manifest)).join('---\n'));
    return path;
  }

  /** Everything but Secrets. */
  get objects(): readonly { readonly kind: TenantKind; readonly name: string }[] {
    return this.manifests
      .filter(({ kind }) => kind !== 'Secret')
      .map(({ kind, metadata }) => ({ kind: kind as TenantKind, name: metadata.name }));
  }

  /** What people do in the service's console once an app is there. */
  async createEnvironment(app: string): Promise<void> {
    const appIdOf = () => this.tenant.status('HostedApp', app, 'externalId');
    await eventually(`${app} is created`, async () => (await appIdOf()) !== undefined);
    await service.control('POST', '/environments', { appId: await appIdOf(), name: 'production', region: 'eu-west' });
  }

  /** Waits until the operator has looked at each of these. */
  async isBegun(manifests: readonly Manifest[]): Promise<void> {
    for (const { kind, metadata } of manifests.filter((one) => one.kind !== 'Secret')) {
      const looked = async () =>
        (await this.tenant.condition(kind as TenantKind, metadata.name, 'Ready')) !== undefined;
      await eventually(`${kind} ${metadata.name} is looked at`, looked);
    }
  }

  async settles(): Promise<void> {
    await Promise.all(this.objects.map(({ kind, name }) => this.tenant.becomes(kind, name, 'True/InSync')));
  }

  /** Every condition that says that something is wrong or still to come. */
  async complaints(): Promise<readonly string[]> {
    const lists = await Promise.all(
      this.objects.map(async ({ kind, name }) => {
        const conditions = (await this.tenant.status(kind, name, 'conditions')) as readonly Condition[];
        return conditions
          .filter(({ type, status }) => status !== (calm[type] ?? status))
          .map(({ type, status, reason }) => `${kind} ${name}: ${type} ${status}/${reason}`);
      }),
    );
    return lists.flat();
  }

  /** How often requests made the service do each thing; refreshing an alert only reads. */
  async commits(): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    for (const row of await service.ledger()) {
      if (row.accountId !== this.tenant.accountId || row.requestSeq === null) continue;
      if (row.kind === 'alert.refreshed') continue;
      const { action } = row.detail;
      const what = typeof action === 'string' ? action : row.kind;
      counts[what] = (counts[what] ?? 0) + 1;
    }
    return counts;
  }
}

/** Conditions as they are when all is well; after a 429 an account sends fewer requests for up to a minute, and says so. */
const calm: Readonly<Record<string, string>> = {
  Ready: 'True',
  Synced: 'True',
  Stalled: 'False',
  Reconciling: 'False',
  AccessWiderThanSpec: 'False',
};

function shuffled<Item>(items: readonly Item[], entropy: SeededEntropy): readonly Item[] {
  return items
    .map((item) => [entropy.fraction(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}

/** What the folder costs the service, and nothing more. */
const everythingOnce = {
  'app.created': 2,
  'app.updated': 1,
  'contactPoint.created': 1,
  'alert.created': 1,
  'deploy-image': 1,
};

describe('the golden path', () => {
  it('comes to rest while the service fails, with no call repeated', async () => {
    for (const { match, effect } of faults) await service.control('POST', '/faults', { match, effect });
    const team = await Team.arrive();
    const order = shuffled(team.manifests, new SeededEntropy(1));
    const half = Math.floor(order.length / 2);

    await team.apply('first', order.slice(0, half));
    // The others come when each of these has been looked at.
    await team.isBegun(order.slice(0, half));
    await team.apply('second', order.slice(half));
    await Promise.all(['shop', 'shop-db'].map((app) => team.createEnvironment(app)));
    await team.settles();

    await expect.poll(() => team.complaints(), { timeout: waiting.deadlineMs, interval: waiting.everyMs }).toEqual([]);
    const { 'memberAccess.updated': restricted, ...commits } = await team.commits();
    expect(commits).toEqual(everythingOnce);
    // A restriction whose answer was lost may be written once more: it is the same list.
    expect([1, 2]).toContain(restricted);
    const { items: left } = (await service.control('GET', '/faults')) as { items: readonly { match: object }[] };
    expect(left).toEqual([]);
  });
});
