import { describe, expect, it } from 'vitest';
import { preflight } from '../../../src/cli/operator/preflight.ts';
import { KubeError } from '../../../src/engine/ports.ts';
import type { ServerVersion } from '../../../src/kube/client/client.ts';
import { MemoryCluster } from '../../support/memory/memory-cluster.ts';
import { MemoryKube } from '../../support/memory/memory-kube.ts';
import { VirtualClock } from '../../../src/cli/in-memory/virtual-clock.ts';

const plans = {
  kinds: [],
  namespace: undefined,
  secretWatch: 'on',
  operatorNamespace: 'apphosting-system',
  title: 'kubeconfig x',
} as const;

const supported = () => Promise.resolve({ text: 'v1.33.0', supported: true });

/** A cluster of a version in which the operator is not installed. */
function clusterOf(serverVersion: () => Promise<ServerVersion>) {
  return Object.assign(new MemoryKube(new MemoryCluster(new VirtualClock())), { serverVersion });
}

function problemWith(serverVersion: () => Promise<ServerVersion>): Promise<string | undefined> {
  return preflight(clusterOf(serverVersion), plans);
}

describe('before the operator starts', () => {
  it('is told that Kubernetes is too old', async () => {
    const version = { text: 'v1.32.4', supported: false };

    expect(await problemWith(() => Promise.resolve(version))).toBe(
      'the cluster runs Kubernetes v1.32.4, and the operator needs 1.33 or newer; upgrade the cluster',
    );
  });

  it('has nothing against a version that is supported', async () => {
    expect(await problemWith(supported)).toBeUndefined();
  });

  it('does not mind that the version may not be read, or is not said', async () => {
    for (const reason of ['forbidden', 'unavailable', 'notFound'] as const)
      expect(await problemWith(() => Promise.reject(new KubeError(reason, 'no')))).toBeUndefined();
  });

  it.each([
    ['list', 'notFound', 'install them: kubectl apply -f crds/'],
    ['list', 'forbidden', 'this user is not allowed to list secrets in all namespaces'],
    ['get', 'forbidden', 'this user is not allowed to get leases in namespace apphosting-system'],
    ['list', 'unauthorized', 'kubeconfig x: the cluster does not accept the credentials of the operator; renew'],
    ['list', 'unavailable', 'kubeconfig x: the cluster cannot be used: '],
  ] as const)('is told what to do where a %s ends with %s', async (verb, outcome, told) => {
    const api = clusterOf(supported);
    api.inject({ verb, effect: 'before', outcome });

    expect(await preflight(api, plans)).toContain(told);
  });
});
