import type { KubeObject, Resource } from '../../src/engine/ports.ts';

/** A kind of our own for tests: namespaced, with a status subresource. */
export const things: Resource = {
  group: 'contract.apphosting.dev',
  version: 'v1',
  plural: 'things',
  namespaced: true,
};

/** A thing as a user writes it. */
export function thing(name: string, spec: object = { size: 1 }, metadata: object = {}): Record<string, unknown> {
  return { apiVersion: 'contract.apphosting.dev/v1', kind: 'Thing', metadata: { name, ...metadata }, spec };
}

/** The object, or a failure of the test where there is none. */
export function present(object: KubeObject | undefined): KubeObject {
  if (object === undefined) throw new Error('the object is not there');
  return object;
}
