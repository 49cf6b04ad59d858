/**
 * Converts a zod schema to the structural schema of a CustomResourceDefinition.
 *
 * Guarantees: the structural schema has no union, no default, no pattern that Go reads differently from JavaScript, and
 * no transition rule that a user could avoid. A zod schema that cannot be converted like this causes an error.
 * test/crd/manifest.test.ts checks that every node has a description and bounds.
 */
import { z } from 'zod';
import { rulesKey, type CelRule, ownNameKey, type SchemaNode } from '../engine/kind/schema/schema.ts';

/** A node of a structural schema. */
export interface Structural extends SchemaNode {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description: string;
  readonly properties?: Readonly<Record<string, Structural>>;
  readonly items?: Structural;
  readonly additionalProperties?: Structural;
  readonly enum?: readonly string[];
}

/**
 * Converts a zod schema to a structural schema. An error about a node begins with the node's path, which begins with
 * `path`. Errors of zod itself, for example about a cycle, have no path.
 */
export function structural(schema: z.ZodType, path: string): Structural {
  const json = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
    cycles: 'throw',
    unrepresentable: 'throw',
  });
  return convert(json as SchemaNode, path, true);
}

const scalars = ['type', 'description', 'enum', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum'];
const sizes = ['minItems', 'maxItems', 'maxProperties', 'format'];
const lists = ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', rulesKey];
const copied = new Set([...scalars, ...sizes, ...lists]);
const walked = new Set(['properties', 'required', 'items', 'additionalProperties']);

/**
 * Converts one node of a JSON schema. `steady` is true if every object has the node: for the root, and for the required
 * fields of such a node. Kubernetes checks a transition rule only if both the old and the new object have the node, so
 * a user could avoid the rule on any other node: remove the node, then add it again.
 */
function convert(node: SchemaNode, path: string, steady: boolean): Structural {
  const { type } = node;
  if (type === undefined) throw new Error(`${path} has no single type; a structural schema cannot have a union`);
  for (const keyword of Object.keys(node)) {
    if (keyword === ownNameKey || copied.has(keyword) || walked.has(keyword)) continue;
    throw new Error(`${path} uses ${keyword}, which the generator does not know`);
  }
  const own = Object.entries(node).filter(([keyword]) => copied.has(keyword));
  checkPattern(node, path);
  checkRules(node, path, steady);
  return { ...Object.fromEntries(own), ...contents(node, type, path, steady) } as Structural;
}

/**
 * Converts what a schema node contains: fields, list items or map values. An integer contains nothing, but gets a
 * format, such as int64.
 */
function contents(node: SchemaNode, type: string, path: string, steady: boolean): Partial<Structural> {
  if (type === 'integer') return { format: integerFormat(node, path) };
  if (node.items !== undefined) return list(node, node.items, path);
  if (node.properties !== undefined) return object(node, node.properties, path, steady);
  const { additionalProperties: value } = node;
  return typeof value === 'object' ? { additionalProperties: convert(value, `${path}{}`, false) } : {};
}

function object(node: SchemaNode, children: NonNullable<SchemaNode['properties']>, path: string, steady: boolean) {
  if (typeof node.additionalProperties === 'object')
    throw new Error(`${path} is open: the schema allows fields that it does not describe`);
  const required = node.required ?? [];
  const properties = Object.entries(children).map(
    ([name, child]) => [name, convert(child, `${path}.${name}`, steady && required.includes(name))] as const,
  );
  return { properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
}

function list(node: SchemaNode, item: SchemaNode, path: string) {
  const items = convert(item, `${path}[]`, false);
  for (const key of (node['x-kubernetes-list-map-keys'] ?? []) as readonly string[]) {
    if (!items.required?.includes(key))
      throw new Error(`${path} is a list by the key ${key}, but the items of the list may leave out the field ${key}`);
  }
  return { items };
}

function integerFormat(node: SchemaNode, path: string): 'int32' | 'int64' {
  const { minimum, maximum } = node;
  const bounded = typeof minimum === 'number' && typeof maximum === 'number';
  if (!bounded) throw new Error(`${path} is an integer that lacks a minimum or a maximum`);
  return minimum >= -(2 ** 31) && maximum < 2 ** 31 ? 'int32' : 'int64';
}

// Matches the parts of a pattern that Go's RE2 does not support (look-around and back-references), and the escapes that
// mean something else in Go than in JavaScript.
const foreign = /\(\?|\\[1-9kbBsSwWpP]/u;

function checkPattern({ pattern }: SchemaNode, path: string): void {
  if (typeof pattern === 'string' && (foreign.test(pattern) || !/^\^.*\$$/u.test(pattern)))
    throw new Error(`${path} has the pattern ${pattern}, which must begin with ^, end with $, and mean the same in Go`);
}

function checkRules(node: SchemaNode, path: string, steady: boolean): void {
  for (const { rule } of (node[rulesKey] ?? []) as readonly CelRule[]) {
    if (rule.includes('oldSelf') && !steady)
      throw new Error(`${path} has a transition rule, which a user could avoid by removing and re-adding the field`);
  }
}
