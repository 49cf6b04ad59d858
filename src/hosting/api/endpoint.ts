/**
 * The vocabulary in which endpoints are described: how a request is written, and how an answer is read.
 *
 * Answers are read strictly in the fields that we use, leniently in all others. A field that may be absent can be missing, null
 * or an empty value of another type; all three become undefined. A field that we cannot do without and that is not what the
 * interface promises makes the whole body unreadable: a reader then answers undefined, and nobody takes half a list for a list.
 * A text that is compared with a spec stays as it is, one that is only shown is made fit.
 */
import { isRecord, type Json, type JsonObject, Secret } from '../../base/json.ts';
import { z } from 'zod';
import type { Effect, Read, Request } from '../../engine/ports.ts';

/** An identifier of the service: opaque, never empty, and nothing that could mean a path. */
export const Id = z
  .string()
  .max(512)
  .regex(
    /^(?!\.{1,2}$)[^\s\p{Cc}/\\?#%]+$/u,
    'must be an id: not empty, without spaces, control characters, / \\ ? # %',
  );

/** A number that JSON can say. */
export const number = z.number();

/** Text that is not empty. */
export const Text = z.string().min(1).max(65_536);

/** Text that may be empty, where the interface gives the empty string a meaning. */
export const AnyText = z.string().max(1_048_576);

/** Text that comes from a Secret, or from the open. */
export const MaybeSecret = z.union([AnyText, z.instanceof(Secret)]);

/** Anything that JSON can say, secrets included: where the interface shows no types. */
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

/** An object whose keys the interface does not fix. */
export const AnyObject = z.record(z.string(), Anything).readonly();

/** A GET. */
export function get(path: string, query: Readonly<Record<string, string>> = {}): Request {
  return { endpoint: `GET ${path}`, method: 'GET', path, query, effect: 'read' };
}

/** Builds the requests of an endpoint that takes a body; the transport sends only what the schema accepts. */
export interface Endpoint<Body> {
  (body: Body): Request;
  readonly endpoint: string;
  readonly schema: z.ZodType;
}

/** An endpoint that takes a body. */
export function endpoint<Body extends JsonObject>(
  method: 'POST' | 'PATCH',
  path: string,
  effect: Effect,
  schema: z.ZodType<Body>,
): Endpoint<Body> {
  const name = `${method} ${path}`;
  return Object.assign((body: Body): Request => ({ endpoint: name, method, path, body, effect }), {
    endpoint: name,
    schema,
  });
}

/** A DELETE, which names its object in the query. */
export function remove(path: string, query: Readonly<Record<string, string>>): Request {
  return { endpoint: `DELETE ${path}`, method: 'DELETE', path, query, effect: 'remove' };
}

/** A list whose pages follow a cursor, 100 items at a time. */
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

/** A read of one object: a list of one, or of none where a 404 says so. */
export function single<Item>(parse: (body: unknown) => Item | undefined): Read<Item>['items'] {
  return (body) => {
    const item = parse(body);
    return item === undefined ? undefined : [item];
  };
}

/** A required id: one piece, and no address. */
export const id = z.string().regex(/^(?!.*:\/\/)[^\s\p{C}]{1,256}$/u);

/** A field that may be absent or null, and must otherwise be what the schema says: it is compared or acted on. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema));
}

/** A field that only informs: anything unexpected counts as not shown. */
export function shown<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema)).catch(undefined);
}

/** A list that only informs; what is unexpected in it is left out. */
export function shownList<Value>(schema: z.ZodType<Value>): z.ZodType<readonly Value[]> {
  return z.preprocess(
    (value) => (Array.isArray(value) ? value.filter((entry) => schema.safeParse(entry).success) : []),
    z.array(schema),
  );
}

/** A text, bare or in an object under one of these names. */
export function bareOrIn<Value>(schema: z.ZodType<Value>, ...names: readonly string[]): z.ZodType<Value> {
  const textIn = (holder: Readonly<Record<string, unknown>>): unknown =>
    names.map((name) => holder[name]).find((value) => typeof value === 'string');
  return z.preprocess((value) => (isRecord(value) ? textIn(value) : value), schema);
}

/** A text, or the null that means something of its own. */
export const textOrNull: z.ZodType<string | null | undefined> = z
  .unknown()
  .optional()
  .transform((value) => (typeof value === 'string' || value === null ? value : undefined));

/** A date as milliseconds since the epoch, with or without milliseconds in its text. */
export const dateMs: z.ZodType<number | undefined> = z.unknown().transform((value) => {
  const parsed = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
});

/** The object under one of these names, or the body itself: a GET may be bare or wrapped. */
export function unwrapped(body: unknown, ...names: readonly string[]): unknown {
  if (!isRecord(body)) return undefined;
  for (const name of names) {
    const inner = body[name];
    if (isRecord(inner)) return inner;
  }
  return body;
}

/** Reads a value by a schema; undefined where it does not fit. */
export function parsed<Value>(schema: z.ZodType<Value>, value: unknown): Value | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}

/** Reads each item by a schema. A schema of the list, made here, would be compiled anew at each call. */
function parsedAll<Item>(schema: z.ZodType<Item>, list: readonly unknown[]): readonly Item[] | undefined {
  const items: Item[] = [];
  for (const item of list) {
    const result = schema.safeParse(item);
    if (!result.success) return undefined;
    items.push(result.data);
  }
  return items;
}

/** Reads the list under this name; undefined when there is no such list or one item is not readable. */
export function listOf<Item>(schema: z.ZodType<Item>, name: string): Read<Item>['items'] {
  return (body) => {
    const list = isRecord(body) ? body[name] : undefined;
    return Array.isArray(list) ? parsedAll(schema, list) : undefined;
  };
}

/** Reads the list under this name, or else the one list of a body, where the interface shows no name. */
export function anyListOf<Item>(schema: z.ZodType<Item>, name: string): Read<Item>['items'] {
  return (body) => {
    const lists = Array.isArray(body) ? [body] : isRecord(body) ? Object.values(body).filter(Array.isArray) : [];
    const [only, other] = lists;
    const anyhow = () => (only === undefined || other !== undefined ? undefined : parsedAll(schema, only));
    return listOf(schema, name)(body) ?? anyhow();
  };
}

/** The cursor of the page after this one: absent, null and empty all mean that this was the last. */
function nextCursorOf(body: unknown): string | undefined {
  const cursor = isRecord(body) ? body['nextCursor'] : undefined;
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
}

const strange = '(no word)';

function wordFrom(text: string): string {
  return /^[\w .-]{0,64}$/.test(text) ? text : strange;
}

/** A word chosen by the service, such as a state; any other text is shown as `(no word)`. */
export const word = z.string().transform(wordFrom);

/** Amounts by name, in whatever form they stand. */
export const amounts = z.record(z.string(), z.json()).transform((value): JsonObject => {
  const shown = (_name: string, inner: unknown) => (typeof inner === 'string' ? wordFrom(inner) : inner);
  return JSON.parse(JSON.stringify(value, shown)) as JsonObject;
});

/** Free text of the service, made fit to be shown. */
export const words = z.string().transform((text) => wordsFrom(text));

/** A note that people must read: made fit like words, but not as short. */
export const note = z.string().transform((text) => wordsFrom(text, longestNote));

/** A value that a spec has as well: compared with it, character by character. */
export const compared = z.string();

/** A moment, as it was written; anything else is none. */
export const time = z.string().regex(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/i);

/** The longest part of a service's message that is shown. */
export const longestMessage = 200;
const longestNote = 2_000;

/** The short text of an error body of any shape; undefined where it says nothing that people can read. */
export function errorTextOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body.trimStart().startsWith('<') ? undefined : nonEmpty(body);
  if (!isRecord(body)) return undefined;
  const { error, message, details } = body;
  const inner = isRecord(error) ? (error['message'] ?? error['error'] ?? error['code']) : error;
  const said = [inner, message].find((value) => typeof value === 'string' && value.trim() !== '');
  const more = typeof details === 'string' ? nonEmpty(details) : undefined;
  return typeof said === 'string' ? [said.trim(), more].filter(Boolean).join(': ') : more;
}

/** True where a body says that the call was not carried out. */
export function saysNo(body: unknown): boolean {
  if (!isRecord(body)) return false;
  const { success, error } = body;
  return success === false || (typeof error === 'string' && error.trim() !== '') || isRecord(error);
}

function nonEmpty(text: string): string | undefined {
  return text.trim() === '' ? undefined : text.trim();
}

/** Words of the service made fit for people: one line without URLs, which may be signed, and without what steers a terminal, cut. */
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
