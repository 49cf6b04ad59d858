import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { KeptOperator } from './support/kept-operator.ts';
import { aPost, startMortal, withLease, type OperatorProcess } from './support/operator-process.ts';
import { Tenant } from './support/stages/tenant.ts';

const api = connect(sharedKubernetes());
const running: Pick<OperatorProcess, 'end'>[] = [];
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
    const flags = ['--namespace', post.namespace, ...withLease];
    const first = await startMortal(post, ...flags);
    running.push(first);
    const tenant = await Tenant.arrive(api, service, post.namespace);
    await eventually('the first acts', async () => first.output().includes('this replica acts'));
    // A machine that stands still may cost it its lease: then it begins anew.
    const second = new KeptOperator(post, flags);
    running.push(second);
    await second.keep();
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
    await eventually('the second acts', async () => second.printed().includes('this replica acts'));
    const more = async () => (await tenant.commits('contactPoint.created')) > Math.min(before + 1, names.length - 1);
    await eventually('the second creates what was left', more);
    first.signal('SIGCONT');

    expect(await first.ended).toBe(1);
    expect(first.output()).toContain('the lease is lost');
    await Promise.all(names.map((name) => tenant.becomes('ContactPoint', name, 'True/InSync')));
    expect(second.printed()).toContain('"takeOver":true');
    expect(before).toBeLessThan(names.length);
    expect((await tenant.contactPoints()).map(({ name }) => name).toSorted()).toEqual(names);
    expect(await tenant.commits('contactPoint.created')).toBe(names.length);
  });
});
