import { ApiException, CustomObjectsApi, KubernetesObjectApi } from '@kubernetes/client-node';
import type { KubeObject, Resource } from '../../../src/engine/ports.ts';
import { ConnectedConfig } from '../../../src/kube/client/api-classes.ts';
import type { SharedKubernetes } from './shared-control-plane.ts';

/** Kinds of the core group, which the classes for custom resources do not reach. */
const coreKinds: Readonly<Record<string, string>> = {
  namespaces: 'Namespace',
  secrets: 'Secret',
  configmaps: 'ConfigMap',
};

/** A cluster as client-node sees it: what our own client did is not judged by itself. */
export class Witness {
  readonly #config: ConnectedConfig;
  readonly #custom: CustomObjectsApi;
  readonly #core: KubernetesObjectApi;

  constructor({ ca, kubeconfigPath }: Pick<SharedKubernetes, 'ca' | 'kubeconfigPath'>) {
    this.#config = new ConnectedConfig(ca, 60_000);
    this.#config.loadFromFile(kubeconfigPath);
    this.#custom = this.#config.makeApiClient(CustomObjectsApi);
    this.#core = KubernetesObjectApi.makeApiClient(this.#config);
  }

  async get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    try {
      return asJson(
        await (resource.group === ''
          ? this.#core.read(coreHeader(resource, namespace, name))
          : namespace === undefined
            ? this.#custom.getClusterCustomObject({ ...resource, name })
            : this.#custom.getNamespacedCustomObject({ ...resource, namespace, name })),
      );
    } catch (error) {
      if (error instanceof ApiException && error.code === 404) return undefined;
      throw error;
    }
  }

  async create(resource: Resource, namespace: string | undefined, body: object): Promise<KubeObject> {
    if (resource.group === '') {
      const metadata = { ...('metadata' in body && (body.metadata as object)), ...(namespace && { namespace }) };
      return asJson(await this.#core.create({ ...body, metadata }));
    }
    return asJson(
      await (namespace === undefined
        ? this.#custom.createClusterCustomObject({ ...resource, body })
        : this.#custom.createNamespacedCustomObject({ ...resource, namespace, body })),
    );
  }

  async replace(resource: Resource, namespace: string, name: string, body: object): Promise<KubeObject> {
    if (resource.group === '') {
      const metadata = { ...('metadata' in body && (body.metadata as object)), name, namespace };
      return asJson(await this.#core.replace({ ...body, metadata }));
    }
    return asJson(await this.#custom.replaceNamespacedCustomObject({ ...resource, namespace, name, body }));
  }

  async delete(resource: Resource, namespace: string | undefined, name: string): Promise<void> {
    if (resource.group === '') await this.#core.delete(coreHeader(resource, namespace, name));
    else if (namespace === undefined) await this.#custom.deleteClusterCustomObject({ ...resource, name });
    else await this.#custom.deleteNamespacedCustomObject({ ...resource, namespace, name });
  }

  close(): Promise<void> {
    return this.#config.close();
  }
}

function coreHeader({ plural, version }: Resource, namespace: string | undefined, name: string) {
  const kind = coreKinds[plural];
  if (kind === undefined) throw new Error(`the witness does not know ${plural}`);
  return { apiVersion: version, kind, metadata: { name, ...(namespace !== undefined && { namespace }) } };
}

/** As it stands in JSON: client-node makes moments of what it has a type for. */
function asJson(object: unknown): KubeObject {
  return JSON.parse(JSON.stringify(object)) as KubeObject;
}
