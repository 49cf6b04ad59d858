import type { Resource } from '../../engine/ports.ts';

/** The path where objects of a resource are listed and created. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const inside = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  return `${root}${inside}/${resource.plural}`;
}

/** The path of one object. */
export function objectPath(resource: Resource, namespace: string | undefined, name: string, part?: 'status'): string {
  if (resource.namespaced && namespace === undefined) {
    throw new Error(`${resource.plural} "${name}" cannot be addressed without a namespace`);
  }
  const tail = part === undefined ? '' : `/${part}`;
  return `${collectionPath(resource, namespace)}/${segment(name)}${tail}`;
}

/** The name of an object in messages: `contactpoints team-a/on-call`. */
export function titleOf(resource: Resource, namespace: string | undefined, name: string): string {
  return namespace === undefined ? `${resource.plural} ${name}` : `${resource.plural} ${namespace}/${name}`;
}

/** Encodes a name so that it stays one segment of the path, whatever characters it has. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new Error(`"${text}" is not the name of an object`);
  return encodeURIComponent(text);
}
