import type { Resource } from '../../engine/ports.ts';

/** Where the objects of a resource are listed and created. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const inside = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  return `${root}${inside}/${resource.plural}`;
}

/** Where one object is. */
export function objectPath(resource: Resource, namespace: string | undefined, name: string, part?: 'status'): string {
  if (resource.namespaced && namespace === undefined) {
    throw new Error(`${resource.plural} "${name}" cannot be addressed without a namespace`);
  }
  const tail = part === undefined ? '' : `/${part}`;
  return `${collectionPath(resource, namespace)}/${segment(name)}${tail}`;
}

/** How an object is called in messages: `contactpoints team-a/on-call`. */
export function titleOf(resource: Resource, namespace: string | undefined, name: string): string {
  return namespace === undefined ? `${resource.plural} ${name}` : `${resource.plural} ${namespace}/${name}`;
}

/** A name cannot leave its place in the path, whatever it holds. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new Error(`"${text}" is not the name of an object`);
  return encodeURIComponent(text);
}
