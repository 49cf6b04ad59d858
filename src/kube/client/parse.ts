import { z } from 'zod';
import { isRecord, isVersion, jsonIn } from '../../base/json.ts';
import {
  type KubeObject,
  type ObjectMeta,
  type Page,
  type Resource,
  type WatchEvent,
  KubeError,
} from '../../engine/ports.ts';
import { GarbledError } from './failure.ts';

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

const text = z.string().min(1);
const version = z.string().refine(isVersion);
const texts = z.record(z.string(), z.string());

const Meta = z.object({
  name: text,
  uid: text,
  resourceVersion: version,
  creationTimestamp: z.string().catch(''),
  namespace: text.exactOptional(),
  generation: z.number().exactOptional(),
  deletionTimestamp: text.exactOptional(),
  finalizers: z.array(z.string()).exactOptional(),
  annotations: texts.exactOptional(),
  labels: texts.exactOptional(),
}) satisfies z.ZodType<ObjectMeta>;

const AnyObject = z.looseObject({ apiVersion: text, kind: text, metadata: Meta });

const List = z.object({
  apiVersion: z.string().catch(''),
  kind: z.string().catch(''),
  metadata: z.object({ resourceVersion: version, continue: z.string().catch('') }),
  items: z.array(z.unknown()).nullish(),
});

const WatchLine = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), object: z.unknown() }),
  z.object({ type: z.literal('BOOKMARK'), object: z.object({ metadata: z.object({ resourceVersion: version }) }) }),
  z.object({
    type: z.literal('ERROR'),
    object: z.object({ code: z.number().catch(500), message: z.string().catch('') }),
  }),
]);

/** Parses JSON; throws a `GarbledError` that describes the request but quotes nothing of the JSON. */
export function parseJson(text: string, what: string): unknown {
  const value = jsonIn(text);
  if (value === undefined) throw new GarbledError(`${what}: the answer is not JSON`);
  return value;
}

/**
 * Parses a value by a schema. If the value does not match, throws a `GarbledError` whose message is made of `what` (the
 * request) and `flaw` (what is wrong).
 */
export function parsed<T>(schema: z.ZodType<T>, value: unknown, what: string, flaw: string): T {
  const { data, success } = schema.safeParse(value);
  if (!success) throw new GarbledError(`${what}: ${flaw}`);
  return data;
}

/**
 * Parses one object. Leaves out the copy of the object that `kubectl apply` keeps in an annotation. If the spec is too large,
 * leaves out the spec as well.
 */
export function parseObject(value: unknown, what: string): KubeObject {
  const object = parsed(AnyObject, value, what, 'the answer is not a Kubernetes object');
  delete object.metadata.annotations?.[lastApplied];
  return withinSize(object);
}

/** The largest number of characters that a spec may have: a hundred times as many as an ordinary spec has. */
const mostSpecSize = 512 * 1024;

/**
 * Leaves out a spec that is larger than `mostSpecSize`, except for its `accountRef`, and adds a message for the status of the
 * object. Otherwise a user could fill the operator's memory with a few hundred resources of 1.4 MB.
 */
function withinSize(object: KubeObject): KubeObject {
  const { spec } = object;
  if (leftOf(mostSpecSize, spec) >= 0) return object;
  const accountRef = isRecord(spec) ? spec['accountRef'] : undefined;
  return {
    ...object,
    spec: accountRef === undefined ? {} : { accountRef },
    tooLarge: `spec: the spec is larger than ${mostSpecSize / 1024} kB, which is more than the operator reads; make the spec smaller`,
  };
}

/**
 * Subtracts the number of characters of a value from `budget`, and returns the rest. A negative rest means that the
 * value is too large; counting stops as soon as this is clear.
 */
function leftOf(budget: number, value: unknown): number {
  if (typeof value === 'string') return budget - value.length;
  if (typeof value !== 'object' || value === null) return budget - 1;
  let left = budget;
  for (const key in value) {
    left = leftOf(left - key.length, (value as Readonly<Record<string, unknown>>)[key]);
    if (left < 0) return left;
  }
  return left;
}

/**
 * Parses one page of a list. In many lists the API server leaves out the apiVersion and kind of the items. Then an item gets
 * the apiVersion of the list, and its kind follows from the list's kind: `Pod` from `PodList`.
 */
export function parsePage(value: unknown, what: string): Page {
  const { apiVersion, kind, metadata, items } = parsed(List, value, what, 'the answer is not a list of objects');
  const own = { apiVersion, kind: kind.replace(/List$/, '') };
  return {
    items: (items ?? []).map((item) => parseObject(isRecord(item) ? { ...own, ...item } : item, what)),
    resourceVersion: metadata.resourceVersion,
    continue: metadata.continue || undefined,
  };
}

/** Parses one line of a watch, which contains one event. */
export function parseWatchLine(line: string, what: string): WatchEvent {
  const { type, object } = parsed(WatchLine, parseJson(line, what), what, 'a line of the watch is not a watch event');
  switch (type) {
    case 'BOOKMARK':
      return { type, resourceVersion: object.metadata.resourceVersion };
    case 'ERROR':
      return { type, ...object };
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: parseObject(object, what) };
  }
}

/** Reduces an object to the fields that identify one version of the object. */
export function identityOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const identity = { name, uid, resourceVersion, creationTimestamp, ...(namespace !== undefined && { namespace }) };
  return { apiVersion, kind, metadata: identity };
}

/**
 * The type of a Kubernetes object in JSON. It is made from a type of the library client-node, in which dates are `Date`
 * objects; here they are strings.
 */
export type KubeWire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly KubeWire<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: KubeWire<T[K]> | (object extends Pick<T, K> ? undefined : never) }
      : T;

/** Returns the text that stands for an object in messages, such as `hostedapps default/shop`. */
export function titleOf(resource: Resource, namespace: string | undefined, name: string): string {
  return namespace === undefined ? `${resource.plural} ${name}` : `${resource.plural} ${namespace}/${name}`;
}

const newline = 0x0a;

/**
 * Splits a stream of bytes into lines, and leaves out empty lines. Throws when more than `maxBytes` of a line have
 * arrived without its end, or when the stream ends within a line. A line may be longer if its end arrives in the same
 * chunk.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  what: string,
): AsyncGenerator<string, void, void> {
  let pending = Buffer.alloc(0);
  for await (const chunk of chunks) {
    pending = Buffer.concat([pending, chunk]);
    let from = 0;
    for (let at = pending.indexOf(newline); at >= 0; at = pending.indexOf(newline, from)) {
      if (at > from) yield pending.toString('utf8', from, at);
      from = at + 1;
    }
    pending = pending.subarray(from);
    if (pending.length > maxBytes)
      throw new GarbledError(`${what}: a line of the stream is longer than ${maxBytes} bytes`);
  }
  if (pending.length > 0) throw new KubeError('unavailable', `${what}: the stream ended in the middle of a line`);
}
