import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator, withoutLease, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Tenant } from './support/tenant.ts';

/* One operator for the whole cluster, one service, and a tenant for each scenario: they all live at the same time. */

const api = connect(sharedKubernetes());
const tenants: Tenant[] = [];
const planted: string[] = [];
let service: HostingService;
let post: Post;
let operator: OperatorProcess;

beforeAll(async () => {
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'cluster-wide')]);
  // Calls are counted: none must be lost because a machine is slow.
  operator = await startOperator(post, ...withoutLease, '--call-deadline-seconds', '30');
});

afterAll(async () => {
  await operator.end();
  await service.end();
  await api.delete(`/api/v1/namespaces/${post.namespace}`);
  await api.close();
});

/** A tenant whose account is Ready. */
async function aTenant(spec: object = {}): Promise<Tenant> {
  const tenant = await Tenant.arrive(api, service);
  tenants.push(tenant);
  planted.push(tenant.token);
  await tenant.openAccount(spec);
  await tenant.becomes('HostingAccount', 'default', 'True/InSync');
  return tenant;
}

/** A value that must never be seen outside its Secret and the service. */
function secretly(value: string): string {
  planted.push(value);
  return value;
}

const email = { email: { addresses: ['ops@example.com'] } };

/** A contact point that somebody made in the service's console. */
async function madeByHand(tenant: Tenant, name: string): Promise<string> {
  const body = { accountId: tenant.accountId, name, type: 'email', config: email.email };
  const made = await service.call(tenant.token, 'POST', '/contact-point', body);
  return (made as { contactPoint: { contactPointId: string } }).contactPoint.contactPointId;
}

/** How often the service changed a contact point of this tenant. */
const patches = (tenant: Tenant) => tenant.commits('contactPoint.updated');

/** The id of a contact point in status. */
const idOf = (tenant: Tenant, name: string) => tenant.status('ContactPoint', name, 'externalId');

describe('a contact point', () => {
  it.concurrent('of each of the six types is created once and becomes Ready', async () => {
    const tenant = await aTenant();
    await tenant.secret('urls', {
      hook: secretly('https://hook.example.com/planted-hook'),
      password: secretly('planted-hook-password'),
      a: secretly('https://a.example.com/planted-chat-a'),
      b: secretly('https://b.example.com/planted-chat-b'),
      c: secretly('https://chat.example.com/planted-chat-c'),
      key: secretly('planted-integration-key'),
    });
    const from = (key: string) => ({ name: 'urls', key });
    const specs = {
      email,
      webhook: {
        webhook: {
          url: { valueFrom: { secretKeyRef: from('hook') } },
          httpMethod: 'PUT',
          username: 'us',
          password: { valueFrom: { secretKeyRef: from('password') } },
        },
      },
      'chat-a': { chatA: { webhookUrl: { valueFrom: { secretKeyRef: from('a') } }, channel: '#ops' } },
      'chat-b': { chatB: { webhookUrl: { valueFrom: { secretKeyRef: from('b') } } } },
      'chat-c': { chatC: { webhookUrl: { valueFrom: { secretKeyRef: from('c') } } } },
      incident: { incident: { integrationKey: { valueFrom: { secretKeyRef: from('key') } }, severity: 'critical' } },
    };

    await Promise.all(Object.entries(specs).map(([name, spec]) => tenant.apply('ContactPoint', name, spec)));
    await Promise.all(Object.keys(specs).map((name) => tenant.becomes('ContactPoint', name, 'True/InSync')));

    expect(await tenant.commits('contactPoint.created')).toBe(6);
    expect(await patches(tenant)).toBe(0);
  });

  it.concurrent('is changed when its spec changes, and set right again within a poll when the service drifts', async () => {
    const tenant = await aTenant();
    await tenant.apply('ContactPoint', 'ops', { ...email, name: 'first' });
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');
    const id = await idOf(tenant, 'ops');

    await tenant.apply('ContactPoint', 'ops', { ...email, name: 'second' });
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');
    expect(await tenant.contactPoints()).toMatchObject([{ contactPointId: id, name: 'second' }]);
    await service.call(tenant.token, 'PATCH', '/contact-point', { contactPointId: id, name: 'by somebody else' });

    await eventually(
      'the name is set right',
      async () => (await tenant.contactPoints())[0]?.name === 'second',
      120_000,
    );
    expect(await patches(tenant)).toBe(3);
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');
  });

  it.concurrent('is deleted from the service before it goes from the cluster', async () => {
    const tenant = await aTenant();
    await tenant.apply('ContactPoint', 'ops', email);
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');
    expect((await tenant.get('ContactPoint', 'ops'))?.metadata.finalizers).toEqual(['apphosting.dev/hosting']);

    await tenant.delete('ContactPoint', 'ops');
    await tenant.goes('ContactPoint', 'ops');

    expect(await tenant.contactPoints()).toEqual([]);
    expect(await tenant.commits('contactPoint.deleted')).toBe(1);
  });

  it.concurrent('costs exactly one PATCH when its Secret is rotated', async () => {
    const tenant = await aTenant();
    await tenant.secret('hook', { url: secretly('https://hook.example.com/planted-before') });
    await tenant.apply('ContactPoint', 'hook', {
      webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
    });
    await tenant.becomes('ContactPoint', 'hook', 'True/InSync');
    const applied = async () => JSON.stringify(await tenant.status('ContactPoint', 'hook', 'internal'));
    const before = await applied();

    await tenant.secret('hook', { url: secretly('https://hook.example.com/planted-after') });

    await eventually('the new URL is sent, and that is written down', async () => (await applied()) !== before);
    await tenant.isLookedAt('ContactPoint', 'hook');
    expect(await patches(tenant)).toBe(1);
  });

  it.concurrent('waits for its Secret, and goes on when the Secret comes back', async () => {
    const tenant = await aTenant();
    await tenant.secret('hook', { url: secretly('https://hook.example.com/planted-gone') });
    await tenant.apply('ContactPoint', 'hook', {
      webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
    });
    await tenant.becomes('ContactPoint', 'hook', 'True/InSync');

    await tenant.removeSecret('hook');
    expect(await tenant.becomes('ContactPoint', 'hook', 'False/SecretMissing')).toContain('Secret hook does not exist');
    await tenant.secret('hook', { url: secretly('https://hook.example.com/planted-back') });

    await tenant.becomes('ContactPoint', 'hook', 'True/InSync');
    expect(await patches(tenant)).toBe(1);
    expect(await tenant.commits('contactPoint.created')).toBe(1);
  });

  it.concurrent('that exists already says how to adopt it, is adopted by id, and stays in the service', async () => {
    const tenant = await aTenant();
    const id = await madeByHand(tenant, 'by-hand');
    await tenant.apply('ContactPoint', 'by-hand', email);

    const message = await tenant.becomes('ContactPoint', 'by-hand', 'False/AlreadyExists');
    expect(message).toContain(`set spec.externalId: ${id}`);
    await tenant.apply('ContactPoint', 'by-hand', { ...email, externalId: id });
    await tenant.becomes('ContactPoint', 'by-hand', 'True/InSync');
    expect(await tenant.internal('ContactPoint', 'by-hand', 'ownership')).toBe('Adopted');
    await tenant.delete('ContactPoint', 'by-hand');
    await tenant.goes('ContactPoint', 'by-hand');

    expect((await tenant.contactPoints()).map(({ contactPointId }) => contactPointId)).toEqual([id]);
    const isTold = async () => (await tenant.events('by-hand')).some(({ reason }) => reason === 'Retained');
    await eventually('what stays is told', isTold);
    expect(await tenant.commits('contactPoint.created')).toBe(1);
  });

  it.concurrent('is adopted by its name where account and resource allow that', async () => {
    const tenant = await aTenant({ lifecycle: { adoption: 'ByName' } });
    const id = await madeByHand(tenant, 'by-hand');

    await tenant.apply('ContactPoint', 'by-hand', { ...email, lifecycle: { adoption: 'ByName' } });
    await tenant.becomes('ContactPoint', 'by-hand', 'True/InSync');

    expect(await idOf(tenant, 'by-hand')).toBe(id);
    expect(await tenant.commits('contactPoint.created')).toBe(1);
  });

  it.concurrent('that is only observed says what it would do, and does not', async () => {
    const tenant = await aTenant();

    await tenant.apply('ContactPoint', 'ops', { ...email, lifecycle: { managementPolicy: 'Observe' } });
    await tenant.becomes('ContactPoint', 'ops', 'True/Observed');

    expect(await tenant.status('ContactPoint', 'ops', 'wouldDo')).toBe('create contact point "ops"');
    expect(await tenant.commits('contactPoint.created')).toBe(0);
    await tenant.delete('ContactPoint', 'ops');
    await tenant.goes('ContactPoint', 'ops');
  });

  it.concurrent('that is paused is left alone, edits and deletion too, until it is let go', async () => {
    const tenant = await aTenant();
    await tenant.apply('ContactPoint', 'ops', { ...email, name: 'first' });
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');

    await tenant.apply('ContactPoint', 'ops', { ...email, name: 'second' }, { 'apphosting.dev/paused': 'true' });
    await tenant.becomes('ContactPoint', 'ops', 'Unknown/Paused');
    await tenant.delete('ContactPoint', 'ops');
    // What was applied later was looked at since.
    await tenant.apply('ContactPoint', 'later', email);
    await tenant.becomes('ContactPoint', 'later', 'True/InSync');
    await tenant.delete('ContactPoint', 'later');
    await tenant.goes('ContactPoint', 'later');
    expect(await tenant.contactPoints()).toMatchObject([{ name: 'first' }]);
    await tenant.apply('ContactPoint', 'ops', { ...email, name: 'second' });

    await tenant.goes('ContactPoint', 'ops');
    expect(await tenant.contactPoints()).toEqual([]);
  });

  it.concurrent('is looked at again when reconcile-at asks for it, and says so', async () => {
    const tenant = await aTenant({ pollSeconds: 3_600 });
    await tenant.apply('ContactPoint', 'ops', { ...email, name: 'right' });
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');
    const id = await idOf(tenant, 'ops');
    await service.call(tenant.token, 'PATCH', '/contact-point', { contactPointId: id, name: 'wrong' });

    await tenant.apply('ContactPoint', 'ops', { ...email, name: 'right' }, { 'apphosting.dev/reconcile-at': 'now-1' });

    const handled = async () => (await tenant.status('ContactPoint', 'ops', 'lastHandledReconcileAt')) === 'now-1';
    await eventually('it says that it looked', handled, 120_000);
    expect(await tenant.contactPoints()).toMatchObject([{ name: 'right' }]);
  });

  it.concurrent('goes and leaves its object behind when the annotation says Retain', async () => {
    const tenant = await aTenant();
    await tenant.apply('ContactPoint', 'ops', email, { 'apphosting.dev/on-delete': 'Retain' });
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');

    await tenant.delete('ContactPoint', 'ops');
    await tenant.goes('ContactPoint', 'ops');

    expect(await tenant.contactPoints()).toHaveLength(1);
    expect(await tenant.commits('contactPoint.deleted')).toBe(0);
  });
});

describe('a metric alert', () => {
  const alert = (appEnvId: string) => ({
    environmentRef: { externalId: appEnvId },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    contactPointRefs: [{ name: 'ops' }],
  });

  it.concurrent('is created, changed, switched off, set right and deleted', async () => {
    const tenant = await aTenant();
    await tenant.apply('MetricAlert', 'cpu', alert(tenant.appEnvId));
    expect(await tenant.becomes('MetricAlert', 'cpu', 'False/ReferenceNotReady')).toContain('ContactPoint ops');
    await tenant.apply('ContactPoint', 'ops', email);
    await tenant.becomes('MetricAlert', 'cpu', 'True/InSync');
    const alertId = await tenant.status('MetricAlert', 'cpu', 'externalId');

    await tenant.apply('MetricAlert', 'cpu', { ...alert(tenant.appEnvId), threshold: 95, enabled: false });
    await tenant.becomes('MetricAlert', 'cpu', 'True/InSync');
    await service.call(tenant.token, 'PATCH', '/alert', { alertId, threshold: 10 });
    const shown = async () =>
      (await service.call(tenant.token, 'GET', `/alert?alertId=${String(alertId)}`)) as { threshold: number };
    await eventually('the threshold is set right', async () => (await shown()).threshold === 95, 120_000);
    await tenant.delete('MetricAlert', 'cpu');
    await tenant.goes('MetricAlert', 'cpu');

    expect(await tenant.commits('alert.created')).toBe(1);
    expect(await tenant.commits('alert.deleted')).toBe(1);
  });

  it.concurrent('keeps the contact point that it uses, which goes as soon as the alert has gone', async () => {
    const tenant = await aTenant();
    await tenant.apply('ContactPoint', 'ops', email);
    await tenant.apply('MetricAlert', 'cpu', alert(tenant.appEnvId));
    await tenant.becomes('MetricAlert', 'cpu', 'True/InSync');

    await tenant.delete('ContactPoint', 'ops');
    expect(await tenant.becomes('ContactPoint', 'ops', 'False/DeletionBlocked')).toContain('1 alert uses it');
    await tenant.delete('MetricAlert', 'cpu');

    await tenant.goes('MetricAlert', 'cpu');
    await tenant.goes('ContactPoint', 'ops', 45_000);
    expect(await tenant.contactPoints()).toEqual([]);
  });
});

describe('an account', () => {
  it.concurrent('that is used names its users and goes after them', async () => {
    const tenant = await aTenant();
    await tenant.apply('ContactPoint', 'ops', email);
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');

    await tenant.delete('HostingAccount', 'default');
    const message = await tenant.becomes('HostingAccount', 'default', 'False/InUse');
    expect(message).toContain(`ContactPoint ${tenant.namespace}/ops`);
    await tenant.delete('ContactPoint', 'ops');

    await tenant.goes('ContactPoint', 'ops');
    await tenant.goes('HostingAccount', 'default');
    expect(await tenant.contactPoints()).toEqual([]);
  });

  it.concurrent('waits for its Secret, and its resources with it', async () => {
    const tenant = await aTenant();
    await tenant.apply('ContactPoint', 'ops', email);
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');

    await tenant.removeSecret('hosting-credentials');
    await tenant.becomes('HostingAccount', 'default', 'False/SecretMissing');
    await tenant.becomes('ContactPoint', 'ops', 'False/AccountNotReady');
    await tenant.secret('hosting-credentials', { baseUrl: service.url, token: tenant.token });

    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');
    expect(await tenant.commits()).toBe(3);
  });

  it.concurrent('sends nothing to another endpoint until its owner accepts that one', async () => {
    const other = await startHostingService();
    try {
      const tenant = await aTenant();
      await tenant.secret('hosting-credentials', { baseUrl: other.url, token: tenant.token });

      const message = await tenant.becomes('HostingAccount', 'default', 'False/EndpointChanged');
      expect(message).toContain(`apphosting.dev/accept-endpoint: ${other.endpoint}`);
      expect(await other.requests()).toEqual([]);
      await other.control('POST', '/accounts', { accountId: tenant.accountId, name: 'moved' });
      const memberships = [{ accountId: tenant.accountId, role: 'admin' }];
      await other.control('POST', '/tokens', { token: tenant.token, memberships });
      const spec = { externalId: tenant.accountId, credentialsRef: { name: 'hosting-credentials' } };
      await tenant.apply('HostingAccount', 'default', spec, { 'apphosting.dev/accept-endpoint': other.endpoint });

      await tenant.becomes('HostingAccount', 'default', 'True/InSync');
      expect(await tenant.status('HostingAccount', 'default', 'endpoint')).toBe(other.endpoint);
    } finally {
      await other.end();
    }
  });
});

const namespacesEnd = sharedKubernetes().binaries.controllerManager !== undefined;

describe('in the end', () => {
  it('no planted secret stands in a log, an event or a status', async () => {
    const written = [operator.output(), ...(await Promise.all(tenants.map((tenant) => tenant.everythingWritten())))];

    for (const value of planted) {
      for (const form of [value, Buffer.from(value).toString('base64'), encodeURIComponent(value)]) {
        expect(written.filter((text) => text.includes(form))).toEqual([]);
      }
    }
    expect(planted.length).toBeGreaterThan(20);
  });

  it('nothing was told twice', async () => {
    for (const tenant of tenants) {
      const told = (await tenant.events('ops')).map(({ type, reason, note }) => `${type} ${reason}: ${note}`);
      expect(told).toEqual([...new Set(told)]);
    }
  });

  it.skipIf(!namespacesEnd)(
    'every namespace is deleted with everything in it, the account and its Secret included',
    async () => {
      await Promise.all(tenants.map((tenant) => tenant.leave()));

      const isOver = async () => (await Promise.all(tenants.map((tenant) => tenant.hasLeft()))).every(Boolean);
      await eventually('all namespaces are gone', isOver, 200_000);
      // What was adopted and what was to be retained is still there, and nothing else.
      const left = await Promise.all(
        tenants.map(async (tenant) => (await tenant.contactPoints()).map(({ name }) => name)),
      );
      expect(left.flat().toSorted()).toEqual(['by-hand', 'by-hand', 'ops']);
    },
  );
});
