import { group, version } from '../../src/engine/kind/contract/define.ts';
import type { CustomObjectsApi } from '@kubernetes/client-node';
import type { ServiceCounts } from './service-counts.ts';

/** The namespace of all resources of a benchmark. */
export const workNamespace = 'bench';
/** The Secret with the account's token and the webhooks' address. */
export const secretName = 'hosting-credentials';

const appliers = 12;
const apiVersion = `${group}/${version}`;
const metrics = ['cpu_percent', 'memory_percent', 'cpu_usage', 'memory_usage'] as const;

/** A kind of resource, as the API classes ask for it. */
export interface WorkResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

const resource = (plural: string): WorkResource => ({ group, version, plural });
export const alerts = resource('metricalerts');
const accounts = resource('hostingaccounts');

/** The resource of every kind of the workload. */
export const workKinds = {
  MetricAlert: alerts,
  ContactPoint: resource('contactpoints'),
  HostedApp: resource('hostedapps'),
  AppEnvironment: resource('appenvironments'),
} as const satisfies Record<string, WorkResource>;

type WorkKind = keyof typeof workKinds;

/** Divides a count among the kinds: 5 % apps, 5 % environments, 20 % contact points, and the rest alerts. */
function sharesOf(count: number): Readonly<Record<WorkKind, number>> {
  const share = (part: number) => Math.max(1, Math.round(count * part));
  const shares = { HostedApp: share(0.05), AppEnvironment: share(0.05), ContactPoint: share(0.2) };
  const others = Object.values(shares).reduce((sum, one) => sum + one, 0);
  return { ...shares, MetricAlert: Math.max(1, count - others) };
}

/** Describes the workload in words. */
export function workloadInWords(count: number): string {
  const { MetricAlert, ContactPoint, HostedApp, AppEnvironment } = sharesOf(count);
  return `${MetricAlert} alerts, ${ContactPoint} contact points (a tenth of them webhooks with a Secret), ${HostedApp} apps to create and ${AppEnvironment} environments that exist and run, applied with ${appliers} connections, alerts last`;
}

/** The parts of a stage that the workload uses. */
interface WorkStage {
  readonly api: CustomObjectsApi;
  readonly service: ServiceCounts;
  readonly options: {
    readonly count: number;
    readonly pollSeconds: number;
    readonly refreshSeconds: number | undefined;
  };
}

/** The account and the environments, before anything is measured. */
export async function prepare(stage: WorkStage): Promise<void> {
  const { api, service, options } = stage;
  for (let at = 0; at < sharesOf(options.count).AppEnvironment; at += 1) {
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
  const body = {
    apiVersion,
    kind: 'HostingAccount',
    metadata: { name: 'default', namespace: workNamespace },
    spec: {
      externalId: 'acc_demo',
      credentialsRef: { name: secretName },
      pollSeconds: options.pollSeconds,
      budget: { requestsPerSecond: 200, concurrency: 16 },
    },
  };
  await api.createNamespacedCustomObject({ ...accounts, namespace: workNamespace, body });
}

/** Applies resources as a user would; `batch` tells one lot from the next. */
export async function applyAll(stage: WorkStage, count: number, batch = 'a'): Promise<void> {
  const shares = sharesOf(count);
  const many = (length: number, one: (at: number) => Applied) => Array.from({ length }, (_, at) => one(at));
  // The second lot has no environments of its own: each belongs to one resource.
  const objects = [
    ...many(shares.ContactPoint, (at) => contactPoint(batch, at)),
    ...many(shares.HostedApp, (at) => app(batch, at)),
    ...(batch === 'a' ? many(shares.AppEnvironment, environment) : []),
    ...many(shares.MetricAlert + (batch === 'a' ? 0 : shares.AppEnvironment), (at) =>
      alert(batch, at, shares, stage.options.refreshSeconds),
    ),
  ];
  const waiting = objects.values();
  const work = async () => {
    for (const { kind, object: body } of waiting) {
      await stage.api.createNamespacedCustomObject({ ...workKinds[kind], namespace: workNamespace, body });
    }
  };
  await Promise.all(Array.from({ length: appliers }, work));
}

/** The name of an alert of a batch. */
export function alertName(batch: string, at: number): string {
  return `alert-${batch}-${at}`;
}

/** Returns the id of an environment of the workload in the service. */
export function environmentId(at: number): string {
  return `env_bench_${at}`;
}

interface Applied {
  readonly kind: WorkKind;
  readonly object: object;
}

function contactPoint(batch: string, at: number): Applied {
  const webhook = { url: { valueFrom: { secretKeyRef: { name: secretName, key: 'hook' } } }, httpMethod: 'POST' };
  const spec = at % 10 === 0 ? { webhook } : { email: { addresses: [`on-call-${at}@example.com`] } };
  return manifest('ContactPoint', `point-${batch}-${at}`, spec);
}

function app(batch: string, at: number): Applied {
  const spec = { preset: 'CUSTOM', port: 8080, image: { reference: 'registry.example.com/team/api:1.4.2' } };
  return manifest('HostedApp', `app-${batch}-${at}`, spec);
}

function environment(at: number): Applied {
  const deploy = { image: 'registry.example.com/team/web:1.4.2' };
  return manifest('AppEnvironment', `environment-${at}`, {
    externalId: environmentId(at),
    powerState: 'Running',
    deploy,
  });
}

function alert(
  batch: string,
  at: number,
  { AppEnvironment, ContactPoint }: ReturnType<typeof sharesOf>,
  refreshSeconds: number | undefined,
): Applied {
  return manifest('MetricAlert', alertName(batch, at), {
    environmentRef: { name: `environment-${at % AppEnvironment}` },
    metric: metrics[at % metrics.length],
    operator: 'GreaterThan',
    threshold: 80,
    contactPointRefs: [{ name: `point-${batch}-${at % ContactPoint}` }],
    ...(refreshSeconds !== undefined && { refreshSeconds }),
  });
}

function manifest(kind: WorkKind, name: string, spec: object): Applied {
  return { kind, object: { apiVersion, kind, metadata: { name, namespace: workNamespace }, spec } };
}
