/** A cluster as the commands for people see it: the one of a context, as whoever calls. */
import { z } from 'zod';
import { duration, text, wholeEnvironment, type Settings } from '../../config.ts';
import { KubeError, type KubeObject, type Resource } from '../../engine/ports.ts';
import type { CommandApi } from '../../kube/client/api-classes.ts';
import { KubeTransport, usualLimits } from '../../kube/client/transport.ts';
import { findCredentials } from '../../kube/credentials/credentials.ts';
import { realClock } from '../machine.ts';

/** The flags of a cluster, as kubectl has them. */
export const clusterFlags = {
  kubeconfig: text('the cluster; else KUBECONFIG, the pod, ~/.kube/config', 'FILE'),
  context: text('a context of the kubeconfig', 'NAME'),
  as: text('act as this user, as kubectl does', 'USER'),
  asGroup: {
    help: 'with --as: act as a member of this group',
    value: 'GROUP',
    many: true,
    schema: z.array(z.string()),
  },
  requestTimeout: {
    help: 'how long one request to the cluster may take, such as 10s',
    value: 'TIME',
    schema: duration(1, 3_600).optional(),
  },
  namespace: { short: 'n', ...text('the namespace; else that of the context', 'NAME', 'must be a namespace') },
};

/** Which cluster the flags name, and an account in it. */
type ClusterSettings = Partial<Settings<typeof clusterFlags>> & { readonly account?: string | undefined };

/** An open cluster. */
export interface OpenCluster {
  readonly api: CommandApi;
  /** The namespace that is meant: else that of the context, or `default`. */
  readonly namespace: string;
  readonly server: string;
  close(): Promise<void>;
}

/** The credentials of the cluster that the flags name. */
export function credentialsOf({ kubeconfig, context, as: user, asGroup = [] }: ClusterSettings) {
  return findCredentials({
    clock: realClock,
    env: wholeEnvironment(),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
    ...(user !== undefined && { as: user, asGroups: asGroup }),
  });
}

/** Opens the cluster that the flags name. */
async function openCluster(settings: ClusterSettings): Promise<OpenCluster> {
  const credentials = await credentialsOf(settings);
  const { requestTimeout: seconds } = settings;
  const limits = { ...usualLimits, ...(seconds !== undefined && { requestMs: seconds * 1_000 }) };
  // Half of all that a command loads: not for those that open no cluster.
  const { ClassedApi } = await import('../../kube/client/api-classes.ts');
  const api = new ClassedApi(new KubeTransport(credentials, realClock, limits));
  const namespace = credentials.namespace ?? 'default';
  return { api, namespace, server: credentials.server.origin, close: () => api.close() };
}

/** Works in the cluster that the flags name, or in one that is open already; in the namespace that they name, if they do. */
export async function inCluster<T>(
  settings: ClusterSettings,
  given: OpenCluster | undefined,
  work: (cluster: OpenCluster) => Promise<T>,
): Promise<T> {
  const cluster = given ?? (await openCluster(settings));
  try {
    return await work({ ...cluster, namespace: settings.namespace ?? cluster.namespace });
  } finally {
    if (given === undefined) await cluster.close();
  }
}

/** The same where the flags name one; without a cluster elsewhere. */
export function inClusterIfNamed<T>(
  settings: ClusterSettings,
  given: OpenCluster | undefined,
  work: (cluster: OpenCluster | undefined) => Promise<T>,
): Promise<T> {
  const { kubeconfig, context, account } = settings;
  const isNamed = [given, kubeconfig, context, account].some((one) => one !== undefined);
  return isNamed ? inCluster(settings, given, work) : work(undefined);
}

/** Every object of a resource, page by page; a sentence says why there is no complete list. */
export async function listAll(
  api: Pick<CommandApi, 'list'>,
  resource: Resource,
  namespace?: string,
): Promise<readonly KubeObject[] | { readonly problem: string }> {
  const items: KubeObject[] = [];
  let next: string | undefined;
  try {
    do {
      const page = await api.list(resource, {
        limit: 500,
        ...(namespace !== undefined && resource.namespaced && { namespace }),
        ...(next !== undefined && { continue: next }),
      });
      items.push(...page.items);
      next = page.continue;
    } while (next !== undefined);
    return items;
  } catch (error) {
    return { problem: failureOf(error, `list ${resource.plural}${resource.group === '' ? '' : `.${resource.group}`}`) };
  }
}

/** Why the cluster did not do something: it may not be done, or what went wrong; any other error is thrown. */
export function failureOf(error: unknown, verb: string): string {
  if (!(error instanceof KubeError)) throw error;
  return error.reason === 'forbidden' ? `may not ${verb}` : `${verb}: ${error.message}`;
}
