import { tokenIn } from '../kind/schema/status.ts';
import type { KubeObject, ObjectMeta } from '../ports.ts';

/** The API group of every kind. */
export const group = 'apphosting.dev';
/** The version of every kind. */
export const version = 'v1alpha1';
/** The one finalizer. */
export const finalizer = 'apphosting.dev/hosting';

/** Annotations that users steer an object with. */
export const annotations = {
  paused: 'apphosting.dev/paused',
  reconcileAt: 'apphosting.dev/reconcile-at',
  acceptEndpoint: 'apphosting.dev/accept-endpoint',
  acceptMissing: 'apphosting.dev/accept-missing',
  onDelete: 'apphosting.dev/on-delete',
} as const;

/** Names an object within the cluster: `ContactPoint/team-a/on-call`; the namespace of a cluster-scoped one is empty. */
export function keyOf(kind: string, namespace: string | undefined, name: string): string {
  return `${kind}/${namespace ?? ''}/${name}`;
}

/** The key of an object. */
export function keyOfObject(object: KubeObject): string {
  return keyOf(object.kind, object.metadata.namespace, object.metadata.name);
}

/** The parts of a key. */
export function partsOfKey(key: string): { readonly kind: string; readonly namespace: string; readonly name: string } {
  const [kind = '', namespace = '', ...name] = key.split('/');
  return { kind, namespace, name: name.join('/') };
}

/** The value of `apphosting.dev/reconcile-at`, cut to what fits into status. */
export function reconcileToken({ metadata }: KubeObject): string | undefined {
  return tokenIn(metadata.annotations, annotations.reconcileAt);
}

/** The value of `apphosting.dev/accept-missing`, cut to what fits into status. */
export function acceptMissingToken({ metadata }: KubeObject): string | undefined {
  return tokenIn(metadata.annotations, annotations.acceptMissing);
}

/** An object in the words of a message: `ContactPoint team-a/on-call`. */
export function inWords(kind: string, meta: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return `${kind} ${meta.namespace === undefined ? '' : `${meta.namespace}/`}${meta.name}`;
}

/** What metrics call an account: `team-a/default`, or `shared` for one of the cluster. */
export function accountLabel({ namespace, name }: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
