import { isDeepStrictEqual } from 'node:util';
import type { PatchOperation } from '../../engine/ports.ts';

/** The patch does not apply to this document: a `test` failed, or a place is not there. */
export class PatchFailed extends Error {}

/** A JSON patch (RFC 6902, without move and copy), applied to a copy. */
export function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  let result = structuredClone(document);
  for (const operation of operations) {
    const path = segmentsOf(operation.path);
    result = path.length === 0 ? atRoot(result, operation) : within(result, path, operation);
  }
  return result;
}

function atRoot(document: unknown, operation: PatchOperation): unknown {
  if (operation.op !== 'test') return structuredClone(operation.value);
  if (!isDeepStrictEqual(document, operation.value)) throw new PatchFailed('test of the whole document failed');
  return document;
}

function within(node: unknown, path: readonly string[], operation: PatchOperation): unknown {
  const [head = '', ...rest] = path;
  if (typeof node !== 'object' || node === null) throw new PatchFailed(`${operation.path} leads nowhere`);
  if (Array.isArray(node)) return withinList(node, head, rest, operation);
  const copy = new Map<string, unknown>(Object.entries(node));
  if (rest.length > 0) {
    if (!copy.has(head)) throw new PatchFailed(`${operation.path} leads nowhere`);
    copy.set(head, within(copy.get(head), rest, operation));
    return Object.fromEntries(copy);
  }
  if (operation.op !== 'add' && !copy.has(head)) throw new PatchFailed(`${operation.path} is not there`);
  if (operation.op === 'test') {
    if (!isDeepStrictEqual(copy.get(head), operation.value)) throw new PatchFailed(`test of ${operation.path} failed`);
  } else if (operation.op === 'remove') copy.delete(head);
  else copy.set(head, structuredClone(operation.value));
  return Object.fromEntries(copy);
}

function withinList(
  list: readonly unknown[],
  head: string,
  rest: readonly string[],
  operation: PatchOperation,
): unknown[] {
  const adds = rest.length === 0 && operation.op === 'add';
  const at = head === '-' && adds ? list.length : indexOf(head);
  if (at === undefined || at > list.length || (at === list.length && !adds)) {
    throw new PatchFailed(`${operation.path} is not there`);
  }
  if (rest.length > 0) return list.with(at, within(list[at], rest, operation));
  switch (operation.op) {
    case 'add':
      return list.toSpliced(at, 0, structuredClone(operation.value));
    case 'remove':
      return list.toSpliced(at, 1);
    case 'replace':
      return list.with(at, structuredClone(operation.value));
    case 'test':
      if (!isDeepStrictEqual(list[at], operation.value)) throw new PatchFailed(`test of ${operation.path} failed`);
      return [...list];
  }
}

function segmentsOf(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) throw new PatchFailed(`${path} is not a path`);
  return path
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function indexOf(text: string): number | undefined {
  return /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : undefined;
}
