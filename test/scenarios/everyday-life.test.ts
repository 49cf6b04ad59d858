import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Tenant } from './support/stages/tenant.ts';

/* Tenants of one operator whose namespaces hold Secrets and objects, and are deleted as they are: what is secret shows nowhere. */

const api = connect(sharedKubernetes());
const tenants: Tenant[] = [];
const planted: string[] = [];
let service: HostingService;
let post: Post;
let operator: OperatorProcess;

beforeAll(async () => {
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'cluster-wide')]);
  // Calls are counted: none must be lost because a machine is slow.
  operator = await startOperator(post, '--call-deadline-seconds', '30');
});

afterAll(async () => {
  await operator.end();
  await service.end();
  await api.close();
});

/** A tenant whose account is Ready. */
async function aTenant(): Promise<Tenant> {
  const tenant = await Tenant.arrive(api, service);
  tenants.push(tenant);
  planted.push(tenant.token);
  await tenant.openAccount();
  await tenant.becomes('HostingAccount', 'default', 'True/InSync');
  return tenant;
}

/** A value that must never be seen outside its Secret and the service. */
function secretly(value: string): string {
  planted.push(value);
  return value;
}

const email = { email: { addresses: ['ops@example.com'] } };

/** How often the service changed a contact point of this tenant. */
const patches = (tenant: Tenant) => tenant.commits('contactPoint.updated');

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

  it.concurrent('that is to be retained stays in the service', async () => {
    const tenant = await aTenant();

    await tenant.apply('ContactPoint', 'ops', email, { 'apphosting.dev/on-delete': 'Retain' });

    await tenant.becomes('ContactPoint', 'ops', 'True/InSync');
  });
});

describe('in the end', () => {
  it('no planted secret stands in a log, an event or a status', async () => {
    const written = [operator.output(), ...(await Promise.all(tenants.map((tenant) => tenant.everythingWritten())))];

    for (const value of planted) {
      for (const form of [value, Buffer.from(value).toString('base64'), encodeURIComponent(value)]) {
        expect(written.filter((text) => text.includes(form))).toEqual([]);
      }
    }
    expect(planted.length).toBeGreaterThan(9);
  });

  it('every namespace is deleted with everything in it, the account and its Secret included', async () => {
    await Promise.all(tenants.map((tenant) => tenant.leave()));

    const isOver = async () => (await Promise.all(tenants.map((tenant) => tenant.hasLeft()))).every(Boolean);
    await eventually('all namespaces are gone', isOver);
    // What was to be retained is still there, and nothing else.
    const left = await Promise.all(
      tenants.map(async (tenant) => (await tenant.contactPoints()).map(({ name }) => name)),
    );
    expect(left.flat()).toEqual(['ops']);
  });
});
