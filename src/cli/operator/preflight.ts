import type { AnyKind } from '../../engine/kind/define.ts';
import { KubeError, type KubeApi, type Resource } from '../../engine/ports.ts';
import { configMapResource, secretResource } from '../../kube/material.ts';
import { namespaceResource, resourceOf } from './operator.ts';

/** What the operator is about to do in a cluster. */
export interface Plans {
  readonly kinds: readonly AnyKind[];
  /** The only namespace that is watched; undefined for all. */
  readonly namespace: string | undefined;
  readonly secretWatch: 'on' | 'off';
}

/** Why the operator cannot work in this cluster, with what to do; undefined when it can. */
export async function preflight(api: KubeApi, plans: Plans): Promise<string | undefined> {
  for (const resource of listed(plans)) {
    const problem = await tryToList(api, resource, plans.namespace);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Everything that is listed and then watched. */
function listed({ kinds, namespace, secretWatch }: Plans): readonly Resource[] {
  return [
    ...kinds.filter((kind) => namespace === undefined || kind.scope === 'Namespaced').map((kind) => resourceOf(kind)),
    ...(secretWatch === 'on' ? [secretResource, configMapResource] : []),
    ...(namespace === undefined ? [namespaceResource] : []),
  ];
}

async function tryToList(api: KubeApi, resource: Resource, namespace: string | undefined): Promise<string | undefined> {
  const { plural } = resource;
  try {
    await api.list(resource, { limit: 1, metadataOnly: true, ...(namespace !== undefined && { namespace }) });
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.reason === 'notFound')
      return `the resource ${plural} is not installed; install the CRDs: kubectl apply -f crds/`;
    if (error.reason === 'forbidden') {
      const where =
        namespace === undefined ? 'in all namespaces; or watch one with --namespace' : `in namespace ${namespace}`;
      return `this user may not list ${plural} ${where}; install the RBAC rules: kubectl apply -k deploy/kustomize/overlays/cluster-wide`;
    }
    if (error.reason === 'unauthorized')
      return 'the cluster does not accept our credentials; renew the kubeconfig or the service account';
    return `the cluster cannot be used: ${error.message}`;
  }
}
