import { type Json, type JsonObject, Secret } from '../../base/json.ts';
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

/** Text that is not empty. */
export const Text = z.string().min(1).max(65_536);

/** Text that may be empty, where the interface gives the empty string a meaning. */
export const AnyText = z.string().max(1_048_576);

/** Text that comes from a Secret, or from the open. */
export const MaybeSecret = z.union([AnyText, z.instanceof(Secret)]);

/** A number that JSON can say. */
export const Finite = z.number();

/** Anything that JSON can say, secrets included: where the interface shows no types. */
const Anything: z.ZodType<Json> = z.lazy(() =>
  z.union([
    z.null(),
    z.boolean(),
    Finite,
    MaybeSecret,
    z.array(Anything).readonly(),
    z.record(z.string(), Anything).readonly(),
  ]),
);

/** An object whose keys the interface does not fix. */
export const AnyObject = z.record(z.string(), Anything).readonly();

/** The schemas of bodies by endpoint, such as `POST /app`. */
export type BodySchemas = Readonly<Record<string, z.ZodType>>;

/** A GET. */
export function get(path: string, query: Readonly<Record<string, string>> = {}): Request {
  return { endpoint: `GET ${path}`, method: 'GET', path, query, effect: 'read' };
}

/** A request with a body. */
export function write(method: 'POST' | 'PATCH', path: string, effect: Effect, body: JsonObject): Request {
  return { endpoint: `${method} ${path}`, method, path, body, effect };
}

/** A DELETE, which names its object in the query. */
export function remove(path: string, query: Readonly<Record<string, string>>): Request {
  return { endpoint: `DELETE ${path}`, method: 'DELETE', path, query, effect: 'remove' };
}

/** A list whose pages follow a cursor, 100 items at a time. */
export function cursorList<Item>(
  path: string,
  query: Readonly<Record<string, string>>,
  cursorOf: (body: unknown) => string | undefined,
): Pick<Read<Item>, 'first' | 'next'> {
  const first = { ...query, limit: '100' };
  return {
    first: get(path, first),
    next: (body) => {
      const after = cursorOf(body);
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
