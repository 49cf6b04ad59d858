/** The definitions that users install, for the tests that hold their rules over them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** A node of a schema, as far as the rules look at it. */
export interface Node {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly additionalProperties?: Node;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

export interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly subresources?: { readonly status?: object };
      readonly schema: { readonly openAPIV3Schema: Node };
    }[];
  };
}

const folder = join(import.meta.dirname, '..', '..', 'crds');

/** All of them. */
export const definitions = readdirSync(folder).map(
  (file) => parse(readFileSync(join(folder, file), 'utf8')) as Definition,
);

/** A node and everything below it, each with its path: `.spec.env[].name`. */
export function nodesIn(node: Node, path = ''): readonly (readonly [path: string, node: Node])[] {
  const below: readonly (readonly [string, Node | undefined])[] = [
    ...Object.entries(node.properties ?? {}).map(([name, child]) => [`${path}.${name}`, child] as const),
    [`${path}[]`, node.items],
    [`${path}{}`, node.additionalProperties],
  ];
  return [[path, node], ...below.flatMap(([at, child]) => (child === undefined ? [] : nodesIn(child, at)))];
}
