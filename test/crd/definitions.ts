/** The definitions that users install, for the tests that hold their rules over them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Structural } from '../support/definitions/structural.ts';

export interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly subresources?: { readonly status?: object };
      readonly schema: { readonly openAPIV3Schema: Structural };
    }[];
  };
}

const folder = join(import.meta.dirname, '..', '..', 'crds');

/** All of them. */
export const definitions = readdirSync(folder).map(
  (file) => parse(readFileSync(join(folder, file), 'utf8')) as Definition,
);

/** A node and everything below it, each with its path: `.spec.env[].name`. */
export function nodesIn(node: Structural, path = ''): readonly (readonly [path: string, node: Structural])[] {
  const below: readonly (readonly [string, Structural | undefined])[] = [
    ...Object.entries(node.properties ?? {}).map(([name, child]) => [`${path}.${name}`, child] as const),
    [`${path}[]`, node.items],
    [`${path}{}`, node.additionalProperties],
  ];
  return [[path, node], ...below.flatMap(([at, child]) => (child === undefined ? [] : nodesIn(child, at)))];
}
