/**
 * Builds the schemas of specs and statuses from those parts of zod that can be converted to a Kubernetes schema, and
 * reads the texts that a spec takes from a Secret or ConfigMap.
 *
 * Guarantees: each field has a description and bounds. zod and the API server refuse the same values.
 *
 * Assumes: a kind uses no other parts of zod; `crd/structural.ts` throws an error for any other part.
 */
import { definedIn, mapped, type Secret } from '../../../base/json.ts';
import { z } from 'zod';

/**
 * The name of the annotation that marks the schema of a spec field whose default is `metadata.name`. For such a field,
 * the generator adds validation rules at the root of the schema, because only a rule there can read `metadata`.
 */
export const ownNameKey = 'x-apphosting-defaults-to-name';

/** The settings of a string field whose default is `metadata.name`. */
export interface OwnName {
  /** The reason why the name can never be changed; undefined if the name can be changed. */
  readonly fixed: string | undefined;
}

interface TextBounds {
  readonly max: number;
  readonly min?: number;
  /** A regular expression that is valid both in JavaScript and in RE2. */
  readonly pattern?: string;
}

/**
 * Builds the schema of a string. Its length is counted in characters, as the API server does, and not in UTF-16 units.
 */
export function text(description: string, bounds: TextBounds): z.ZodString {
  const { max, min = 0, pattern } = bounds;
  const message = min === 0 ? `must have at most ${max} characters` : `must have between ${min} and ${max} characters`;
  // Use `check`, and not `refine`: a function takes less memory than what `refine` makes, and there are hundreds of
  // such fields.
  const counted = z.string().check(({ value, issues }) => {
    if (!isLong(value, min, max)) issues.push({ code: 'custom', input: value, message, continue: true });
  });
  const matched = pattern === undefined ? counted : counted.regex(new RegExp(pattern, 'u'), `must match ${pattern}`);
  return annotated(matched, { description, maxLength: max, ...(min > 0 && { minLength: min }) });
}

function isLong(value: string, min: number, max: number): boolean {
  // Count only where the size in UTF-16 units leaves it open: a character has one or two of them.
  const length = value.length >= 2 * min && value.length <= max ? value.length : Array.from(value).length;
  return length >= min && length <= max;
}

/**
 * Builds the schema of a name in the service that defaults to the name of the Kubernetes object. `fixed` says why the
 * name can never be changed.
 */
export function ownName(
  description: string,
  bounds: { readonly max: number; readonly pattern?: string; readonly fixed?: string },
): z.ZodString {
  const { fixed, ...rest } = bounds;
  return annotated(text(`${description} Default: the name of this resource.`, { min: 1, ...rest }), {
    [ownNameKey]: { fixed } satisfies OwnName,
  });
}

/** Builds the schema of an id of an object in the service. */
export function serviceId(description: string): z.ZodString {
  return text(description, { min: 1, max: 128, pattern: '^[A-Za-z0-9._:-]+$' });
}

/**
 * Builds the schema of an id in status. The id may be longer than an id in a spec, because the service may show longer
 * ids.
 */
export function idAsShown(description: string): z.ZodString {
  return text(description, { max: 256 });
}

/**
 * Builds the schema of a time in status. A text that is not a time is left out before status is written (see `fit`).
 */
export function time(description: string): z.ZodString {
  return annotated(text(description, { max: 64 }), { format: 'date-time' });
}

/** Builds the schema of a time in UTC, such as 2026-01-31T12:00:00Z. The text is stored as it was written. */
export function moment(description: string): z.ZodString {
  const pattern =
    '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?Z$';
  return annotated(text(description, { min: 20, max: 30, pattern }), { format: 'date-time' });
}

/** Builds the schema of a whole number. The name of the field should contain its unit. */
export function integer(description: string, bounds: { readonly min: number; readonly max: number }): z.ZodInt {
  return annotated(z.int().min(bounds.min).max(bounds.max), { description });
}

/** Builds the schema of a number that may have a fraction. */
export function number(description: string, bounds: { readonly min: number; readonly max: number }): z.ZodNumber {
  return annotated(z.number().min(bounds.min).max(bounds.max), { description });
}

/** Builds the schema of a boolean. */
export function flag(description: string): z.ZodBoolean {
  return annotated(z.boolean(), { description });
}

/** Builds the schema of a field that takes one of a few fixed words. */
export function choice<const Words extends readonly [string, ...string[]]>(description: string, words: Words) {
  return annotated(z.enum(words), { description });
}

/** Builds the schema of an object in a spec. Fields that the schema does not name are refused. */
export function fields<Shape extends z.core.$ZodShape>(description: string, shape: Shape) {
  return annotated(z.strictObject(shape), { description });
}

/**
 * Builds the schema of an object in a status. Fields that the schema does not name are dropped, so that an older operator can read
 * a newer status.
 */
export function shown<Shape extends z.core.$ZodShape>(description: string, shape: Shape) {
  return annotated(z.object(shape), { description });
}

interface Size {
  readonly max: number;
  readonly min?: number;
}

/** Builds the schema of a list that server-side apply replaces as a whole. */
export function listOf<Item extends z.ZodType>(description: string, item: Item, size: Size): z.ZodArray<Item> {
  const list = sized(z.array(item), size);
  return annotated<z.ZodArray<Item>>(list, { description, 'x-kubernetes-list-type': 'atomic' });
}

/**
 * Builds the schema of a list of strings or numbers without duplicates. With server-side apply, several writers can
 * each own some of the items.
 */
export function setOf<Item extends z.ZodType<string | number>>(
  description: string,
  item: Item,
  size: Size,
): z.ZodArray<Item> {
  const list: z.ZodArray<Item> = sized(z.array(item), size);
  const unique = list.refine((items) => new Set(items).size === items.length, { error: 'must not repeat an item' });
  return annotated(unique, { description, 'x-kubernetes-list-type': 'set' });
}

/**
 * Builds the schema of a list of objects, each of which is identified by the values of some of its fields. With
 * server-side apply, several writers can each own some of the items.
 */
export function listByKey<Item extends z.ZodObject>(
  description: string,
  item: Item,
  keys: readonly (keyof z.output<Item> & string)[],
  size: Size,
): z.ZodArray<Item> {
  const identity = (value: Readonly<Record<string, unknown>>) => JSON.stringify(keys.map((key) => value[key]));
  const unique = sized(z.array(item), size).refine((items) => new Set(items.map(identity)).size === items.length, {
    error: `must not contain two items with the same ${keys.join(' and ')}`,
  });
  return annotated(unique, { description, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...keys] });
}

function sized<Item extends z.ZodType>(list: z.ZodArray<Item>, { max, min }: Size): z.ZodArray<Item> {
  return min === undefined ? list.max(max) : list.max(max).min(min);
}

/** Builds the schema of a map with any keys, whose values all have the same schema. */
export function mapOf<Value extends z.ZodType>(
  description: string,
  value: Value,
  bounds: { readonly maxProperties: number; readonly maxKeyLength: number },
): z.ZodRecord<z.ZodString, Value> {
  const { maxProperties, maxKeyLength } = bounds;
  const counted = z.record(z.string(), value).refine((map) => Object.keys(map).length <= maxProperties, {
    error: `must have at most ${maxProperties} entries`,
  });
  return withRule(annotated(counted, { description, maxProperties }), {
    rule: `self.all(key, size(key) <= ${maxKeyLength})`,
    message: `each name must have at most ${maxKeyLength} characters`,
    check: (map) => Object.keys(map).every((key) => isLong(key, 0, maxKeyLength)),
  });
}

/** Builds the schema of the name of a Kubernetes object. */
export function objectName(description: string): z.ZodString {
  return text(description, { min: 1, max: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' });
}

const nameInNamespace = objectName('The name of the object, in the same namespace.');

/** Builds the schema of a reference to an object in the same namespace. */
export function objectRef(description: string) {
  return fields(description, { name: nameInNamespace });
}

/**
 * Builds the schema of a reference. The reference names either a resource in the same namespace, or an object in the
 * service by its id. `word` is the name that the service's API gives to this id.
 */
export function objectOrIdRef(description: string, word: string) {
  const ref = fields(`${description}; set exactly one of name and externalId.`, {
    name: nameInNamespace.optional(),
    externalId: serviceId(
      `The id of the object in the service, for an object that has no resource in this namespace (API field: ${word}).`,
    ).optional(),
  });
  return exactlyOne(ref, ['name', 'externalId']);
}

/**
 * Returns the schemas of `value` and `valueFrom`, for a text that is either written in the spec or taken from a Secret
 * or ConfigMap in the same namespace.
 */
export function valueOrSource() {
  return {
    value: text('The value as plain text, for everyone who may read this resource.', { max: 16_384 }).optional(),
    valueFrom: exactlyOne(
      fields('The source of the value; set exactly one of secretKeyRef and configMapKeyRef.', {
        secretKeyRef: keyRef('Secret').optional(),
        configMapKeyRef: keyRef('ConfigMap').optional(),
      }),
      ['secretKeyRef', 'configMapKeyRef'],
    ).optional(),
  };
}

/** Builds the schema of an object with either a `value`, or a `valueFrom` that names a Secret or ConfigMap. */
export function givenText(description: string) {
  return exactlyOne(fields(`${description} Set exactly one of value and valueFrom.`, valueOrSource()), [
    'value',
    'valueFrom',
  ]);
}

/** A text in a spec: written in the spec itself, or taken from a Secret or ConfigMap. */
export type GivenText = z.output<ReturnType<typeof givenText>>;

/**
 * Returns the text that the spec contains, or else the text in the Secret or ConfigMap that the spec refers to. Returns
 * undefined while the Secret or ConfigMap cannot be read.
 */
export function valueOf(
  { value, valueFrom }: GivenText,
  { secret, configMap }: Record<'secret' | 'configMap', (name: string, key: string) => string | Secret | undefined>,
): string | Secret | undefined {
  if (value !== undefined) return value;
  const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
  if (secretKeyRef !== undefined) return secret(secretKeyRef.name, secretKeyRef.key);
  return configMapKeyRef && configMap(configMapKeyRef.name, configMapKeyRef.key);
}

/**
 * Returns the Secrets and ConfigMaps that the given texts come from. `field` is the path in the spec that refers to the
 * Secret or ConfigMap.
 */
export function needsOf(texts: readonly (readonly [field: string, text: GivenText])[]) {
  const from = (kind: 'secretKeyRef' | 'configMapKeyRef') =>
    texts.flatMap(([field, { valueFrom }]) => {
      const ref = valueFrom?.[kind];
      return ref === undefined ? [] : [{ ...ref, field }];
    });
  return { secrets: from('secretKeyRef'), configMaps: from('configMapKeyRef') };
}

/** Builds the schema of a text that can come only from a Secret. */
export function secretText(description: string) {
  return fields(description, { valueFrom: fields('The source of the value.', { secretKeyRef: keyRef('Secret') }) });
}

function keyRef(kind: string) {
  return fields(`A key of a ${kind}.`, {
    name: objectName(`The name of the ${kind}, in the same namespace.`),
    key: text(`The key in the ${kind}.`, { min: 1, max: 253, pattern: '^[-._a-zA-Z0-9]+$' }),
  });
}

/** Builds the schema of the status fields that only one kind has. All of these fields are optional. */
export function facts<Shape extends Readonly<Record<string, z.ZodOptional>>>(shape: Shape) {
  return shown('The state of the object as the service shows it.', shape);
}

/** The longest value of an annotation that status can store, in characters as the API server counts them. */
const longestToken = 256;

/**
 * Builds the schema of the status field that stores the last handled value of an annotation. The operator writes the
 * value there when it has done what the annotation asks for, or when this is no longer to be done, for example because a
 * deployment of the spec replaces the call that the annotation asks for.
 */
export function handledToken(annotation: string) {
  const description = `The newest value of the annotation ${annotation} that the operator has handled. The value can be any text.`;
  return text(description, { max: longestToken }).optional();
}

/**
 * Returns the value of an annotation, cut to the length that status can store. Status stores the cut value. If the
 * uncut value were compared with it, the annotation would always count as changed.
 */
export function tokenIn(
  annotations: Readonly<Record<string, string>> | undefined,
  annotation: string,
): string | undefined {
  const token = annotations?.[annotation];
  if (token === undefined || token.length <= longestToken) return token;
  return Array.from(token).slice(0, longestToken).join('');
}

// ---- rules over several fields ---------------------------------------------------------------------------------
//
// Each rule is written twice, side by side: as CEL for the API server, and as a function for the operator's own parser.
//
// A transition rule compares an object with its state before the change. Only the API server can check such a rule, and
// only on a schema node that nobody can remove and add again: `crd/structural.ts` refuses the rule anywhere else.

/** The name of the field that contains validation rules in a Kubernetes schema. */
export const rulesKey = 'x-kubernetes-validations';

/** A validation rule as the custom resource definition contains it. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason?: 'FieldValueRequired' | 'FieldValueInvalid' | 'FieldValueForbidden';
}

/**
 * A validation rule in two forms: as CEL for the API server, and as the function `check` for the operator's own parser.
 * Both must accept and refuse the same values.
 */
export interface Rule<Value> extends CelRule {
  readonly check: (value: Value) => boolean;
}

/**
 * Returns a copy of a schema with more annotations; its earlier annotations stay. The function `meta` of zod would do
 * the same, but its copy refers to the original schema, which would then stay in memory.
 */
export function annotated<Schema extends z.ZodType>(schema: Schema, more: Readonly<Record<string, unknown>>): Schema {
  const copy = schema.clone(schema.def);
  z.globalRegistry.add(copy, { ...schema.meta(), ...more });
  return copy;
}

/** Returns the validation rules of a schema. */
export function rulesOf(schema: z.ZodType): readonly CelRule[] {
  return (schema.meta()?.[rulesKey] ?? []) as readonly CelRule[];
}

/** Returns the same schema with one more validation rule. */
export function withRule<Schema extends z.ZodType>(schema: Schema, asked: Rule<z.output<Schema>>): Schema {
  const { check, ...cel } = asked;
  const path = cel.fieldPath?.split('.').filter((part) => part !== '');
  const refined = schema.refine((value) => check(value), { error: cel.message, ...(path !== undefined && { path }) });
  return withCel(refined, schema, cel);
}

/** Returns the same schema with one more validation rule, which compares the new value with the old value. */
export function withTransition<Schema extends z.ZodType>(schema: Schema, cel: CelRule): Schema {
  return withCel(schema, schema, cel);
}

function withCel<Schema extends z.ZodType>(schema: Schema, before: z.ZodType, cel: CelRule): Schema {
  return annotated(schema, { ...before.meta(), [rulesKey]: [...rulesOf(before), cel] });
}

/**
 * Returns the same schema with the rule that the value can never be changed. `message` tells the user what to do
 * instead.
 */
export function immutable<Schema extends z.ZodType>(schema: Schema, message: string): Schema {
  return withTransition(schema, { rule: 'self == oldSelf', message, reason: 'FieldValueForbidden' });
}

/**
 * Returns a CEL rule that forbids changing, adding or removing a field.
 *
 * A comparison of optional values (`self.?a == oldSelf.?a`) would be shorter, but the API server cannot estimate its
 * cost.
 */
function sameField(path: string): string {
  return `has(self.${path}) == has(oldSelf.${path}) && (!has(self.${path}) || self.${path} == oldSelf.${path})`;
}

type FieldOf<Schema extends z.ZodType> = keyof z.output<Schema> & string;

/** Returns the same object schema with rules that the named fields can never be changed, added or removed later. */
export function immutableFields<Schema extends z.ZodObject>(
  schema: Schema,
  names: readonly FieldOf<Schema>[],
  advice: string,
): Schema {
  const added = names.map((name) => ({
    rule: sameField(celName(name)),
    message: `${name} cannot be changed; ${advice}`,
    fieldPath: `.${name}`,
    reason: 'FieldValueForbidden' as const,
  }));
  return added.reduce((so, cel) => withTransition(so, cel), schema);
}

/** Returns the same object schema with the rule that exactly one of the named fields must be set. */
export function exactlyOne<Schema extends z.ZodObject>(schema: Schema, names: readonly FieldOf<Schema>[]): Schema {
  return withRule(schema, {
    rule: `${presences(names)}.exists_one(given, given)`,
    message: `set exactly one of ${names.join(', ')}`,
    check: (value) => given(value, names) === 1,
  });
}

/** Returns the same object schema with the rule that at most one of the named fields may be set. */
export function atMostOne<Schema extends z.ZodObject>(schema: Schema, names: readonly FieldOf<Schema>[]): Schema {
  return withRule(schema, {
    rule: `${presences(names)}.filter(given, given).size() <= 1`,
    message: `set at most one of ${names.join(', ')}`,
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

/** Returns the name of a field in CEL, where reserved words are escaped. */
export function celName(name: string): string {
  return reserved.has(name) ? `__${name}__` : name;
}

// ---- a value that fits its schema ------------------------------------------------------------------------------
//
// Shortens the values in a status until they fit their schema, because the API server refuses a whole status if one field
// does not fit.
//
// Only fields for people are shortened, never the journal: it may contain a request body that must be sent again byte for
// byte.
//
// Why: docs/design/status-and-conditions.md#a-status-is-shortened-to-fit-its-schema-before-it-is-written

/** Says which list was shortened, and how many entries it had before. */
export interface Cut {
  readonly field: string;
  readonly total: number;
}

/** One node of a JSON schema, as zod generates it. */
export interface SchemaNode {
  readonly type?: string;
  readonly format?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly [keyword: string]: unknown;
}

const nodes = new WeakMap<z.ZodType, SchemaNode>();

/**
 * Fits a value to its schema: long texts and lists are shortened, whole numbers lose their fraction, numbers are moved
 * to the nearest bound, and unknown fields and invalid times are dropped. Also returns which lists were cut.
 */
export function fit<Value>(schema: z.ZodType<Value>, value: Value): { value: Value; cut: readonly Cut[] } {
  let node = nodes.get(schema);
  if (node === undefined) {
    node = z.toJSONSchema(schema, { io: 'input' }) as SchemaNode;
    nodes.set(schema, node);
  }
  const cut: Cut[] = [];
  return { value: within(node, value, '', cut) as Value, cut };
}

function within(node: SchemaNode, value: unknown, path: string, cut: Cut[]): unknown {
  if (typeof value === 'string') return shortened(value, node.maxLength);
  if (typeof value === 'number') return bounded(node, node.type === 'integer' ? Math.floor(value) : value);
  if (Array.isArray(value)) return list(node, value, path, cut);
  if (typeof value === 'object' && value !== null) return object(node, value, path, cut);
  return value;
}

function bounded({ minimum, maximum }: SchemaNode, value: number): number {
  return Math.min(Math.max(value, minimum ?? value), maximum ?? value);
}

// The format of times that the API server accepts: https://github.com/go-openapi/strfmt/blob/v0.23.0/time.go
const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.]\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * True for a value that must be a time but is not. If a status contained such a value, the API server would refuse the
 * whole status.
 */
function isNoTime({ format }: SchemaNode, value: unknown): boolean {
  return (
    format === 'date-time' && !(typeof value === 'string' && timeForm.test(value) && !Number.isNaN(Date.parse(value)))
  );
}

/** Shortens a text to at most `maxLength` characters, counted as the API server counts them. */
function shortened(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  if (text.length <= maxLength) return text;
  const characters = Array.from(text);
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join('')}…`;
}

function list(node: SchemaNode, items: readonly unknown[], path: string, cut: Cut[]): unknown {
  const { maxItems = items.length, items: item } = node;
  if (items.length > maxItems) cut.push({ field: path, total: items.length });
  return item === undefined ? items : items.slice(0, maxItems).map((one) => within(item, one, `${path}[]`, cut));
}

function object(node: SchemaNode, value: object, path: string, cut: Cut[]): unknown {
  const { properties, additionalProperties, maxProperties } = node;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  if (properties !== undefined) {
    return mapped(value, (one, name) => {
      const child = properties[name];
      return child === undefined || isNoTime(child, one) ? undefined : within(child, one, at(name), cut);
    });
  }
  const given = Object.entries(definedIn(value));
  const most = maxProperties ?? given.length;
  if (given.length > most) cut.push({ field: path, total: given.length });
  const kept = Object.fromEntries(given.slice(0, most));
  if (typeof additionalProperties !== 'object') return kept;
  return mapped(kept, (one, name) => within(additionalProperties, one, at(name), cut));
}
