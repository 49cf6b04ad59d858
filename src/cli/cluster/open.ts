/** Opens the cluster that a command works in, with the credentials of the caller. */
import { definedIn } from '../../base/json.ts';
import { duration, kubeconfigFlag, text, texts, UsageError, wholeEnvironment, type Settings } from '../../config.ts';
import { type KubeApi, KubeError, type KubeObject, type Resource } from '../../engine/ports.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { findCredentials } from '../../kube/credentials/credentials.ts';
import { realClock } from '../machine.ts';

/** Flags that choose a cluster, named as in kubectl. */
export const clusterFlags = {
  kubeconfig: kubeconfigFlag(),
  context: text('a context of the kubeconfig', 'NAME'),
  as: text('impersonate this user, as kubectl does', 'USER'),
  asGroup: texts('with --as: impersonate this group too', 'GROUP'),
  requestTimeout: {
    help: 'how long one request to the cluster may take, such as 10s',
    value: 'TIME',
    schema: duration(1, 3_600).optional(),
  },
  namespace: { short: 'n', ...text('the namespace; by default that of the context', 'NAME') },
};

/**
 * The parsed flags that choose a cluster. Some commands also have a flag that chooses an account resource in the
 * cluster.
 */
type ClusterSettings = Partial<Settings<typeof clusterFlags>> & { readonly account?: string | undefined };

/** The part of the Kubernetes API that the commands use. */
export type CommandApi = Pick<KubeApi, 'get' | 'list' | 'patch' | 'serverDate'> &
  Partial<Pick<KubeClient, 'isAllowed'>>;

/** An open cluster. Disposing of it closes its connections. */
export interface OpenCluster {
  readonly api: CommandApi;
  /** The namespace from the flags, else from the kubeconfig context, else `default`. */
  readonly namespace: string;
  readonly server: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Finds the credentials of the cluster that the command's flags choose. The flags have the same names as those of
 * kubectl.
 */
export async function credentialsOf({ kubeconfig, context, as: user, asGroup = [] }: ClusterSettings) {
  if (asGroup.length > 0 && user === undefined)
    throw new UsageError('--as-group needs --as: groups can only be impersonated together with a user');
  const named = definedIn({ kubeconfig, context, as: user });
  return findCredentials({ clock: realClock, env: wholeEnvironment(), asGroups: asGroup, ...named });
}

/**
 * Opens the cluster that the flags choose, unless the caller passes a cluster that is already open. The flag
 * `--namespace` wins over the namespace of the kubeconfig context.
 */
export async function openCluster(settings: ClusterSettings, given: OpenCluster | undefined): Promise<OpenCluster> {
  const cluster = given ?? (await connected(settings));
  return { ...cluster, namespace: settings.namespace ?? cluster.namespace };
}

async function connected(settings: ClusterSettings): Promise<OpenCluster> {
  const credentials = await credentialsOf(settings);
  const { requestTimeout: seconds } = settings;
  const limits = seconds === undefined ? {} : { requestMs: seconds * 1_000 };
  const api = new KubeClient(credentials, realClock, limits);
  const namespace = credentials.namespace ?? 'default';
  return { api, namespace, server: credentials.server.origin, [Symbol.asyncDispose]: () => api.close() };
}

/** Opens a cluster as `openCluster` does; returns undefined if no cluster is passed in and no flag names one. */
export async function openClusterIfNamed(settings: ClusterSettings, given: OpenCluster | undefined) {
  const { kubeconfig, context, account } = settings;
  const isNamed = [given, kubeconfig, context, account].some((one) => one !== undefined);
  return isNamed ? openCluster(settings, given) : undefined;
}

/** Lists all objects of an API resource, page by page. */
export async function listAll(
  api: Pick<CommandApi, 'list'>,
  resource: Resource,
  namespace: string | undefined,
): Promise<readonly KubeObject[]> {
  const items: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await api.list(resource, { limit: 500, namespace, ...(next !== undefined && { continue: next }) });
    items.push(...page.items);
    next = page.continue;
  } while (next !== undefined);
  return items;
}

/** Returns the plural name of an API resource with its API group, as kubectl writes it: `hostedapps.apphosting.dev`. */
export function withGroup({ plural, group }: Pick<Resource, 'plural' | 'group'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/**
 * Says why a Kubernetes request failed: a missing permission, or the message of the API error. Rethrows an error that
 * is not a `KubeError`.
 */
export function failureOf(error: unknown, verb: string): string {
  if (!(error instanceof KubeError)) throw error;
  return error.reason === 'forbidden' ? `may not ${verb}` : `${verb}: ${error.message}`;
}
