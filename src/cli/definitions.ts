/** Finds the reasons why the API server would refuse an object, from the zod schema that its CRD is generated from. */
import { z } from 'zod';
import { isRecord } from '../base/json.ts';
import { ownNameKey } from '../engine/kind/schema/schema.ts';
import { nearest } from '../kinds/shared/nearest.ts';
import { kindOf } from './cluster/objects.ts';

type Path = readonly (string | number)[];

/** The reason why the API server would refuse an object, and the field. */
export interface Flaw {
  /** The path of the field, such as `['spec', 'contactPoints', 0]`. */
  readonly path: Path;
  readonly message: string;
}

/** Writes the path of a field as messages show it, such as `spec.contactPointRefs[0].name` or `metadata.name`. */
export function pathInWords(path: Path): string {
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('');
}

/** Lists the reasons why the API server would refuse to create an object; returns an empty list if it would accept the object. */
export function flawsOf(kind: string, object: Readonly<Record<string, unknown>>): readonly Flaw[] {
  const schema = kindOf(kind)?.spec;
  if (schema === undefined) return [{ path: ['kind'], message: `apphosting.dev/v1alpha1 has no kind ${kind}` }];
  const { apiVersion: _apiVersion, kind: _kind, metadata, spec, status: _status, ...others } = object;
  const strangers = Object.keys(others).map((name) => unknownField([name], ['metadata', 'spec']));
  const { error } = schema.safeParse(withoutNulls(spec), { reportInput: true });
  const flaws = (error?.issues ?? []).flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    if (issue.code !== 'unrecognized_keys') return [{ path: ['spec', ...path], message: messageOf(issue) }];
    return issue.keys.map((key) => unknownField(['spec', ...path, key], fieldsAt(schema, path)));
  });
  return [...nameFlaws(metadata, schema, spec), ...strangers, ...flaws];
}

// The syntax of a DNS subdomain name: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function nameFlaws(metadata: unknown, schema: z.ZodType, spec: unknown): readonly Flaw[] {
  const flaw = (message: string): readonly Flaw[] => [{ path: ['metadata', 'name'], message }];
  const { name, generateName } = isRecord(metadata) ? metadata : {};
  if (name === undefined && typeof generateName === 'string') return [];
  if (typeof name !== 'string' || name === '') return flaw('name is required');
  if (name.length > 253 || !subdomain.test(name))
    return flaw(`"${name}" is not a valid name: use lower case letters, digits, - and ., and no - or . at the ends`);
  // Check the length of the resource's name too: unless the spec
  // sets another name, the object in the service gets this name.
  return fieldsAt(schema, []).flatMap((field) => {
    const { maxLength, [ownNameKey]: isOwnName } = schemaAt(schema, [field])?.meta() ?? {};
    const isTooLong = isOwnName !== undefined && name.length > Number(maxLength);
    if (!isTooLong || (isRecord(spec) && spec[field] !== undefined)) return [];
    return flaw(`the service takes at most ${String(maxLength)} characters as a name: set spec.${field}`);
  });
}

/** Removes fields that are null, as the API server does for optional fields. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const rows = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(rows.map(([name, inner]) => [name, withoutNulls(inner)]));
}

function messageOf(issue: Exclude<z.core.$ZodIssue, { code: 'unrecognized_keys' }>): string {
  const { code, input, message } = issue;
  if (code === 'invalid_type' || code === 'invalid_value') {
    if (input === undefined) return 'is required';
    const values = code === 'invalid_value' ? issue.values.join(', ') : '';
    const wanted = code === 'invalid_type' ? `of type ${issue.expected}` : `one of ${values}`;
    return `the value is ${inWords(input)}, but must be ${wanted}`;
  }
  if (code === 'invalid_format') return `the value is ${inWords(input)}, but ${message}`;
  if (code !== 'too_small' && code !== 'too_big') return message;
  const limit = code === 'too_small' ? `at least ${issue.minimum}` : `at most ${issue.maximum}`;
  return Array.isArray(input)
    ? `the list has ${input.length} items, but must have ${limit}`
    : `the value is ${inWords(input)}, but must be ${limit}`;
}

function inWords(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? `the text ${JSON.stringify(value)}` : JSON.stringify(value);
}

/**
 * Reports a field that the schema does not have. If a field name of the schema is similar, suggests the most similar
 * one.
 */
function unknownField(path: Path, known: readonly string[]): Flaw {
  const meant = nearest(String(path.at(-1)), known);
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return { path, message: `unknown field${hint}` };
}

/** Lists the names of the fields at a path in a schema; returns an empty list if the schema at the path describes no object. */
export function fieldsAt(schema: z.ZodType, path: Path): readonly string[] {
  const found = schemaAt(schema, path);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

/** Returns the value at a path in an object; undefined if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, part) => (isRecord(inner) ? inner[part] : undefined), value);
}

/** Finds the schema at a path inside a schema. */
function schemaAt(schema: z.ZodType | undefined, path: Path): z.ZodType | undefined {
  if (schema instanceof z.ZodOptional) return schemaAt(schema.unwrap() as z.ZodType, path);
  const [first, ...rest] = path;
  if (first === undefined) return schema;
  if (schema instanceof z.ZodArray) return schemaAt(schema.element as z.ZodType, rest);
  return schema instanceof z.ZodObject ? schemaAt(schema.shape[first] as z.ZodType | undefined, rest) : undefined;
}
