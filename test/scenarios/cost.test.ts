import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, eventually, sharedKubernetes, field, textOf } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Tenant } from './support/stages/tenant.ts';

/* What test/properties/costs.test.ts counts in process, as the API server saw it. */

const api = connect(sharedKubernetes());
/** What is counted must not be more because a slow machine lost a call or a lease. */
const inEarnest = ['--call-deadline-seconds', '30', '--leader-elect', 'on', '--lease-seconds', '30'];
let service: HostingService;
let post: Post;
let operator: OperatorProcess;
let tenant: Tenant;

beforeAll(async () => {
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'namespaced')]);
  operator = await startOperator(post, '--namespace', post.namespace, ...inEarnest);
  tenant = await Tenant.arrive(api, service, post.namespace);
  await tenant.openAccount();
  await tenant.becomes('HostingAccount', 'default', 'True/InSync');
  const { appEnvId } = tenant;
  await service.control('POST', '/metrics', { appEnvId, metric: 'cpu_percent', value: 1 });
});

afterAll(async () => {
  await tenant.clear();
  await operator.end();
  await service.end();
  await api.close();
});

/** What the operator asked of the API server since a moment, watches and its lease aside, as `VERB resource/subresource`. */
async function askedSince(since: number): Promise<readonly string[]> {
  const lines = (await readFile(sharedKubernetes().auditLogPath, 'utf8')).trimEnd().split('\n');
  const rows: readonly unknown[] = lines.map((line) => JSON.parse(line));
  return rows.flatMap((row) => {
    const resource = textOf(field(row, 'objectRef', 'resource'));
    const verb = textOf(field(row, 'verb'));
    const isOurs = field(row, 'user', 'username') === post.user && resource !== 'leases' && verb !== 'watch';
    if (!isOurs || Date.parse(textOf(field(row, 'requestReceivedTimestamp'))) < since) return [];
    return [`${verb} ${resource}/${textOf(field(row, 'objectRef', 'subresource'))}`];
  });
}

/** How often the service was asked for the contact points of the account, once for each poll. */
async function polls(): Promise<number> {
  return (await service.requests()).filter(({ method, path }) => method === 'GET' && path.endsWith('/contact-points'))
    .length;
}

/** Waits until the operator has polled the service as often: what it has put off for a moment is done by then. */
async function afterPolls(count: number): Promise<void> {
  const from = await polls();
  await eventually(`${count} polls`, async () => (await polls()) >= from + count);
}

describe('what resources cost', () => {
  const restPolls = 5;
  const names = Array.from({ length: 10 }, (_none, nth) => `cost-${nth}`);
  const contactPoint = { webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };
  const alert = () => ({
    environmentRef: { externalId: tenant.appEnvId },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    contactPointRefs: [{ name: 'cost-0' }],
  });

  it('is nothing at rest: no write to Kubernetes but the lease, and reads of lists only', async () => {
    await tenant.secret('hook', { url: 'https://hook.example.com/1' });
    await Promise.all(names.map((name) => tenant.apply('ContactPoint', name, contactPoint)));
    await Promise.all(names.map((name) => tenant.apply('MetricAlert', name, alert())));
    const states = () => Promise.all(names.map((name) => tenant.status('MetricAlert', name, 'state')));
    await eventually('every alert has been refreshed', async () =>
      (await states()).every((state) => state === 'Normal'),
    );
    // The account counts what uses it once for many changes, half a minute later.
    const uses = async () =>
      ((await tenant.status('HostingAccount', 'default', 'counts')) ?? []) as { kind: string; ready: number }[];
    await eventually('the account has counted everything', async () => {
      const counted = await uses();
      return ['ContactPoint', 'MetricAlert'].every((kind) =>
        counted.some((use) => use.kind === kind && use.ready === names.length),
      );
    });
    await afterPolls(2);
    const since = Date.now();
    const [last] = (await service.requests()).slice(-1);

    await afterPolls(restPolls);

    const sent = (await service.requests(last?.seq)).map((seen) => `${seen.method} ${seen.path.split('/').at(-1)}`);
    const asked = await askedSince(since);
    expect(asked.filter((one) => !one.startsWith('list '))).toEqual([]);
    // A watch that has heard nothing for a while asks for one row, once.
    expect(new Set(asked).size).toBe(asked.length);
    expect(sent.filter((call) => !call.startsWith('GET') && call !== 'POST refresh')).toEqual([]);
    expect(sent.filter((call) => call.startsWith('GET')).length).toBeLessThanOrEqual((restPolls + 1) * 6);
  });
});
