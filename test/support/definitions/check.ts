/** Validates an object by its definition, as the API server would on create: structural schema first, then CEL rules. */
import { celName, rulesKey, type CelRule } from '../../../src/engine/kind/schema/schema.ts';
import { isRecord } from '../../../src/base/json.ts';
import { manifest } from '../../../src/crd/manifest.ts';
import { identities } from '../../../src/kinds/identities.ts';
import { compileRule, type CelValue } from './cel.ts';

/** Why the API server would refuse an object, and where. */
export interface Flaw {
  /** The way to the field, such as `['spec', 'contactPoints', 0]`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A node of a structural schema, as far as objects are checked against it. */
interface Node {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly additionalProperties?: Node;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

type Path = Flaw['path'];

const roots = new Map<string, Node>();

function rootOf(kind: string): Node | undefined {
  const known = roots.get(kind);
  if (known !== undefined) return known;
  const identity = identities.find((one) => one.kind === kind);
  if (identity === undefined) return undefined;
  const root = manifest(identity).spec.versions[0]?.schema.openAPIV3Schema as Node | undefined;
  if (root !== undefined) roots.set(kind, root);
  return root;
}

/** What the API server would refuse of an object of ours; empty where it would take it. */
export function flawsOf(kind: string, object: Readonly<Record<string, unknown>>): readonly Flaw[] {
  const root = rootOf(kind);
  if (root === undefined) return [{ path: ['kind'], message: `apphosting.dev/v1alpha1 has no kind ${kind}` }];
  // Whatever stands in status is dropped when an object is created.
  const { status: _status, ...rest } = object;
  const known = { ...root, properties: { ...root.properties, metadata: {} } };
  const flaws = [...nameFlaws(rest['metadata']), ...schemaFlaws(known, rest, [])];
  return flaws.length > 0 ? flaws : ruleFlaws(root, rest, []);
}

// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function nameFlaws(metadata: unknown): readonly Flaw[] {
  const { name, generateName } = isRecord(metadata) ? metadata : {};
  if (name === undefined && typeof generateName === 'string') return [];
  if (typeof name !== 'string' || name === '') return [{ path: ['metadata', 'name'], message: 'name is required' }];
  if (name.length <= 253 && subdomain.test(name)) return [];
  const message = `"${name}" is no name: lower case letters, digits, - and . only, and a letter or digit at both ends`;
  return [{ path: ['metadata', 'name'], message }];
}

function schemaFlaws(schema: Node, value: unknown, path: Path): readonly Flaw[] {
  const { type } = schema;
  if (type === undefined) return [];
  if (typeOf(value, type) !== type) return [{ path, message: `must be of type ${type}, and is ${inWords(value)}` }];
  if (Array.isArray(value)) return listFlaws(schema, value, path);
  if (isRecord(value)) return objectFlaws(schema, value, path);
  const message = typeof value === 'string' ? textFlaw(schema, value) : numberFlaw(schema, value);
  return message === undefined ? [] : [{ path, message }];
}

function typeOf(value: unknown, wanted: string): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  if (typeof value === 'number') return wanted === 'number' || !Number.isInteger(value) ? 'number' : 'integer';
  return typeof value;
}

function inWords(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? `the text ${JSON.stringify(value)}` : JSON.stringify(value);
}

function objectFlaws(schema: Node, value: Readonly<Record<string, unknown>>, path: Path): readonly Flaw[] {
  const { properties = {}, additionalProperties, required = [], maxProperties = Number.POSITIVE_INFINITY } = schema;
  const missing = required
    .filter((name) => value[name] === undefined || value[name] === null)
    .map((name) => ({ path: [...path, name], message: 'is required' }));
  const size = Object.keys(value).length;
  const tooMany =
    size > maxProperties ? [{ path, message: `has ${size} entries, and ${maxProperties} is the most` }] : [];
  const inside = Object.entries(value).flatMap(([name, item]) => {
    const child = properties[name] ?? additionalProperties;
    const at = [...path, name];
    if (child === undefined)
      return [{ path: at, message: `unknown field${suggestion(name, Object.keys(properties))}` }];
    // The API server drops a null where nothing is required.
    return item === null || item === undefined ? [] : schemaFlaws(child, item, at);
  });
  return [...missing, ...tooMany, ...inside];
}

/** The field that was probably meant. */
function suggestion(name: string, known: readonly string[]): string {
  const bare = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const near = known.find((one) => bare(one) === bare(name) || bare(one).startsWith(bare(name)));
  return near === undefined ? '' : `; did you mean ${near}?`;
}

function listFlaws(schema: Node, value: readonly unknown[], path: Path): readonly Flaw[] {
  const { items = {}, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const identities = value.map((item) => {
    return JSON.stringify(type === 'map' && isRecord(item) ? keys.map((key) => item[key]) : item);
  });
  const repeated =
    type === 'map' || type === 'set' ? identities.findIndex((one, at) => identities.indexOf(one) < at) : -1;
  return [
    ...(value.length < minItems ? [{ path, message: `needs at least ${minItems} items` }] : []),
    ...(value.length > maxItems ? [{ path, message: `has ${value.length} items, and ${maxItems} is the most` }] : []),
    ...(repeated >= 0 ? [{ path: [...path, repeated], message: `repeats ${identities[repeated]}` }] : []),
    ...value.flatMap((item, at) => schemaFlaws(items, item, [...path, at])),
  ];
}

function textFlaw(schema: Node, value: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  const length = Array.from(value).length;
  if (schema.enum?.includes(value) === false)
    return `is "${value}", and must be one of ${schema.enum.map(String).join(', ')}`;
  if (length < minLength) return minLength === 1 ? 'is empty' : `needs at least ${minLength} characters`;
  if (length > maxLength) return `has ${length} characters, and ${maxLength} is the most`;
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value))
    return `is "${value}", which does not match ${pattern}`;
  return format === 'date-time' && !dateTime.test(value)
    ? `is "${value}", and must be a time such as 2026-01-31T09:00:00Z`
    : undefined;
}

// RFC 3339, as the API server reads it.
const dateTime =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const widest: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

function numberFlaw(schema: Node, value: unknown): string | undefined {
  if (typeof value !== 'number') return undefined;
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, format = '' } = schema;
  if (value < minimum) return `is ${value}, and ${minimum} is the least`;
  if (value > maximum) return `is ${value}, and ${maximum} is the most`;
  const width = widest[format] ?? Number.POSITIVE_INFINITY;
  return value >= width || value < -width ? `is ${value}, which is not of format ${format}` : undefined;
}

/** The rules of a node and of everything in it. Those that compare with the object before do not apply to a new one. */
function ruleFlaws(schema: Node, value: unknown, path: Path): readonly Flaw[] {
  const own = (schema[rulesKey] ?? []).flatMap(({ rule, message, fieldPath = '' }) => {
    const check = compileRule(rule);
    if (check === undefined || check(celOf(schema, value))) return [];
    return [{ path: [...path, ...fieldPath.split('.').filter((part) => part !== '')], message }];
  });
  if (Array.isArray(value))
    return [...own, ...value.flatMap((item, at) => ruleFlaws(schema.items ?? {}, item, [...path, at]))];
  if (!isRecord(value)) return own;
  const inside = Object.entries(value).flatMap(([name, item]) => {
    const child = schema.properties?.[name] ?? schema.additionalProperties;
    return child === undefined || item === null || item === undefined ? [] : ruleFlaws(child, item, [...path, name]);
  });
  return [...own, ...inside];
}

/** A value as CEL knows it: whole numbers by the schema, reserved words escaped. */
function celOf(schema: Node, value: unknown): CelValue {
  if (Array.isArray(value)) return value.map((item) => celOf(schema.items ?? {}, item));
  if (isRecord(value)) {
    const rows = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
    return Object.fromEntries(
      rows.map(([name, item]) => {
        const property = schema.properties?.[name];
        return [
          property === undefined ? name : celName(name),
          celOf(property ?? schema.additionalProperties ?? {}, item),
        ];
      }),
    );
  }
  if (typeof value === 'number') return schema.type === 'integer' ? BigInt(value) : value;
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}
