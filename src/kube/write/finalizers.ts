import { type KubeApi, KubeError, type KubeObject, type PatchOperation, type Resource } from '../../engine/ports.ts';

/** How a change of finalizers ended. */
export type Held =
  | { readonly is: 'written'; readonly object: KubeObject }
  | { readonly is: 'unchanged' }
  | { readonly is: 'conflict' }
  | { readonly is: 'gone' };

/** Keeps Kubernetes from removing the object before we let go. */
export function hold(api: KubeApi, resource: Resource, seen: KubeObject, finalizer: string): Promise<Held> {
  const now = seen.metadata.finalizers ?? [];
  if (now.includes(finalizer)) return Promise.resolve({ is: 'unchanged' });
  return change(api, resource, seen, [...now, finalizer]);
}

/** Lets go of the object: Kubernetes removes it when nobody else holds it. */
export function release(api: KubeApi, resource: Resource, seen: KubeObject, finalizer: string): Promise<Held> {
  const now = seen.metadata.finalizers ?? [];
  if (!now.includes(finalizer)) return Promise.resolve({ is: 'unchanged' });
  const rest = now.filter((one) => one !== finalizer);
  return change(api, resource, seen, rest);
}

/** The whole array at once, on exactly the form of the object that was seen. */
async function change(
  api: KubeApi,
  resource: Resource,
  { metadata }: KubeObject,
  finalizers: readonly string[],
): Promise<Held> {
  const operations: PatchOperation[] = [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    { op: 'add', path: '/metadata/finalizers', value: finalizers },
  ];
  try {
    return { is: 'written', object: await api.patch(resource, metadata.namespace, metadata.name, operations) };
  } catch (error) {
    if (error instanceof KubeError && error.reason === 'conflict') return { is: 'conflict' };
    if (error instanceof KubeError && error.reason === 'notFound') return { is: 'gone' };
    throw error;
  }
}
