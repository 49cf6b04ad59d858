/** Opens the cluster of a kubeconfig context, with the caller's own credentials. */
import { z } from 'zod';
import { wholeEnvironment } from '../../config.ts';
import { KubeError, type KubeApi, type KubeObject, type Resource } from '../../engine/ports.ts';
import { openKube } from '../../kube/client/client.ts';
import { findCredentials } from '../../kube/credentials/credentials.ts';
import type { Trouble } from '../account/flags.ts';
import { realClock } from '../run.ts';

/** The flags of a cluster, as kubectl has them. */
export const clusterFlags = {
  kubeconfig: {
    help: 'the cluster; else KUBECONFIG, the pod, ~/.kube/config',
    value: 'FILE',
    schema: z.string().optional(),
  },
  context: { help: 'a context of the kubeconfig', value: 'NAME', schema: z.string().optional() },
  namespace: {
    help: 'the namespace; else that of the context',
    value: 'NAME',
    short: 'n',
    schema: z.string().min(1, 'must be a namespace').optional(),
  },
};

/** An open cluster. */
export interface OpenCluster {
  readonly api: KubeApi;
  /** The namespace that the context names, or `default`. */
  readonly namespace: string;
  readonly server: string;
  close(): Promise<void>;
}

/** Opens the cluster that the flags name. */
export async function openCluster(settings: {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}): Promise<OpenCluster | Trouble> {
  try {
    const credentials = await findCredentials({
      clock: realClock,
      env: wholeEnvironment(),
      ...(settings.kubeconfig !== undefined && { kubeconfig: settings.kubeconfig }),
      ...(settings.context !== undefined && { context: settings.context }),
    });
    const api = openKube({ credentials, clock: realClock });
    return {
      api,
      namespace: credentials.namespace ?? 'default',
      server: credentials.server.origin,
      close: () => api.close(),
    };
  } catch (error) {
    return { trouble: error instanceof Error ? error.message : String(error), isUsage: false };
  }
}

/** Every object of a resource, page by page; a sentence says why there is no complete list. */
export async function listAll(
  api: Pick<KubeApi, 'list'>,
  resource: Resource,
  namespace?: string,
): Promise<readonly KubeObject[] | { readonly problem: string; readonly reason: KubeError['reason'] }> {
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
    if (!(error instanceof KubeError)) throw error;
    const verb = `list ${resource.plural}${resource.group === '' ? '' : `.${resource.group}`}`;
    return {
      problem: error.reason === 'forbidden' ? `may not ${verb}` : `${verb}: ${error.message}`,
      reason: error.reason,
    };
  }
}
