import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../src/base/json.ts';
import { KubeError, type PatchOperation } from '../../src/engine/ports.ts';

/** Applies a JSON patch (RFC 6902) to a copy of an object, completely or not at all. Knows fields, but no items of lists. */
export function applyPatch(document: object, operations: readonly PatchOperation[]): object {
  const copy = structuredClone(document);
  for (const { op, path, value } of operations) {
    const names = path.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    const [last = '', ...above] = names.slice(1).toReversed();
    const parent = above.reduceRight<unknown>(fieldOf, copy);
    if (!isRecord(parent) || (op !== 'add' && !Object.hasOwn(parent, last)))
      throw new KubeError('conflict', `${path} is not there`);
    if (op === 'test') {
      if (!isDeepStrictEqual(parent[last], value)) throw new KubeError('conflict', `test of ${path} failed`);
    } else if (op === 'remove') Reflect.deleteProperty(parent, last);
    else Object.defineProperty(parent, last, { ...ordinary, value: structuredClone(value) });
  }
  return copy;
}

const ordinary = { enumerable: true, configurable: true, writable: true };

function fieldOf(node: unknown, name: string): unknown {
  return isRecord(node) && Object.hasOwn(node, name) ? node[name] : undefined;
}
