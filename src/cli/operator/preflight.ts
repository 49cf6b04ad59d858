import type { AnyKind } from '../../engine/kind/define.ts';
import { KubeError, type KubeApi } from '../../engine/ports.ts';
import { resourceOf } from './operator.ts';

/** Why the operator cannot work in this cluster, with what to do; undefined when it can. */
export async function preflight(
  api: KubeApi,
  kinds: readonly AnyKind[],
  namespace: string | undefined,
): Promise<string | undefined> {
  for (const kind of kinds) {
    if (namespace !== undefined && kind.scope === 'Cluster') continue;
    const { plural } = kind;
    try {
      await api.list(resourceOf(kind), { limit: 1, ...(namespace !== undefined && { namespace }) });
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
  return undefined;
}
