import { KubeError, type KubeApi, type Resource } from '../../engine/ports.ts';
import { oldestMinor, type KubeClient } from '../../kube/client/client.ts';
import { leaseResource } from '../../kube/lease.ts';
import { configMapResource, secretResource } from '../../kube/material.ts';
import { namespaceResource, operatorName, type OperatorOptions } from './operator.ts';
import { resourceOf } from '../../engine/kind/contract/define.ts';

/** What the preflight must know of the operator that is about to start. */
export interface Plans extends Pick<OperatorOptions, 'kinds' | 'namespace' | 'secretWatch' | 'operatorNamespace'> {
  /** The name of the cluster's credentials in messages, such as `kubeconfig /home/ann/.kube/config`. */
  readonly title: string;
}

/** Checks whether the operator can work in a cluster; if not, returns the reason and the remedy. */
export async function preflight(
  api: KubeApi & Pick<KubeClient, 'serverVersion'>,
  plans: Plans,
): Promise<string | undefined> {
  const { namespace, operatorNamespace } = plans;
  const tooOld = await ageProblemOf(api);
  if (tooOld !== undefined) return tooOld;
  const where = namespace === undefined ? 'all namespaces (to choose one, use --namespace)' : `namespace ${namespace}`;
  for (const resource of listed(plans)) {
    const look = () => api.list(resource, { limit: 1, metadataOnly: true, namespace });
    const problem = await problemOf(look, `list ${resource.plural} in ${where}`, plans);
    if (problem !== undefined) return problem;
  }
  for (const resource of [leaseResource, secretResource]) {
    const look = () => api.get(resource, operatorNamespace, operatorName);
    const problem = await problemOf(look, `get ${resource.plural} in namespace ${operatorNamespace}`, plans);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Returns a sentence if the Kubernetes version of the cluster is too old. If the version cannot be read, returns
 * undefined, because the requests that follow will show the problem.
 */
async function ageProblemOf(api: Pick<KubeClient, 'serverVersion'>): Promise<string | undefined> {
  try {
    const { text, supported } = await api.serverVersion();
    if (supported) return undefined;
    return `the cluster runs Kubernetes ${text}, and the operator needs 1.${oldestMinor} or newer; upgrade the cluster`;
  } catch (error) {
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}

/** Returns the API resources that the operator must be allowed to list and watch. */
function listed({ kinds, namespace, secretWatch }: Plans): readonly Resource[] {
  return [
    ...kinds.filter((kind) => namespace === undefined || kind.scope === 'Namespaced').map((kind) => resourceOf(kind)),
    ...(secretWatch === 'on' ? [secretResource, configMapResource] : []),
    ...(namespace === undefined ? [namespaceResource] : []),
  ];
}

async function problemOf(
  look: () => Promise<unknown>,
  what: string,
  { namespace, title }: Plans,
): Promise<string | undefined> {
  try {
    await look();
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    switch (error.reason) {
      case 'notFound':
        return 'the cluster lacks the CRDs of the operator; install them: kubectl apply -f crds/';
      case 'forbidden': {
        const overlay = namespace === undefined ? 'cluster-wide' : 'namespaced';
        return `this user is not allowed to ${what}; install the RBAC rules: kubectl apply -k deploy/kustomize/overlays/${overlay}`;
      }
      case 'unauthorized':
        return `${title}: the cluster does not accept the credentials of the operator; renew the kubeconfig or the service account`;
      default:
        return `${title}: the cluster cannot be used: ${error.message}`;
    }
  }
}
