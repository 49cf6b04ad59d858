/**
 * Rules over several fields: each is stated once for the API server (CEL) and once for our own parse (a function), side by side.
 *
 * Transition rules compare with the object before the change; only the API server can check those, and only on nodes that
 * cannot be removed and added again: `crd/structural.ts` refuses them anywhere else.
 */
import type { z } from 'zod';

/** The key under which Kubernetes keeps rules in a schema. */
export const rulesKey = 'x-kubernetes-validations';

/** A rule as it stands in the custom resource definition. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason?: 'FieldValueRequired' | 'FieldValueInvalid' | 'FieldValueForbidden';
}

/** A rule with its twin for our own parse: both must accept and refuse the same values. */
export interface Rule<Value> extends CelRule {
  readonly check: (value: Value) => boolean;
}

/** The same schema with more annotations; what was annotated before stays. */
export function annotated<Schema extends z.ZodType>(schema: Schema, more: Readonly<Record<string, unknown>>): Schema {
  return schema.meta({ ...schema.meta(), ...more });
}

/** The rules that a schema carries so far. */
export function rulesOf(schema: z.ZodType): readonly CelRule[] {
  return (schema.meta()?.[rulesKey] ?? []) as readonly CelRule[];
}

/** The same schema with one more rule. */
export function withRule<Schema extends z.ZodType>(schema: Schema, asked: Rule<z.output<Schema>>): Schema {
  const { check, ...cel } = asked;
  const path = cel.fieldPath?.split('.').filter((part) => part !== '');
  const refined = schema.refine((value) => check(value), {
    error: cel.message,
    ...(path !== undefined && { path }),
  });
  return withCel(refined, schema, cel);
}

/** The same schema with one more rule that compares it with what it was before the change. */
export function withTransition<Schema extends z.ZodType>(schema: Schema, cel: CelRule): Schema {
  return withCel(schema, schema, cel);
}

function withCel<Schema extends z.ZodType>(schema: Schema, before: z.ZodType, cel: CelRule): Schema {
  return annotated(schema, { ...before.meta(), [rulesKey]: [...rulesOf(before), cel] });
}

/** The same schema, whose value can never be changed; `message` says what to do instead. */
export function immutable<Schema extends z.ZodType>(schema: Schema, message: string): Schema {
  return withTransition(schema, { rule: 'self == oldSelf', message, reason: 'FieldValueForbidden' });
}

/**
 * The rule that a field must not change, be added or be removed.
 *
 * Optional values (`self.?a == oldSelf.?a`) would read better, but the API server cannot estimate what comparing them
 * costs.
 */
function sameField(path: string): string {
  return `has(self.${path}) == has(oldSelf.${path}) && (!has(self.${path}) || self.${path} == oldSelf.${path})`;
}

type FieldOf<Schema extends z.ZodType> = keyof z.output<Schema> & string;

/** The same object, whose named fields can neither be changed nor added nor removed later. */
export function immutableFields<Schema extends z.ZodObject>(
  schema: Schema,
  names: readonly FieldOf<Schema>[],
  message: string,
): Schema {
  const added = names.map((name) => ({
    rule: sameField(celName(name)),
    message: `${name} ${message}`,
    fieldPath: `.${name}`,
    reason: 'FieldValueForbidden' as const,
  }));
  return added.reduce((so, cel) => withTransition(so, cel), schema);
}

/** The same object, in which exactly one of the named fields is set. */
export function exactlyOne<Schema extends z.ZodObject>(
  schema: Schema,
  names: readonly FieldOf<Schema>[],
  message = `set exactly one of ${names.join(', ')}`,
): Schema {
  return withRule(schema, {
    rule: `${presences(names)}.exists_one(given, given)`,
    message,
    check: (value) => given(value, names) === 1,
  });
}

/** The same object, in which at most one of the named fields is set. */
export function atMostOne<Schema extends z.ZodObject>(
  schema: Schema,
  names: readonly FieldOf<Schema>[],
  message = `set at most one of ${names.join(', ')}`,
): Schema {
  return withRule(schema, {
    rule: `${presences(names)}.filter(given, given).size() <= 1`,
    message,
    check: (value) => given(value, names) <= 1,
  });
}

function presences(names: readonly string[]): string {
  return `[${names.map((name) => `has(self.${celName(name)})`).join(', ')}]`;
}

function given(value: unknown, names: readonly string[]): number {
  const object = value as Readonly<Record<string, unknown>>;
  return names.filter((name) => object[name] !== undefined).length;
}

// https://kubernetes.io/docs/reference/using-api/cel/#escaping
const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** The name by which CEL knows a field: its reserved words are escaped. */
export function celName(name: string): string {
  return reserved.has(name) ? `__${name}__` : name;
}
