import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { KeptOperator } from './support/kept-operator.ts';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { aPost, withLease, type Post } from './support/operator-process.ts';
import { Protection } from './support/protection.ts';
import { Tenant } from './support/stages/tenant.ts';

/*
 * A real process is killed while it activates; in second-cluster.test.ts a real second cluster is asked for the same. Every other way to
 * make an activation happen twice is tried in process, call by call (test/properties/standing.test.ts) and in random orders, restored
 * clusters included (test/disaster/interleavings.test.ts).
 */

const activation = 'RecoveryActivation';
const api = connect(sharedKubernetes());
let service: HostingService;
let post: Post;
let operator: KeptOperator;

beforeAll(async () => {
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'namespaced')]);
  operator = new KeptOperator(post, ['--namespace', post.namespace, '--enable-activation', ...withLease]);
  await operator.keep();
});

afterAll(async () => {
  await operator.end();
  await service.end();
  await api.close();
});

describe('an activation whose operator dies', () => {
  it('happens once when the operator is killed while the answer is under way', async () => {
    const tenant = await Tenant.arrive(api, service, post.namespace);
    await tenant.openAccount();
    const protection = await Protection.enrolled(tenant, 'killed');
    await protection.disturb('activate', { hangAfterCommit: true });

    await tenant.apply(activation, 'now', protection.activation());
    await eventually('the service has it', async () => (await protection.activations()) === 1);
    operator.current.signal('SIGKILL');
    await protection.promote();

    await tenant.becomes(activation, 'now', 'True/Succeeded');
    expect(operator.starts).toBeGreaterThan(1);
    expect(await protection.activations()).toBe(1);
  });
});
