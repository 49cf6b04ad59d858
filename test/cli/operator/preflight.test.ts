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

function problemWith(serverVersion: () => Promise<ServerVersion>): Promise<string | undefined> {
  const api = Object.assign(new MemoryKube(new MemoryCluster(new VirtualClock())), { serverVersion });
  return preflight(api, plans);
}

describe('before the operator starts', () => {
  it('is told that Kubernetes is too old', async () => {
    const version = { text: 'v1.32.4', supported: false };

    expect(await problemWith(() => Promise.resolve(version))).toBe(
      'the cluster runs Kubernetes v1.32.4, and the operator needs 1.33 or newer; upgrade the cluster',
    );
  });

  it('has nothing against a version that is supported', async () => {
    const version = { text: 'v1.33.0', supported: true };

    expect(await problemWith(() => Promise.resolve(version))).toBeUndefined();
  });

  it('does not mind that the version may not be read, or is not said', async () => {
    for (const reason of ['forbidden', 'unavailable', 'notFound'] as const)
      expect(await problemWith(() => Promise.reject(new KubeError(reason, 'no')))).toBeUndefined();
  });
});
