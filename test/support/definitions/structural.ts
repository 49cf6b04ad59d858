import { isRecord } from '../../../src/base/json.ts';
import type { CelRule } from '../../../src/engine/kind/schema/schema.ts';
import { manifest } from '../../../src/crd/manifest.ts';
import { kinds } from '../../../src/kinds/index.ts';

/** A node of a structural schema, as far as ours use it. */
export interface Structural {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Structural>>;
  readonly items?: Structural;
  readonly additionalProperties?: Structural;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

const schemas = new Map(
  kinds.map((identity) => {
    const schema = manifest(identity).spec.versions[0]?.schema.openAPIV3Schema as Structural | undefined;
    return [identity.kind, schema] as const;
  }),
);

/** The schema of a kind of ours, as its definition has it. */
export function schemaOf(kind: string): Structural | undefined {
  return schemas.get(kind);
}

/** What the API server would refuse of a value, or silently drop, one sentence each. */
export function schemaFlaws(schema: Structural, value: unknown, path: string): readonly string[] {
  const { type } = schema;
  if (type !== undefined && !isOfType(value, type)) return [`${path} is ${JSON.stringify(value)}, and no ${type}`];
  if (Array.isArray(value)) return listFlaws(schema, value, path);
  if (isRecord(value)) return type === undefined ? [] : objectFlaws(schema, value, path);
  const wrong = typeof value === 'string' ? textFlaw(schema, value) : numberFlaw(schema, value);
  return wrong === undefined ? [] : [`${path} is ${JSON.stringify(value)}, ${wrong}`];
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isRecord(value) && !Array.isArray(value);
  return typeof value === type;
}

function objectFlaws(schema: Structural, value: Readonly<Record<string, unknown>>, path: string): readonly string[] {
  const { properties = {}, additionalProperties, required = [], maxProperties = Number.POSITIVE_INFINITY } = schema;
  const rows = Object.entries(value);
  const missing = required.filter((name) => value[name] === undefined).map((name) => `${path}.${name} is missing`);
  const tooMany = rows.length > maxProperties ? [`${path} has ${rows.length} entries`] : [];
  const inside = rows.flatMap(([name, item]) => {
    const child = properties[name] ?? additionalProperties;
    const at = `${path}.${name}`;
    return child === undefined ? [`${at} is not in the schema and would be dropped`] : schemaFlaws(child, item, at);
  });
  return [...missing, ...tooMany, ...inside];
}

function listFlaws(schema: Structural, value: readonly unknown[], path: string): readonly string[] {
  const { items = {}, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  const isWrong = value.length < minItems || value.length > maxItems;
  return [
    ...(isWrong ? [`${path} has ${value.length} items`] : []),
    ...(repeats(schema, value) ? [`${path} repeats an item`] : []),
    ...value.flatMap((item, at) => schemaFlaws(items, item, `${path}[${at}]`)),
  ];
}

function repeats(schema: Structural, value: readonly unknown[]): boolean {
  const { 'x-kubernetes-list-type': type = 'atomic', 'x-kubernetes-list-map-keys': keys = [] } = schema;
  if (type === 'atomic') return false;
  const identity = (item: unknown) =>
    JSON.stringify(type === 'map' && isRecord(item) ? keys.map((key) => item[key]) : item);
  return new Set(value.map(identity)).size !== value.length;
}

const patterns = new Map<string, RegExp>();

/** Made once: a life writes thousands of statuses. */
function patternOf(text: string): RegExp {
  const pattern = patterns.get(text) ?? new RegExp(text, 'u');
  patterns.set(text, pattern);
  return pattern;
}

function textFlaw(schema: Structural, value: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  const length = value.length > maxLength || minLength > 0 ? Array.from(value).length : value.length;
  if (length < minLength || length > maxLength) return `which has ${length} characters`;
  if (schema.enum?.includes(value) === false) return `and none of ${schema.enum.join(', ')}`;
  if (pattern !== undefined && !patternOf(pattern).test(value)) return `which does not match ${pattern}`;
  return format === 'date-time' && !dateTime.test(value) ? 'and no time' : undefined;
}

// RFC 3339, as the API server reads it.
const dateTime =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const widest: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

function numberFlaw(schema: Structural, value: unknown): string | undefined {
  if (typeof value !== 'number') return undefined;
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, format = '' } = schema;
  const width = widest[format] ?? Number.POSITIVE_INFINITY;
  if (value < minimum || value > maximum) return `and not between ${minimum} and ${maximum}`;
  return value >= width || value < -width ? `which is not of format ${format}` : undefined;
}
