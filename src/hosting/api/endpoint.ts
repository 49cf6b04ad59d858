/**
 * Functions and schemas that describe the endpoints of the service. They build requests and parse responses.
 *
 * Fields that the operator acts on are parsed strictly, all others leniently. An optional field that is missing or null becomes
 * undefined. When a required field does not have the type that the service's API documents, the parser returns undefined for the
 * whole body, so that an incomplete list never counts as complete.
 *
 * A string that is compared with a spec stays unchanged. A string that is only shown to people is shortened and cleaned.
 */
import { isRecord, type Json, type JsonObject, Secret } from '../../base/json.ts';
import { z } from 'zod';
import type { Effect, Read, Request } from '../../engine/ports.ts';

/** The schema of an id in a request: not empty, and without characters that have a meaning in a URL. */
export const Id = z
  .string()
  .max(512)
  .regex(
    /^(?!\.{1,2}$)[^\s\p{Cc}/\\?#%]+$/u,
    'an id must not be empty, . or .., or contain spaces, control characters or / \\ ? # %',
  );

/** The schema of a JSON number. */
export const number = z.number();

/** The schema of a string that is not empty. */
export const Text = z.string().min(1).max(65_536);

/** The schema of a string that may be empty, for fields in which the empty string has a meaning in the service. */
export const AnyText = z.string().max(1_048_576);

/** The schema of a string that may be secret: a `Secret` or a plain string. */
export const MaybeSecret = z.union([AnyText, z.instanceof(Secret)]);

/** The schema of any JSON value, which may contain `Secret`s, for fields whose type the service's API does not document. */
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

/** The schema of an object with any keys, for fields whose keys the service's API does not document. */
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
 * Describes the endpoint of a single object. `GET` and `DELETE` requests to this endpoint have the object's id in the query.
 *
 * `read` describes how to read the object; a 404 proves that the object does not exist. `remove` builds the request that deletes
 * the object.
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

/**
 * Describes how to read a list of all objects of one type in an account, at the account's poll interval. `key` is the key of the
 * read, and the field of the response that has the list.
 */
export function listAt<Item>(path: string, key: string, schema: z.ZodType<Item>, idOf: (item: Item) => string) {
  const items = listNamed(schema, key);
  return (accountId: string): Read<Item> => ({ key, first: get(path, { accountId }), items, idOf, pace: 'poll' });
}

/** Describes how to read a list in pages of 100 items. Each page contains the cursor of the next page. */
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

/** Makes a parser of a list from a parser of one object. The parsed list contains just this object. */
export function single<Item>(parse: (body: unknown) => Item | undefined): Read<Item>['items'] {
  return (body) => {
    const item = parse(body);
    return item === undefined ? undefined : [item];
  };
}

/** The schema of an id in an answer of the service: without spaces, and not a URL. */
export const id = z.string().regex(/^(?!.*:\/\/)[^\s\p{C}]{1,256}$/u);

/** The schema of a field that the operator acts on. The field may be absent or null; any other value must fit the given schema. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema));
}

/** The schema of a field that is only shown to people. A value that does not fit the given schema counts as absent. */
export function lenient<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema)).catch(undefined);
}

/** The schema of a list that is only shown to people. Entries that do not fit the given schema are left out. */
export function lenientList<Value>(schema: z.ZodType<Value>): z.ZodType<readonly Value[]> {
  return z.preprocess(
    (value) => (Array.isArray(value) ? value.filter((entry) => schema.safeParse(entry).success) : []),
    z.array(schema),
  );
}

/** Extends a schema of strings: the new schema also accepts an object that has the string in one of the given fields. */
export function bareOrIn<Value>(schema: z.ZodType<Value>, ...names: readonly string[]): z.ZodType<Value> {
  const textIn = (holder: Readonly<Record<string, unknown>>): unknown =>
    names.map((name) => holder[name]).find((value) => typeof value === 'string');
  return z.preprocess((value) => (isRecord(value) ? textIn(value) : value), schema);
}

/** The schema of a field in which null has a meaning of its own: keeps a string or null; any other value becomes undefined. */
export const textOrNull: z.ZodType<string | null | undefined> = z
  .unknown()
  .optional()
  .transform((value) => (typeof value === 'string' || value === null ? value : undefined));

/** Parses a date into milliseconds since the epoch; a value that is not a date becomes undefined. */
export const dateMs: z.ZodType<number | undefined> = z.unknown().transform((value) => {
  const parsed = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
});

/**
 * Returns the object in one of the given fields of the body, or else the body itself, because the service may wrap an object in
 * a field.
 */
export function unwrapped(body: unknown, ...names: readonly string[]): unknown {
  if (!isRecord(body)) return undefined;
  for (const name of names) {
    const inner = body[name];
    if (isRecord(inner)) return inner;
  }
  return body;
}

/** Parses a value by a schema; returns undefined if the value does not fit the schema. */
export function parsed<Value>(schema: z.ZodType<Value>, value: unknown): Value | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}

/**
 * Parses the items of a list one by one; returns undefined if an item does not fit the schema. A schema for the whole
 * list would be built here, and compiled by zod, at each call.
 */
function parsedAll<Item>(schema: z.ZodType<Item>, list: readonly unknown[]): readonly Item[] | undefined {
  const items: Item[] = [];
  for (const item of list) {
    const result = schema.safeParse(item);
    if (!result.success) return undefined;
    items.push(result.data);
  }
  return items;
}

/**
 * Returns a parser of the list in the given field. The parser returns undefined when the body has no such list, or when an item
 * does not fit the schema.
 */
export function listNamed<Item>(schema: z.ZodType<Item>, name: string): Read<Item>['items'] {
  return (body) => {
    const list = isRecord(body) ? body[name] : undefined;
    return Array.isArray(list) ? parsedAll(schema, list) : undefined;
  };
}

/**
 * Returns a parser for a response whose list is in a field that the service's API does not document. The parser tries the given
 * field first. If this field is missing, the parser reads the only list in the body.
 */
export function anyListNamed<Item>(schema: z.ZodType<Item>, name: string): Read<Item>['items'] {
  return (body) => {
    const lists = Array.isArray(body) ? [body] : isRecord(body) ? Object.values(body).filter(Array.isArray) : [];
    const [only, other] = lists;
    const anyhow = () => (only === undefined || other !== undefined ? undefined : parsedAll(schema, only));
    return listNamed(schema, name)(body) ?? anyhow();
  };
}

/** Reads the cursor of the next page from a page; returns undefined on the last page, where the cursor is absent, null or empty. */
function nextCursorOf(body: unknown): string | undefined {
  const cursor = isRecord(body) ? body['nextCursor'] : undefined;
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
}

const strange = '(no word)';

/**
 * The schema of a short value of the service, such as a state. A string that is too long or has unusual characters becomes `(no
 * word)`.
 */
export const word = z.string().transform((text) => (/^[\w .-]{0,64}$/.test(text) ? text : strange));

/** The schema of free text of the service, which is shortened and cleaned so that it can be shown to people. */
export const words = z.string().transform((text) => wordsFrom(text));

/**
 * The schema of a note of the service that people must read. The note is cleaned like other free text, but cut at 2,000
 * characters instead of 200.
 */
export const note = z.string().transform((text) => wordsFrom(text, longestNote));

/**
 * The schema of a string that the operator compares with a field of a spec. Parsing does not shorten or clean the string, because
 * that would falsify the comparison.
 */
export const compared = z.string();

/** The schema of a date and time, kept as the string that the service wrote. */
export const time = z.string().regex(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/i);

/** The operator shows at most this many characters of a message from the service. */
export const longestMessage = 200;
const longestNote = 2_000;

/** Finds the message in an error body of any shape; returns undefined when the body has no message that people can read. */
export function errorTextOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body.trimStart().startsWith('<') ? undefined : nonEmpty(body);
  if (!isRecord(body)) return undefined;
  const { error, message, details } = body;
  const inner = isRecord(error) ? (error['message'] ?? error['error'] ?? error['code']) : error;
  const said = [inner, message].find((value) => typeof value === 'string' && value.trim() !== '');
  const more = typeof details === 'string' ? nonEmpty(details) : undefined;
  return typeof said === 'string' ? [said.trim(), more].filter(Boolean).join(': ') : more;
}

/** True when the body of an answer reports a failure, whatever the HTTP status. */
export function saysNo(body: unknown): boolean {
  if (!isRecord(body)) return false;
  const { success, error } = body;
  return success === false || (typeof error === 'string' && error.trim() !== '') || isRecord(error);
}

function nonEmpty(text: string): string | undefined {
  return text.trim() === '' ? undefined : text.trim();
}

/** Turns a text into one short line without control characters and URLs. A URL may contain a signature. */
export function wordsFrom(text: string, longest = longestMessage): string {
  const safe = text
    .slice(0, 64_000)
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/giu, '[url]')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  if (safe.length <= longest) return safe;
  const start = safe.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '');
  return `${start}…`;
}
