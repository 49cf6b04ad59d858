/**
 * Cuts a status to its schema, because the API server refuses a whole status that does not fit.
 *
 * Only fields for people are cut, never the journal: bytes that are sent again must be the same bytes.
 *
 * Why: docs/design/status-and-conditions.md#a-status-is-cut-to-its-schema-before-it-is-written
 */
import { z } from 'zod';

/** A list that lost entries. */
export interface Cut {
  readonly field: string;
  readonly total: number;
}

/** A value that fits the schema, and the lists that were cut for it. */
export interface Fitted<Value> {
  readonly value: Value;
  readonly cut: readonly Cut[];
}

interface Node {
  readonly type?: string;
  readonly format?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly additionalProperties?: Node | boolean;
}

const nodes = new WeakMap<z.ZodType, Node>();

/**
 * Cuts a value to its schema: texts and lists lose their end, numbers go to the nearest bound, unknown fields and invalid
 * times are dropped.
 */
export function fit<Value>(schema: z.ZodType<Value>, value: Value): Fitted<Value> {
  let node = nodes.get(schema);
  if (node === undefined) {
    node = z.toJSONSchema(schema, { io: 'input' }) as Node;
    nodes.set(schema, node);
  }
  const cut: Cut[] = [];
  return { value: within(node, value, '', cut) as Value, cut };
}

function within(node: Node, value: unknown, path: string, cut: Cut[]): unknown {
  if (typeof value === 'string') return shortened(value, node.maxLength);
  if (typeof value === 'number') return Math.min(Math.max(value, node.minimum ?? value), node.maximum ?? value);
  if (Array.isArray(value)) return list(node, value, path, cut);
  if (typeof value === 'object' && value !== null) return object(node, value, path, cut);
  return value;
}

// As the API server reads times: https://github.com/go-openapi/strfmt/blob/v0.23.0/time.go
const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.]\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** The API server would refuse the whole status for a text that is no time where there must be one. */
function isNoTime({ format }: Node, value: unknown): boolean {
  return (
    format === 'date-time' && !(typeof value === 'string' && timeForm.test(value) && !Number.isNaN(Date.parse(value)))
  );
}

/** Characters are counted as the API server counts them. */
function shortened(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  if (text.length <= maxLength) return text;
  const characters = Array.from(text);
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join('')}…`;
}

function list(node: Node, items: readonly unknown[], path: string, cut: Cut[]): unknown {
  const { maxItems = items.length, items: item } = node;
  if (items.length > maxItems) cut.push({ field: path, total: items.length });
  return item === undefined ? items : items.slice(0, maxItems).map((one) => within(item, one, `${path}[]`, cut));
}

function object(node: Node, value: object, path: string, cut: Cut[]): unknown {
  const { properties, additionalProperties, maxProperties } = node;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const given = Object.entries(value).filter(([, one]) => one !== undefined);
  if (properties !== undefined) {
    return Object.fromEntries(
      given.flatMap(([name, one]) => {
        const child = properties[name];
        return child === undefined || isNoTime(child, one) ? [] : [[name, within(child, one, at(name), cut)]];
      }),
    );
  }
  const most = maxProperties ?? given.length;
  if (given.length > most) cut.push({ field: path, total: given.length });
  if (typeof additionalProperties !== 'object') return Object.fromEntries(given.slice(0, most));
  const kept = given.slice(0, most).map(([name, one]) => [name, within(additionalProperties, one, at(name), cut)]);
  return Object.fromEntries(kept);
}
