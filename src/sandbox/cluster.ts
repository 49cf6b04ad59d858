import {
  ApiException,
  ApiextensionsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  type V1CustomResourceDefinition,
} from '@kubernetes/client-node';
import { isRecord } from '../base/json.ts';
import type { KubeObject } from '../engine/ports.ts';
import { ConnectedConfig } from '../kube/client/api-classes.ts';
import { parsePage } from '../kube/client/parse.ts';
import { CannotStart } from './cannot-start.ts';
import { poll } from './poll.ts';
import type { Manifest } from './manifests.ts';

const answerMs = 10_000;
const fieldManager = 'apphosting-sandbox';

/** The address of an API server, its CA and a token for it. */
export interface ClusterAccess {
  readonly url: string;
  readonly ca: string;
  readonly adminToken: string;
}

/** A kind that the API server serves. */
interface Served {
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The calls of the Kubernetes API that the sandbox uses. */
export type SandboxCluster = ReturnType<typeof clusterAt>;

/** Opens a cluster as its administrator, through the API classes of client-node. */
export function clusterAt({ url, ca, adminToken }: ClusterAccess) {
  const config = new ConnectedConfig(ca, answerMs);
  const cluster = { name: 'sandbox', server: url, caData: Buffer.from(ca).toString('base64'), skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, { name: 'admin', token: adminToken });
  const core = config.makeApiClient(CoreV1Api);
  const objects = KubernetesObjectApi.makeApiClient(config);
  const custom = config.makeApiClient(CustomObjectsApi);

  /** Lists the kinds of an API group; returns an empty list if the group does not exist. */
  async function served(groupVersion: string): Promise<readonly Served[]> {
    const [version, group] = groupVersion.split('/').toReversed() as [string, string?];
    const asked = group === undefined ? core.getAPIResources() : custom.getAPIResources({ group, version });
    return ((await unlessRefused(asked))?.resources ?? [])
      .filter(({ name }) => name !== '' && !name.includes('/'))
      .map(({ kind, name, namespaced }) => ({ kind, plural: name, namespaced }));
  }

  /** Sends untyped JSON, because the typed classes drop unknown fields such as `x-kubernetes-validations`. */
  function patched(manifest: Manifest, { plural, namespaced }: Served): Promise<unknown> {
    const { apiVersion, metadata } = manifest;
    const namespace = metadata.namespace ?? 'default';
    const [version, group] = apiVersion.split('/').toReversed() as [string, string?];
    const strategy = PatchStrategy.ServerSideApply;
    if (group === undefined) {
      const object = { ...manifest, metadata: { ...metadata, ...(namespaced && { namespace }) } };
      return objects.patch(object, undefined, undefined, fieldManager, true, strategy);
    }
    const patch = { group, version, plural, name: metadata.name, body: manifest, fieldManager, force: true };
    const options = setHeaderOptions('Content-Type', strategy);
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
    // Ask again for a while: a kind may not be served yet right after its CRD is established.
    const known = async () => (await served(apiVersion)).find((candidate) => candidate.kind === kind);
    const found = await poll(known, { everyMs: 100, deadlineMs: 5000 });
    if (found === undefined) throw new CannotStart(`${what}: the cluster serves no ${kind} in ${apiVersion}`);
    try {
      await patched(manifest, found);
    } catch (error) {
      if (error instanceof ApiException) throw new CannotStart(`${what} is refused: ${messageOf(error)}`);
      throw error;
    }
  }

  /** Waits until the API server serves all of these CustomResourceDefinitions. */
  async function established(names: readonly string[]): Promise<void> {
    const definitions = config.makeApiClient(ApiextensionsV1Api);
    const all = async () => {
      const { items } = await definitions.listCustomResourceDefinition();
      const ready = items.filter(isEstablished).map(({ metadata }) => metadata?.name);
      return names.every((name) => ready.includes(name)) ? true : undefined;
    };
    if ((await poll(all, { everyMs: 100, deadlineMs: 30_000 })) === undefined) {
      throw new CannotStart('the API server does not serve every CustomResourceDefinition after 30 s');
    }
  }

  /** Lists the objects of a kind in all namespaces. */
  async function list(groupVersion: string, plural: string): Promise<readonly KubeObject[]> {
    const [group = '', version = ''] = groupVersion.split('/');
    const page = await unlessRefused(custom.listClusterCustomObject({ group, version, plural }));
    return page === undefined ? [] : parsePage(page, `listing ${plural}`).items;
  }

  return { apply, list, served, established, close: () => config.close() };
}

/** Waits for an answer; returns undefined if the API server refuses the request. */
async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiException) return undefined;
    throw error;
  }
}

/** Returns the message of a refusal. For an unknown path the API server answers with plain text. */
function messageOf({ body }: ApiException<unknown>): string {
  if (typeof body === 'string' && !body.startsWith('{')) return body.trim();
  const told: unknown = typeof body === 'string' ? JSON.parse(body) : body;
  return isRecord(told) ? String(told['message']) : '';
}

function isEstablished({ status }: V1CustomResourceDefinition): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') ?? false;
}
