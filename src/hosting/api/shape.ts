/**
 * Reads bodies of the service: strict in the fields that we use, lenient in all others.
 *
 * A field that may be absent can be missing, null or an empty value of another type; all three become
 * undefined. A field that we cannot do without and that is not what the interface promises makes the whole body unreadable:
 * a reader then answers undefined, and nobody takes half a list for a list.
 */
import { z } from 'zod';

/** A required id: one piece, and no address. */
export const id = z.string().regex(/^(?!.*:\/\/)[^\s\p{C}]{1,256}$/u);

/** A required text, which may be empty. */
export const text = z.string();

/** A required number. */
export const number = z.number();

/** A field that may be absent or null, and must otherwise be what the schema says: it is compared or acted on. */
export function optional<Schema extends z.ZodType>(schema: Schema): z.ZodType<z.output<Schema> | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema));
}

/** A field that only informs: anything unexpected counts as not shown. */
export function shown<Schema extends z.ZodType>(schema: Schema): z.ZodType<z.output<Schema> | undefined> {
  return z.preprocess((value) => value ?? undefined, z.optional(schema)).catch(undefined);
}

/** A list that may be absent or null; undefined then. */
export function optionalList<Schema extends z.ZodType>(
  schema: Schema,
): z.ZodType<readonly z.output<Schema>[] | undefined> {
  return optional(z.array(schema));
}

/** A list that only informs; what is unexpected in it is left out. */
export function shownList<Schema extends z.ZodType>(schema: Schema): z.ZodType<readonly z.output<Schema>[]> {
  return z.preprocess(
    (value) => (Array.isArray(value) ? value.filter((entry) => schema.safeParse(entry).success) : []),
    z.array(schema),
  );
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

/** True for a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object under one of these names, or the body itself: a GET may be bare or wrapped. */
export function unwrapped(body: unknown, ...names: readonly string[]): unknown {
  if (!isObject(body)) return undefined;
  for (const name of names) {
    const inner = body[name];
    if (isObject(inner)) return inner;
  }
  return body;
}

/** Reads a value by a schema; undefined where it does not fit. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}

/** Reads each item by a schema. A schema of the list, made here, would be compiled anew at each call. */
function parsedAll<Schema extends z.ZodType>(
  schema: Schema,
  list: readonly unknown[],
): readonly z.output<Schema>[] | undefined {
  const items: z.output<Schema>[] = [];
  for (const item of list) {
    const result = schema.safeParse(item);
    if (!result.success) return undefined;
    items.push(result.data);
  }
  return items;
}

/** The items of a list under one of these names; undefined when there is no such list or one item is not readable. */
export function listed<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  ...names: readonly string[]
): readonly z.output<Schema>[] | undefined {
  if (!isObject(body)) return undefined;
  const list = names.map((name) => body[name]).find((value) => Array.isArray(value));
  return list === undefined ? undefined : parsedAll(schema, list);
}

/** The items of the one list of a body, whatever its name, where the interface shows none. */
export function listedAnyhow<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): readonly z.output<Schema>[] | undefined {
  const lists = Array.isArray(body) ? [body] : isObject(body) ? Object.values(body).filter(Array.isArray) : [];
  const [only, other] = lists;
  return only === undefined || other !== undefined ? undefined : parsedAll(schema, only);
}

/** The cursor of the page after this one: absent, null and empty all mean that this was the last. */
export function nextCursorOf(body: unknown): string | undefined {
  const cursor = isObject(body) ? body['nextCursor'] : undefined;
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
}
