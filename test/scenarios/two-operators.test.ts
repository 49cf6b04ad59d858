import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator, withLease, type OperatorProcess } from './support/operator-process.ts';
import { Tenant } from './support/tenant.ts';

const api = connect(sharedKubernetes());
const running: OperatorProcess[] = [];
let service: HostingService;

beforeAll(async () => {
  service = await startHostingService();
});

afterAll(async () => {
  await Promise.all(running.map((operator) => operator.end()));
  await service.end();
  await api.close();
});

describe('two operators', () => {
  it('create nothing twice when the one that acts is held past its lease with calls in hand, and goes on', async () => {
    const post = await aPost(sharedKubernetes(), api, 'namespaced');
    const start = async () => {
      const operator = await startOperator(post, '--namespace', post.namespace, ...withLease);
      running.push(operator);
      return operator;
    };
    const first = await start();
    const tenant = await Tenant.arrive(api, service, post.namespace);
    await eventually('the first acts', async () => first.output().includes('this replica acts'));
    const second = await start();
    // One request a second: creates wait in the first one's queue, already journalled.
    await tenant.openAccount({ budget: { requestsPerSecond: 1, concurrency: 1 } });
    await tenant.becomes('HostingAccount', 'default', 'True/InSync');
    const names = Array.from({ length: 10 }, (_none, nth) => `turn-${nth}`);
    const email = { email: { addresses: ['ops@example.com'] } };
    const begun = async () => Promise.all(names.map((name) => tenant.internal('ContactPoint', name, 'journal')));

    await Promise.all(names.map((name) => tenant.apply('ContactPoint', name, email)));
    await eventually('several creates are in hand', async () => {
      const open = (await begun()).filter((journal) => journal !== undefined).length;
      return open >= 2 && (await tenant.commits('contactPoint.created')) >= 1;
    });
    first.signal('SIGSTOP');
    const before = await tenant.commits('contactPoint.created');
    // The second need not be as slow.
    await tenant.openAccount();
    await eventually('the second acts', async () => second.output().includes('this replica acts'));
    const more = async () => (await tenant.commits('contactPoint.created')) > Math.min(before + 1, names.length - 1);
    await eventually('the second creates what was left', more);
    first.signal('SIGCONT');

    expect(await first.ended).toBe(1);
    await Promise.all(names.map((name) => tenant.becomes('ContactPoint', name, 'True/InSync')));
    expect(second.output()).toContain('"takeOver":true');
    expect(before).toBeLessThan(names.length);
    expect((await tenant.contactPoints()).map(({ name }) => name).toSorted()).toEqual(names);
    expect(await tenant.commits('contactPoint.created')).toBe(names.length);
  });
});
