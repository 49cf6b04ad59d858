/**
 * Building blocks for the endpoints of the service: they build requests and parse answers.
 *
 * Fields that the operator acts on are parsed strictly, all others leniently. An optional field that is missing or null becomes
 * undefined. When a required field is not as the interface promises, the parser returns undefined for the whole body, so that half
 * a list never counts as a full one. A text that is compared with a spec stays as it is. A text that is only shown is shortened and
 * cleaned.
 */
import { isRecord, type Json, type JsonObject, Secret } from '../../base/json.ts';
import { z } from 'zod';
import type { Effect, Read, Request } from '../../engine/ports.ts';

/** An id to send in a request: not empty, and without characters that have a meaning in a URL. */
export const Id = z
  .string()
  .max(512)
  .regex(
    /^(?!\.{1,2}$)[^\s\p{Cc}/\\?#%]+$/u,
    'must be an id: not empty, without spaces, control characters, / \\ ? # %',
  );

/** A number, as JSON allows it. */
export const number = z.number();

/** Text that is not empty. */
export const Text = z.string().min(1).max(65_536);

/** Text that may be empty, for fields in which the interface gives the empty string a meaning. */
export const AnyText = z.string().max(1_048_576);

/** Text from a Secret, or plain text. */
export const MaybeSecret = z.union([AnyText, z.instanceof(Secret)]);

/** Any JSON value, with secrets allowed in it, for fields whose type the interface does not document. */
const Anything: z.ZodType<Json> = z.lazy(() =>
  z.union([
    z.null(),
    z.boolean(),
    number,
    MaybeSecret,
    z.array(Anything).readonly(),
    z.record(z.string(), Anything).readonly(),
  ]),
);

/** An object with any keys, for fields whose keys the interface does not document. */
export const AnyObject = z.record(z.string(), Anything).readonly();

/** Builds a GET request. */
export function get(path: string, query: Readonly<Record<string, string>> = {}): Request {
  return { endpoint: `GET ${path}`, method: 'GET', path, query, effect: 'read' };
}

/** Describes an endpoint whose requests have a body. Returns a function that builds a request to the endpoint. */
export function endpoint<Body extends JsonObject>(
  method: 'POST' | 'PATCH',
  path: string,
  effect: Effect,
  schema: z.ZodType<Body>,
): (body: Body) => Request {
  return (body) => ({ endpoint: `${method} ${path}`, method, path, body, effect, schema });
}

/**
 * Describes the endpoint of one object, which `GET` and `DELETE` name by its id in the query. Returns a function that reads the
 * object, where a 404 proves that it is gone, and a function that builds the request to delete it.
 */
export function objectAt<Item>(path: string, name: string, schema: z.ZodType<Item>, idOf: (item: Item) => string) {
  const queryOf = (objectId: string) => ({ [`${name}Id`]: objectId });
  return {
    read: (objectId: string): Read<Item> => ({
      key: `${name}/${objectId}`,
      first: get(path, queryOf(objectId)),
      items: single((body) => parsed(schema, unwrapped(body, name))),
      idOf,
      absentOn404: true,
      pace: 'onDemand',
    }),
    remove: (objectId: string): Request => ({
      endpoint: `DELETE ${path}`,
      method: 'DELETE',
      path,
      query: queryOf(objectId),
      effect: 'remove',
    }),
  };
}

/** Reads a list in pages of 100 items. Each page gives the cursor of the next page. */
export function cursorList<Item>(
  path: string,
  query: Readonly<Record<string, string>>,
): Pick<Read<Item>, 'first' | 'next'> {
  const first = { ...query, limit: '100' };
  return {
    first: get(path, first),
    next: (body) => {
      const after = nextCursorOf(body);
      return after === undefined ? undefined : get(path, { ...first, after });
    },
  };
}

/** Reads one object as a list of one item. */
export function single<Item>(parse: (body: unknown) => Item | undefined): Read<Item>['items'] {
  return (body) => {
    const item = parse(body);
    return item === undefined ? undefined : [item];
  };
}

/** The schema of an id in an answer: without spaces, and not a URL. */
export const id = z.string().regex(/^(?!.*:\/\/)[^\s\p{C}]{1,256}$/u);

/** A field that the operator acts on: it may be absent or null; any other value must fit the schema. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema));
}

/** A field that is only shown to people: a value that does not fit the schema counts as absent. */
export function lenient<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema)).catch(undefined);
}

/** A list that is only shown to people: entries that do not fit the schema are left out. */
export function lenientList<Value>(schema: z.ZodType<Value>): z.ZodType<readonly Value[]> {
  return z.preprocess(
    (value) => (Array.isArray(value) ? value.filter((entry) => schema.safeParse(entry).success) : []),
    z.array(schema),
  );
}

/** Accepts a bare text, or an object with the text under one of these names. */
export function bareOrIn<Value>(schema: z.ZodType<Value>, ...names: readonly string[]): z.ZodType<Value> {
  const textIn = (holder: Readonly<Record<string, unknown>>): unknown =>
    names.map((name) => holder[name]).find((value) => typeof value === 'string');
  return z.preprocess((value) => (isRecord(value) ? textIn(value) : value), schema);
}

/** Keeps a text or null, where null has a meaning of its own. Any other value becomes undefined. */
export const textOrNull: z.ZodType<string | null | undefined> = z
  .unknown()
  .optional()
  .transform((value) => (typeof value === 'string' || value === null ? value : undefined));

/** Parses a date to milliseconds since the epoch; a value that is not a date becomes undefined. */
export const dateMs: z.ZodType<number | undefined> = z.unknown().transform((value) => {
  const parsed = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
});

/** Returns the object under one of these names, or else the body itself, since the service may wrap an object or not. */
export function unwrapped(body: unknown, ...names: readonly string[]): unknown {
  if (!isRecord(body)) return undefined;
  for (const name of names) {
    const inner = body[name];
    if (isRecord(inner)) return inner;
  }
  return body;
}

/** Parses a value by a schema; returns undefined if the value does not fit. */
export function parsed<Value>(schema: z.ZodType<Value>, value: unknown): Value | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}

/** Parses each item of a list by the schema. A schema of the whole list would have to be compiled again at each call. */
function parsedAll<Item>(schema: z.ZodType<Item>, list: readonly unknown[]): readonly Item[] | undefined {
  const items: Item[] = [];
  for (const item of list) {
    const result = schema.safeParse(item);
    if (!result.success) return undefined;
    items.push(result.data);
  }
  return items;
}

/** Parses the list under this field name; returns undefined when the body has no such list or an item does not fit the schema. */
export function listNamed<Item>(schema: z.ZodType<Item>, name: string): Read<Item>['items'] {
  return (body) => {
    const list = isRecord(body) ? body[name] : undefined;
    return Array.isArray(list) ? parsedAll(schema, list) : undefined;
  };
}

/** Parses the list under this field name, or else the only list in the body. Serves answers whose list has no documented name. */
export function anyListNamed<Item>(schema: z.ZodType<Item>, name: string): Read<Item>['items'] {
  return (body) => {
    const lists = Array.isArray(body) ? [body] : isRecord(body) ? Object.values(body).filter(Array.isArray) : [];
    const [only, other] = lists;
    const anyhow = () => (only === undefined || other !== undefined ? undefined : parsedAll(schema, only));
    return listNamed(schema, name)(body) ?? anyhow();
  };
}

/** Reads the cursor of the next page; undefined on the last page, where the cursor is absent, null or empty. */
function nextCursorOf(body: unknown): string | undefined {
  const cursor = isRecord(body) ? body['nextCursor'] : undefined;
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
}

const strange = '(no word)';

/** A word of the service, such as a state. A text of another form is shown as `(no word)`. */
export const word = z.string().transform((text) => (/^[\w .-]{0,64}$/.test(text) ? text : strange));

/** Free text of the service, shortened and cleaned so that it can be shown. */
export const words = z.string().transform((text) => wordsFrom(text));

/** A note of the service that people must read: cleaned like other free text, but cut at 2,000 characters instead of 200. */
export const note = z.string().transform((text) => wordsFrom(text, longestNote));

/** A text that is compared with a field of a spec, so it stays exactly as it is. */
export const compared = z.string();

/** A date and time, kept as the text that the service wrote. */
export const time = z.string().regex(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/i);

/** The greatest number of characters that are shown of a message of the service. */
export const longestMessage = 200;
const longestNote = 2_000;

/** Finds the message in an error body of any shape; returns undefined when the body has none that people can read. */
export function errorTextOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body.trimStart().startsWith('<') ? undefined : nonEmpty(body);
  if (!isRecord(body)) return undefined;
  const { error, message, details } = body;
  const inner = isRecord(error) ? (error['message'] ?? error['error'] ?? error['code']) : error;
  const said = [inner, message].find((value) => typeof value === 'string' && value.trim() !== '');
  const more = typeof details === 'string' ? nonEmpty(details) : undefined;
  return typeof said === 'string' ? [said.trim(), more].filter(Boolean).join(': ') : more;
}

/** True when a body reports a failure, whatever the HTTP status. */
export function saysNo(body: unknown): boolean {
  if (!isRecord(body)) return false;
  const { success, error } = body;
  return success === false || (typeof error === 'string' && error.trim() !== '') || isRecord(error);
}

function nonEmpty(text: string): string | undefined {
  return text.trim() === '' ? undefined : text.trim();
}

/** Turns a text into one short line, without control characters, and without URLs, which may contain a signature. */
export function wordsFrom(text: string, longest = longestMessage): string {
  const safe = text
    .slice(0, 64_000)
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/giu, '[url]')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  if (safe.length <= longest) return safe;
  return `${safe.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
