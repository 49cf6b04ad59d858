import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { request } from 'undici';
import { kubeconfigFor } from '../../../src/cli/control-plane/credentials.ts';
import { kubectl, type Api } from './kubernetes.ts';
import { printed, startProgram, type Running } from './running.ts';
import type { SharedKubernetes } from './shared-control-plane.ts';

const kustomize = join(import.meta.dirname, '..', '..', '..', 'deploy', 'kustomize');

/** A control plane as far as the operator's processes need it. */
export type Plane = Pick<SharedKubernetes, 'url' | 'ca' | 'adminToken' | 'kubeconfigPath' | 'binaries'>;

/** The operator's own place in a cluster: its namespace and a service account with the permissions we generate. */
export interface Post {
  readonly namespace: string;
  readonly kubeconfigPath: string;
  /** How the audit log names it. */
  readonly user: string;
}

/** Makes a namespace for operators and a service account that may do exactly what `deploy/` grants. */
export async function aPost(plane: Plane, api: Api, scope: 'cluster-wide' | 'namespaced'): Promise<Post> {
  const namespace = `op-${randomUUID().slice(0, 8)}`;
  await api.post('/api/v1/namespaces', { metadata: { name: namespace } });
  const files = ['base/rbac.yaml', `overlays/${scope}/rbac.yaml`].flatMap((file) => ['-f', join(kustomize, file)]);
  await kubectl(plane, 'apply', '--server-side', '--force-conflicts', '-n', namespace, ...files);
  await api.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'operator' } });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const subjects = [{ kind: 'ServiceAccount', name: 'operator', namespace }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', name: 'apphosting-operator' };
  await api.post(`${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: 'own' },
    subjects,
    roleRef: { ...roleRef, kind: 'Role', name: 'apphosting-operator-own' },
  });
  if (scope === 'cluster-wide') {
    const name = `operator-${namespace}`;
    await api.post(`${rbac}/clusterrolebindings`, {
      metadata: { name },
      subjects,
      roleRef: { ...roleRef, kind: 'ClusterRole' },
    });
  } else {
    await api.post(`${rbac}/namespaces/${namespace}/rolebindings`, {
      metadata: { name: 'objects' },
      subjects,
      roleRef: { ...roleRef, kind: 'Role' },
    });
  }
  const asked = { spec: { expirationSeconds: 3_600 } };
  const { body } = await api.post(`/api/v1/namespaces/${namespace}/serviceaccounts/operator/token`, asked);
  const { token } = (body as { status: { token: string } }).status;
  const kubeconfigPath = join(dirname(plane.kubeconfigPath), `kubeconfig-${namespace}`);
  await writeFile(kubeconfigPath, kubeconfigFor(plane.url, plane.ca, 'operator', token), { mode: 0o600 });
  return { namespace, kubeconfigPath, user: `system:serviceaccount:${namespace}:operator` };
}

/** The operator as a process of its own. */
export interface OperatorProcess extends Running {
  /** What `/healthz`, `/readyz` or `/metrics` answers. */
  readonly probe: (path: string) => Promise<{ readonly status: number; readonly text: string }>;
}

/** Starts `apphosting run` at a post; it has begun to listen when this returns. */
export async function startOperator(post: Post, ...args: readonly string[]): Promise<OperatorProcess> {
  const running = startProgram([
    'run',
    '--kubeconfig',
    post.kubeconfigPath,
    '--operator-namespace',
    post.namespace,
    '--metrics-listen',
    '127.0.0.1:0',
    '--allow-insecure-loopback',
    ...args,
  ]);
  const [, port = ''] = await printed(running, /"metrics":"127\.0\.0\.1:(\d+)"/);
  return {
    ...running,
    probe: async (path) => {
      const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, {
        signal: AbortSignal.timeout(5_000),
      });
      return { status: statusCode, text: await body.text() };
    },
  };
}
