/** Validates an object by its definition, as the API server would on create: structural schema first, then CEL rules. */
import { celName, rulesKey } from '../../../src/engine/kind/schema/schema.ts';
import { isRecord } from '../../../src/base/json.ts';
import { compileRule, type CelValue } from './cel.ts';
import { schemaFlaws, schemaOf, type Structural } from './structural.ts';

/** What the API server would refuse of an object of ours, one sentence each; empty where it would take it. */
export function flawsOf(kind: string, object: Readonly<Record<string, unknown>>): readonly string[] {
  const schema = schemaOf(kind);
  if (schema === undefined) return [`apphosting.dev/v1alpha1 has no kind ${kind}`];
  // Whatever stands in status is dropped when an object is created.
  const { status: _status, ...rest } = object;
  const taken = withoutNulls(rest);
  const known = { ...schema, properties: { ...schema.properties, metadata: {} } };
  const flaws = [...nameFlaws(rest['metadata']), ...schemaFlaws(known, taken, kind)];
  return flaws.length > 0 ? flaws : ruleFlaws(schema, taken);
}

/** The API server drops a null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const rows = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(rows.map(([name, item]) => [name, withoutNulls(item)]));
}

// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function nameFlaws(metadata: unknown): readonly string[] {
  const { name, generateName } = isRecord(metadata) ? metadata : {};
  if (name === undefined && typeof generateName === 'string') return [];
  const isName = typeof name === 'string' && name.length <= 253 && subdomain.test(name);
  return isName ? [] : [`metadata.name is ${JSON.stringify(name)}, and no name`];
}

/** The rules of a node and of everything in it. Those that compare with the object before do not apply to a new one. */
function ruleFlaws(schema: Structural, value: unknown): readonly string[] {
  const own = (schema[rulesKey] ?? []).flatMap(({ rule, message }) => {
    const check = compileRule(rule);
    return check === undefined || check(celOf(schema, value)) ? [] : [message];
  });
  if (Array.isArray(value)) return [...own, ...value.flatMap((item) => ruleFlaws(schema.items ?? {}, item))];
  if (!isRecord(value)) return own;
  const inside = Object.entries(value).flatMap(([name, item]) => {
    const child = schema.properties?.[name] ?? schema.additionalProperties;
    return child === undefined ? [] : ruleFlaws(child, item);
  });
  return [...own, ...inside];
}

/** A value as CEL knows it: whole numbers by the schema, reserved words escaped. */
function celOf(schema: Structural, value: unknown): CelValue {
  if (Array.isArray(value)) return value.map((item) => celOf(schema.items ?? {}, item));
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => {
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
