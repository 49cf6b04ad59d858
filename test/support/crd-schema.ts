import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** A node of a structural schema, as far as statuses use it. */
export interface Structural {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Structural>>;
  readonly items?: Structural;
  readonly additionalProperties?: Structural | boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

interface Manifest {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly [
      {
        readonly schema: { readonly openAPIV3Schema: { readonly properties: Readonly<Record<string, Structural>> } };
      },
    ];
  };
}

const folder = join(import.meta.dirname, '../../crds');

/** The schema of status of every kind, from the manifests that users install. */
export function statusSchemas(): ReadonlyMap<string, Structural> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  return new Map(
    files.map((file) => {
      const { spec } = parse(readFileSync(join(folder, file), 'utf8')) as Manifest;
      return [spec.names.kind, spec.versions[0].schema.openAPIV3Schema.properties['status'] ?? {}];
    }),
  );
}

/** What the API server would refuse of a value, or silently drop, one sentence each. */
export function schemaFlaws(schema: Structural, value: unknown, path = 'status'): readonly string[] {
  const { type } = schema;
  const whole = type === 'integer' || type === 'number';
  if (Array.isArray(value)) return type === 'array' ? listFlaws(schema, value, path) : [`${path} is a list`];
  if (typeof value === 'string') return type === 'string' ? textFlaws(schema, value, path) : [`${path} is a text`];
  if (typeof value === 'number') return whole ? numberFlaws(schema, value, path) : [`${path} is a number`];
  if (typeof value === 'boolean') return type === 'boolean' ? [] : [`${path} is a truth value`];
  if (typeof value === 'object' && value !== null)
    return type === 'object' ? objectFlaws(schema, value, path) : [`${path} is an object`];
  return [`${path} is ${String(value)}`];
}

function objectFlaws(schema: Structural, value: object, path: string): readonly string[] {
  const { properties = {}, additionalProperties, required = [], maxProperties = Number.POSITIVE_INFINITY } = schema;
  const rows = Object.entries(value).filter(([, item]) => item !== undefined);
  const names = new Set(rows.map(([name]) => name));
  const missing = required.filter((name) => !names.has(name)).map((name) => `${path}.${name} is missing`);
  const tooMany = rows.length > maxProperties ? [`${path} has ${rows.length} entries`] : [];
  const inside = rows.flatMap(([name, item]) => {
    const child = properties[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    const isOpen = additionalProperties === true;
    return child === undefined
      ? isOpen
        ? []
        : [`${path}.${name} is not in the schema and would be dropped`]
      : schemaFlaws(child, item, `${path}.${name}`);
  });
  return [...missing, ...tooMany, ...inside];
}

function listFlaws(schema: Structural, value: readonly unknown[], path: string): readonly string[] {
  const { items = {}, maxItems = Number.POSITIVE_INFINITY } = schema;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const listType = schema['x-kubernetes-list-type'] ?? 'atomic';
  const identity = (item: unknown) =>
    JSON.stringify(listType === 'map' ? keys.map((key) => (item as Record<string, unknown>)[key]) : item);
  return [
    ...(value.length > maxItems ? [`${path} has ${value.length} items`] : []),
    ...(listType !== 'atomic' && new Set(value.map(identity)).size !== value.length ? [`${path} repeats an item`] : []),
    ...value.flatMap((item, at) => schemaFlaws(items, item, `${path}[${at}]`)),
  ];
}

const patterns = new Map<string, RegExp>();

/** Made once: a life writes thousands of statuses. */
function patternOf(text: string): RegExp {
  const pattern = patterns.get(text) ?? new RegExp(text, 'u');
  patterns.set(text, pattern);
  return pattern;
}

function textFlaws(schema: Structural, value: string, path: string): readonly string[] {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  const notAsPattern = pattern !== undefined && !patternOf(pattern).test(value);
  const length = value.length > maxLength || minLength > 0 ? Array.from(value).length : value.length;
  return [
    ...(length < minLength || length > maxLength ? [`${path} has ${length} characters`] : []),
    ...(schema.enum?.includes(value) === false ? [`${path} is "${value}"`] : []),
    ...(notAsPattern ? [`${path} is "${value}", which does not match ${pattern}`] : []),
    ...(format === 'date-time' && Number.isNaN(Date.parse(value)) ? [`${path} is no time`] : []),
  ];
}

function numberFlaws(schema: Structural, value: number, path: string): readonly string[] {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  const isFraction = schema.type === 'integer' && !Number.isInteger(value);
  return value < minimum || value > maximum || isFraction ? [`${path} is ${value}`] : [];
}
