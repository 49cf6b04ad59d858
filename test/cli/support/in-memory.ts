import type { OpenCluster } from '../../../src/cli/cluster/open.ts';
import { namespace, type InProcess } from '../../support/in-process.ts';
import { MemoryKube } from '../../support/memory/memory-kube.ts';

/** The cluster of a world, as a command for people sees it, and the connection that it uses. */
export function clusterOf(world: InProcess): OpenCluster & { readonly api: MemoryKube } {
  return {
    api: new MemoryKube(world.cluster),
    namespace,
    server: 'https://kubernetes.invalid',
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
