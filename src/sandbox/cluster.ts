import {
  ApiException,
  CustomObjectsApi,
  PatchStrategy,
  setHeaderOptions,
  type V1APIResource,
} from '@kubernetes/client-node';
import { isRecord } from '../base/json.ts';
import { conditionOf } from '../cli/cluster/objects.ts';
import type { KubeObject } from '../engine/ports.ts';
import { ConnectedConfig } from '../kube/client/api-classes.ts';
import { parsePage } from '../kube/client/parse.ts';
import { CannotStart } from './cannot-start.ts';
import { poll } from './poll.ts';
import type { Manifest } from './manifests.ts';

const answerMs = 10_000;
const fieldManager = 'apphosting-sandbox';

/** The address of an API server, its CA and a token for it. */
export type ClusterAccess = Readonly<Record<'url' | 'ca' | 'adminToken', string>>;

/** The calls to the API server that the sandbox makes. */
export type SandboxCluster = ReturnType<typeof clusterAt>;

/**
 * Returns functions that call the API server as administrator. All calls go through the API class for custom objects, which
 * sends JSON as it is. The typed API classes would drop fields that they do not know, such as `x-kubernetes-validations`.
 */
export function clusterAt({ url, ca, adminToken }: ClusterAccess) {
  const config = new ConnectedConfig(ca, answerMs);
  const cluster = { name: 'sandbox', server: url, caData: Buffer.from(ca).toString('base64'), skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, { name: 'admin', token: adminToken });
  const custom = config.makeApiClient(CustomObjectsApi);

  /**
   * Lists the resources of an API group, without their subresources. Returns an empty list if the API server answers
   * with an error, such as 404 for a group that does not exist.
   */
  async function served(groupVersion: string): Promise<readonly V1APIResource[]> {
    try {
      const { resources } = await custom.getAPIResources(partsOf(groupVersion));
      return resources.filter(({ name }) => !name.includes('/'));
    } catch (error) {
      if (error instanceof ApiException) return [];
      throw error;
    }
  }

  function patched(manifest: Manifest, { name: plural, namespaced }: V1APIResource): Promise<unknown> {
    const { name, namespace = 'default' } = manifest.metadata;
    const patch = { ...partsOf(manifest.apiVersion), plural, name, body: manifest, fieldManager, force: true };
    const options = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply);
    return namespaced
      ? custom.patchNamespacedCustomObject({ ...patch, namespace }, options)
      : custom.patchClusterCustomObject(patch, options);
  }

  /**
   * Applies a manifest with server-side apply. Throws `CannotStart` with the message of the API server if the server refuses the manifest.
   */
  async function apply(manifest: Manifest): Promise<void> {
    const { apiVersion, kind, metadata } = manifest;
    const what = `${kind} ${metadata.name}`;
    // Retry for a while: the API server may not serve a kind yet right after its CRD is established.
    const known = async () => (await served(apiVersion)).find((candidate) => candidate.kind === kind);
    const found = await poll(known, { everyMs: 100, deadlineMs: 5000 });
    if (found === undefined) throw new CannotStart(`${what}: the cluster serves no ${kind} in ${apiVersion}`);
    try {
      await patched(manifest, found);
    } catch (error) {
      if (error instanceof ApiException) throw new CannotStart(`the API server refuses ${what}: ${messageOf(error)}`);
      throw error;
    }
  }

  /** Waits until the API server serves all of these CustomResourceDefinitions. */
  async function established(names: readonly string[]): Promise<void> {
    const all = async () => {
      const definitions = await list('apiextensions.k8s.io/v1', 'customresourcedefinitions');
      const ready = definitions.filter((one) => conditionOf(one, 'Established')?.status === 'True');
      return names.every((name) => ready.some(({ metadata }) => metadata.name === name)) ? true : undefined;
    };
    if ((await poll(all, { everyMs: 100, deadlineMs: 30_000 })) === undefined) {
      throw new CannotStart('the API server does not serve every CustomResourceDefinition after 30 s');
    }
  }

  /** Lists the objects of a kind in all namespaces. */
  async function list(groupVersion: string, plural: string): Promise<readonly KubeObject[]> {
    const page: unknown = await custom.listClusterCustomObject({ ...partsOf(groupVersion), plural });
    return parsePage(page, `listing ${plural}`).items;
  }

  return { apply, list, served, established, close: () => config.close() };
}

/**
 * Returns the message of a response with which the API server refused a request. For an unknown path the response is plain
 * text.
 */
function messageOf({ body }: ApiException<unknown>): string {
  if (typeof body === 'string' && !body.startsWith('{')) return body.trim();
  const told: unknown = typeof body === 'string' ? JSON.parse(body) : body;
  return isRecord(told) ? String(told['message']) : '';
}

/** Splits an apiVersion into group and version. The group of `v1` is an empty string. */
function partsOf(apiVersion: string): { readonly group: string; readonly version: string } {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { group, version };
}
