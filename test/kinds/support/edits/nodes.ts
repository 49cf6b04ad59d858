import { z } from 'zod';

/** A place in a schema: `a.b`, with `[]` for items of a list and `{}` for values of a map. */
export interface Node {
  readonly path: string;
  readonly isOptional: boolean;
  /** A value of its own, or the name of an object and a key in it. */
  readonly isLeaf: boolean;
}

/** Every place below a schema. */
export function nodesOf(schema: z.ZodObject): readonly Node[] {
  return Object.entries(schema.shape).flatMap(([name, child]) => below(child as z.ZodType, name));
}

function below(schema: z.ZodType, path: string): readonly Node[] {
  const isOptional = schema instanceof z.ZodOptional;
  const inner = isOptional ? (schema.unwrap() as z.ZodType) : schema;
  const children = childrenOf(inner, path);
  return [{ path, isOptional, isLeaf: children.length === 0 }, ...children];
}

function childrenOf(schema: z.ZodType, path: string): readonly Node[] {
  if (schema instanceof z.ZodArray) return childrenOf(schema.element as z.ZodType, `${path}[]`);
  if (schema instanceof z.ZodRecord) return childrenOf(schema.valueType as z.ZodType, `${path}{}`);
  if (!(schema instanceof z.ZodObject) || isReference(schema)) return [];
  return Object.entries(schema.shape).flatMap(([name, child]) => below(child as z.ZodType, `${path}.${name}`));
}

function isReference({ shape }: z.ZodObject): boolean {
  return Object.keys(shape).every((name) => name === 'name' || name === 'key');
}
