import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { doctor } from '../../../src/cli/doctor/doctor.ts';
import { manifest } from '../../../src/crd/manifest.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { leaseResource } from '../../../src/kube/lease.ts';
import type { ClusterAction } from '../../../src/kube/client/client.ts';
import { InProcess } from '../../support/in-process.ts';
import { folderOf } from '../support/folder.ts';
import { clusterOf } from '../support/in-memory.ts';
import { ran } from '../support/spoken.ts';

const definitions = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const serviceAccounts = { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true };
let world: InProcess;

/** A cluster in which the operator is installed and leads, with one account. */
beforeEach(async () => {
  world = new InProcess({ world: 'demo' });
  for (const identity of kinds) world.cluster.create(definitions, undefined, manifest(identity));
  const metadata = { name: 'apphosting-operator', namespace: 'apphosting-system' };
  const spec = { holderIdentity: 'operator-0', renewTime: new Date().toISOString() };
  world.cluster.create(leaseResource, 'apphosting-system', {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    spec,
  });
  const account = { name: 'apphosting-operator', namespace: 'apphosting-system' };
  world.cluster.create(serviceAccounts, 'apphosting-system', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: account,
  });
  world.secret('apphosting-operator-key', { key: 'made up for this test' }, 'apphosting-system');
  await world.start();
  world.account();
  await world.run(100_000);
  renewed(fromNow(0));
});

/** The lease as the operator has renewed it, by its own clock. */
function renewed(renewTime: string): void {
  const lease = world.cluster.get(leaseResource, 'apphosting-system', 'apphosting-operator');
  const spec = { holderIdentity: 'operator-0', renewTime };
  world.cluster.update(leaseResource, 'apphosting-system', 'apphosting-operator', { ...lease, spec }, 'object');
}

const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Runs it; `meanwhile` happens where it waits. */
function runWhile(meanwhile: () => void, ...args: readonly string[]) {
  const time = { nowMs: () => Date.now(), pause: async () => meanwhile() };
  return ran(doctor, args, { cluster: clusterOf(world), time });
}

function run(...args: readonly string[]) {
  return runWhile(() => undefined, ...args);
}

describe('doctor', () => {
  it('says that everything is in order', async () => {
    const { code, out } = await run();

    expect(out).toContain('everything is in order');
    expect(code).toBe(0);
  });

  it('names a definition that is missing and one that is another version', async () => {
    world.cluster.delete(definitions, undefined, 'hostedapps.apphosting.dev');
    const live = world.cluster.get(definitions, undefined, 'contactpoints.apphosting.dev');
    const spec = { versions: [{ name: 'v1alpha1', schema: {} }] };
    world.cluster.update(definitions, undefined, 'contactpoints.apphosting.dev', { ...live, spec }, 'object');

    const { code, out } = await run('-o', 'short');

    expect(out).toMatch(/^error +Definitions +hostedapps.apphosting.dev +the CRD is not installed/m);
    expect(out).toMatch(/^warning +Definitions +contactpoints.apphosting.dev +the schema of the CRD differs/m);
    expect(code).toBe(2);
  });

  it('says that nobody leads', async () => {
    renewed('2026-01-01T00:00:00Z');

    const { code, out } = await run();

    expect(out).toMatch(
      /^error +Lease +apphosting-system\/apphosting-operator +no operator holds the lease; it was last renewed/m,
    );
    expect(out).not.toContain('Clock');
    expect(code).toBe(2);
  });

  it.each([
    ['ahead of', 40_000],
    ['behind', -40_000],
  ])('says that the clock of the operator is %s the others, and that it leads', async (how, ms) => {
    renewed(fromNow(ms));

    const { code, out } = await runWhile(() => renewed(fromNow(ms + 2_000)), '--fail-on', 'warning');

    expect(out).toMatch(/^ok +Lease +\S+ +operator-0 leads/m);
    const clock = new RegExp(`^warning +Clock +\\S+ +the clock of the operator is \\d+ s ${how} this machine`, 'mu');
    expect(out).toMatch(clock);
    expect(code).toBe(2);
  });

  it('says nothing of its clock where another one takes over', async () => {
    renewed(fromNow(-40_000));

    const { out } = await runWhile(() => renewed(fromNow(0)));

    expect(out).toContain('operator-0 leads');
    expect(out).toContain('everything is in order');
  });

  it('says that this machine and the API server disagree', async () => {
    const cluster = clusterOf(world);
    const api = Object.assign(cluster.api, { serverDate: () => ({ dateMs: Date.now() - 90_000, seenAt: 0 }) });

    const { out } = await ran(doctor, ['-o', 'short'], { cluster: { ...cluster, api } });

    expect(out).toMatch(/^warning +Clock +clock +the clocks of this machine and of the API server differ by \d+ s/m);
    expect(out).toMatch(/^warning +Clock +\S+operator +the clock of the operator is \d+ s ahead of the API server/m);
  });

  it('names the verb that is missing for one check, makes the others, and ends with 1', async () => {
    const cluster = clusterOf(world);
    cluster.api.inject({ verb: 'get', plural: 'leases', effect: 'before', outcome: 'forbidden' });

    const { code, out } = await ran(doctor, [], { cluster });

    expect(out).toMatch(/^unknown +Lease +\S+ +may not get leases.coordination.k8s.io in namespace apphosting-system/m);
    expect(out).toMatch(/^ok +OperatorKey/m);
    expect(code).toBe(1);
  });

  it('names what the service account of the operator may not do', async () => {
    const cluster = clusterOf(world);
    const asked: string[] = [];
    const api = Object.assign(cluster.api, {
      isAllowed: ({ user }: { readonly user: string }, { verb, resource }: ClusterAction) => {
        asked.push(user);
        return Promise.resolve(verb !== 'watch' || resource !== 'contactpoints');
      },
    });

    const { code, out } = await ran(doctor, [], { cluster: { ...cluster, api } });

    expect(out).toMatch(
      /^error +Rights +\S+ +the operator lacks the permission to watch contactpoints.apphosting.dev. Install the roles/m,
    );
    expect(new Set(asked)).toEqual(new Set(['system:serviceaccount:apphosting-system:apphosting-operator']));
    expect(code).toBe(2);
  });

  it('says of an account that its Secret names another host, and how much of the budget reads take', async () => {
    const { out: before } = await run();
    world.secret('hosting-credentials', { baseUrl: 'https://elsewhere.example.com', token: 'made-up' });

    const { code, out } = await run();

    expect(before).toMatch(/^ok +Budget +HostingAccount\/team\/default +reads are expected to use \d+ % of/m);
    expect(out).toMatch(
      /^error +Endpoint +\S+ +the account belongs to the host \S+, but baseUrl in Secret team\/hosting-credentials names elsewhere.example.com/m,
    );
    expect(code).toBe(2);
  });

  it('warns where reads are expected to use all of the budget that polls may use', async () => {
    // Half of the budget, as status rounds it for 13 requests per second.
    const budget = { requestsPerSecond: 13, concurrency: 4, forecastPerHour: 23_000 };
    world.tamper('HostingAccount', 'default', (status) => ({ ...status, budget }));

    const { out } = await run();

    expect(out).toMatch(/^warning +Budget +HostingAccount\/team\/default +reads are expected to use 49 % of/m);
  });

  it('says that a watch is silent where nobody looked at what was asked for', async () => {
    world.apply('ContactPoint', 'mail', { email: { addresses: ['a@example.com'] } });
    await world.run(100_000);
    const asked = { 'apphosting.dev/reconcile-at': '2026-01-01T00:00:00Z' };
    world.apply('ContactPoint', 'mail', { email: { addresses: ['a@example.com'] } }, asked);

    const { out } = await run();

    expect(out).toMatch(/^warning +SilentWatch +ContactPoint\/team\/mail +a reconcile was requested \d+d ago/m);
  });

  it('ends with 2 for warnings where that is asked for, and leaves out what is skipped', async () => {
    world.apply('ContactPoint', 'lost', { email: { addresses: ['a@example.com'] }, externalId: 'cp_nowhere' });
    await world.run(200_000);

    const [plain, strict, skipped] = [
      await run(),
      await run('--fail-on', 'warning'),
      await run('--fail-on', 'warning', '--skip', 'Stalled=ContactPoint/team/lost'),
    ];

    expect([plain.code, strict.code, skipped.code]).toEqual([0, 2, 0]);
    expect(plain.out).toMatch(
      /^warning +Stalled +ContactPoint\/team\/lost +NotFound: .*apphosting why ContactPoint\/lost -n team$/m,
    );
  });

  it('is the same for every form of output', async () => {
    world.cluster.delete(definitions, undefined, 'hostedapps.apphosting.dev');

    const codes = await Promise.all(
      ['text', 'short', 'json', 'yaml', 'markdown'].map(async (form) => (await run('-o', form)).code),
    );

    expect(codes).toEqual([2, 2, 2, 2, 2]);
  });

  it('prints its findings and ends with 1 where the bundle cannot be written', async () => {
    const file = join(folderOf({ 'a-file': '' }), 'a-file', 'bundle.json');

    const { code, out, err } = await run('--bundle', file);

    expect(out).toContain('everything is in order');
    expect(err).toMatch(/^apphosting doctor: \S+a-file\/bundle\.json could not be written: ENOTDIR/);
    expect(code).toBe(1);
  });

  it('writes a bundle that holds no secret, no annotation and no word of a spec', async () => {
    const secret = 'https://hooks.example.com/s3cr3t-part';
    world.secret('hook', { url: secret });
    const last = { 'kubectl.kubernetes.io/last-applied-configuration': `{"a":"${secret}"}` };
    const from = { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } };
    world.apply('ContactPoint', 'hook', { webhook: { url: from, username: 'somebody' } }, last);
    await world.run(100_000);
    const file = join(folderOf({}), 'bundle.json');

    await run('--bundle', file);

    const text = readFileSync(file, 'utf8');
    expect(text).toContain('"name": "hook"');
    expect(text).not.toMatch(/s3cr3t|somebody|last-applied|demo-admin|made up for this test/);
  });
});
