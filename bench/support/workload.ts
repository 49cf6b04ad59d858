import { group, version } from '../../src/engine/names.ts';
import type { Resource } from '../../src/engine/ports.ts';
import type { Stage } from './stage.ts';

/** Where everything of a benchmark is. */
export const workNamespace = 'bench';
/** The Secret with the account's token and the webhooks' address. */
export const secretName = 'hosting-credentials';

const environments = 50;
const appliers = 12;
const apiVersion = `${group}/${version}`;
const metrics = ['cpu_percent', 'memory_percent', 'cpu_usage', 'memory_usage'] as const;

export const alerts: Resource = { group, version, plural: 'metricalerts', namespaced: true };
export const contactPoints: Resource = { group, version, plural: 'contactpoints', namespaced: true };
const accounts: Resource = { group, version, plural: 'hostingaccounts', namespaced: true };

/** How many of a count are contact points; the rest are alerts. */
export function contactPointsOf(count: number): number {
  return Math.max(1, Math.round(count / 5));
}

/** What the workload is, in words. */
export function workloadInWords(count: number): string {
  const points = contactPointsOf(count);
  return `${count - points} alerts over ${environments} environments and ${points} contact points (a tenth of them webhooks with a Secret), applied with ${appliers} connections; there are no HostedApps and AppEnvironments among them`;
}

/** The account and the environments, before anything is measured. */
export async function prepare(stage: Stage): Promise<void> {
  const { api, service, options } = stage;
  for (let at = 0; at < environments; at += 1) {
    await service.control('POST', '/environments', {
      appEnvId: environmentId(at),
      appId: 'app_web',
      name: `bench-${at}`,
      cliEnvName: `bench-${at}`,
      region: 'eu-west',
      status: 'running',
    });
    for (const metric of metrics)
      await service.control('POST', '/metrics', { appEnvId: environmentId(at), metric, value: 10 });
  }
  await api.create(accounts, workNamespace, {
    apiVersion,
    kind: 'HostingAccount',
    metadata: { name: 'default', namespace: workNamespace },
    spec: {
      accountId: 'acc_demo',
      credentialsRef: { name: secretName },
      pollSeconds: options.pollSeconds,
      budget: { requestsPerSecond: 200, concurrency: 16 },
    },
  });
}

/** Applies resources as a user would, contact points first; `from` tells one batch from the next. */
export async function applyAll(stage: Stage, count: number, batch = 'a'): Promise<void> {
  const points = contactPointsOf(count);
  const objects = Array.from({ length: count }, (_, at) =>
    at < points ? contactPoint(batch, at) : alert(batch, at - points, points, stage.options.refreshSeconds),
  );
  const waiting = objects.values();
  const work = async () => {
    for (const { resource, object } of waiting) await stage.api.create(resource, workNamespace, object);
  };
  await Promise.all(Array.from({ length: appliers }, work));
}

/** The name of an alert of a batch. */
export function alertName(batch: string, at: number): string {
  return `alert-${batch}-${at}`;
}

function environmentId(at: number): string {
  return `env_bench_${at % environments}`;
}

interface Applied {
  readonly resource: Resource;
  readonly object: object;
}

function contactPoint(batch: string, at: number): Applied {
  const webhook = { urlFrom: { name: secretName, key: 'hook' }, httpMethod: 'POST' };
  const spec = at % 10 === 0 ? { webhook } : { email: { addresses: [`on-call-${at}@example.com`] } };
  const name = `point-${batch}-${at}`;
  return { resource: contactPoints, object: manifest('ContactPoint', name, spec) };
}

function alert(batch: string, at: number, points: number, refreshSeconds: number | undefined): Applied {
  const spec = {
    appEnvId: environmentId(at),
    metric: metrics[at % metrics.length],
    operator: 'gt',
    threshold: 80,
    contactPoints: [{ contactPointRef: { name: `point-${batch}-${at % points}` } }],
    ...(refreshSeconds !== undefined && { refreshSeconds }),
  };
  return { resource: alerts, object: manifest('MetricAlert', alertName(batch, at), spec) };
}

function manifest(kind: string, name: string, spec: object): object {
  return { apiVersion, kind, metadata: { name, namespace: workNamespace }, spec };
}
