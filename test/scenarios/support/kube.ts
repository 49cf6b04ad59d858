import { randomUUID } from 'node:crypto';
import { KubeError } from '../../../src/engine/ports.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { findCredentials } from '../../../src/kube/credentials/credentials.ts';
import type { Limits } from '../../../src/kube/client/transport.ts';
import { things } from '../../kube/example.ts';
import { realClock } from '../../support/real-time.ts';
import { eventually } from './kubernetes.ts';

/** Our client for the control plane that this kubeconfig belongs to. */
export async function kubeAt(kubeconfig: string, limits: Partial<Limits> = {}): Promise<KubeClient> {
  const credentials = await findCredentials({ clock: realClock, env: {}, kubeconfig });
  return new KubeClient(credentials, realClock, limits);
}

/** A kubeconfig for one user of one cluster. */
export function kubeconfigText({ url, ca, user, cluster = {} }: KubeconfigParts): string {
  const usual = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { ...usual, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/** What differs between the kubeconfigs of tests. */
export interface KubeconfigParts {
  readonly url: string;
  readonly ca: string;
  readonly user: object;
  /** What is other than usual about the cluster. */
  readonly cluster?: object;
}

/** Where definitions of kinds are. */
export const definitions = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const namespaces = { group: '', version: 'v1', plural: 'namespaces', namespaced: false };

/** Has the `things` of the contract served by this cluster. */
export async function defineThings(api: KubeClient): Promise<void> {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.contract.apphosting.dev' },
    spec: {
      group: 'contract.apphosting.dev',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things', singular: 'thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } },
        },
      ],
    },
  };
  await api.create(definitions, undefined, definition).catch(unlessExists);
  const areServed = () =>
    api.list(things, { limit: 1 }).then(
      () => true,
      () => false,
    );
  await eventually('the things of the contract are served', areServed);
}

/** A namespace that nobody else uses; the returned function removes it, without waiting. */
export async function ownNamespace(api: KubeClient): Promise<{ name: string; remove: () => Promise<void> }> {
  const name = `kube-${randomUUID().slice(0, 8)}`;
  await api.create(namespaces, undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return { name, remove: () => api.delete(namespaces, undefined, name) };
}

function unlessExists(error: unknown): void {
  if (!(error instanceof KubeError && error.reason === 'exists')) throw error;
}
