import { isRecord, isVersion } from '../../base/json.ts';
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

/** Parses JSON; throws a `GarbledError` that names the request but quotes nothing of the text. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new GarbledError(`${what}: the answer is not JSON`);
  }
}

/**
 * Parses one object, and drops its spec if that is too large. Items of a list may have no apiVersion and kind of their own, so
 * those of the list apply.
 */
export function parseObject(value: unknown, what: string, list?: { apiVersion: string; kind: string }): KubeObject {
  if (!isRecord(value)) throw new GarbledError(`${what}: the answer is not an object`);
  const apiVersion = textOf(value, 'apiVersion') ?? list?.apiVersion;
  const kind = textOf(value, 'kind') ?? list?.kind;
  const metadata = parseMeta(value['metadata']);
  if (apiVersion === undefined || kind === undefined || metadata === undefined) {
    throw new GarbledError(`${what}: the answer is not a Kubernetes object`);
  }
  return withinSize({ ...value, apiVersion, kind, metadata });
}

/** How many characters a spec may have: a hundred times as many as an ordinary spec. */
const mostSpecSize = 512 * 1024;

/**
 * Drops a spec that is larger than `mostSpecSize`, except for its `accountRef`, and adds a sentence for the status of the object.
 * Otherwise a user could fill the operator's memory with a few hundred resources of 1.4 MB.
 */
function withinSize(object: KubeObject): KubeObject {
  const { spec } = object;
  if (leftOf(mostSpecSize, spec) >= 0) return object;
  const accountRef = isRecord(spec) ? spec['accountRef'] : undefined;
  return {
    ...object,
    spec: accountRef === undefined ? {} : { accountRef },
    tooLarge: `spec: is larger than ${mostSpecSize / 1024} kB, which is more than the operator reads; make it smaller`,
  };
}

/** Subtracts the characters of a value from a budget; negative as soon as the budget is used up. */
function leftOf(budget: number, value: unknown): number {
  if (typeof value === 'string') return budget - value.length;
  if (typeof value !== 'object' || value === null) return budget - 1;
  let left = budget;
  for (const [key, part] of Object.entries(value)) {
    left = leftOf(left - key.length, part);
    if (left < 0) return left;
  }
  return left;
}

/** Parses one page of a list. */
export function parsePage(value: unknown, what: string): Page {
  const metadata = isRecord(value) ? value['metadata'] : undefined;
  const items = isRecord(value) ? (value['items'] ?? []) : undefined;
  if (!isRecord(value) || !isRecord(metadata) || !Array.isArray(items)) {
    throw new GarbledError(`${what}: the answer is not a list`);
  }
  const resourceVersion = textOf(metadata, 'resourceVersion');
  if (resourceVersion === undefined || !isVersion(resourceVersion)) {
    throw new GarbledError(`${what}: the list does not say its resourceVersion`);
  }
  const kind = (textOf(value, 'kind') ?? '').replace(/List$/, '');
  const own = { apiVersion: textOf(value, 'apiVersion') ?? '', kind };
  return {
    items: items.map((item) => parseObject(item, what, own)),
    resourceVersion,
    continue: textOf(metadata, 'continue'),
  };
}

/** Parses one line of a watch. */
export function parseWatchLine(line: string, what: string): WatchEvent {
  const value = parseJson(line, what);
  const object = isRecord(value) ? value['object'] : undefined;
  if (!isRecord(value) || !isRecord(object)) throw new GarbledError(`${what}: a line is not an event`);
  const type = value['type'];
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: parseObject(object, what) };
    case 'BOOKMARK': {
      const metadata = object['metadata'];
      const resourceVersion = isRecord(metadata) ? textOf(metadata, 'resourceVersion') : undefined;
      if (resourceVersion === undefined || !isVersion(resourceVersion)) {
        throw new GarbledError(`${what}: a bookmark does not say its resourceVersion`);
      }
      return { type, resourceVersion };
    }
    case 'ERROR': {
      const code = object['code'];
      return { type, code: typeof code === 'number' ? code : 500, message: textOf(object, 'message') ?? '' };
    }
    default:
      throw new GarbledError(`${what}: a line is of no known type`);
  }
}

function parseMeta(value: unknown): ObjectMeta | undefined {
  if (!isRecord(value)) return undefined;
  const name = textOf(value, 'name');
  const uid = textOf(value, 'uid');
  const resourceVersion = textOf(value, 'resourceVersion');
  if (name === undefined || uid === undefined || resourceVersion === undefined || !isVersion(resourceVersion)) {
    return undefined;
  }
  const namespace = textOf(value, 'namespace');
  const generation = value['generation'];
  const deletionTimestamp = textOf(value, 'deletionTimestamp');
  const finalizers = value['finalizers'];
  const annotations = textsOf(value['annotations']);
  const labels = textsOf(value['labels']);
  if (annotations !== undefined) delete annotations[lastApplied];
  return {
    name,
    uid,
    resourceVersion,
    creationTimestamp: textOf(value, 'creationTimestamp') ?? '',
    ...(namespace !== undefined && { namespace }),
    ...(typeof generation === 'number' && { generation }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(Array.isArray(finalizers) && { finalizers: finalizers.filter((one) => typeof one === 'string') }),
    ...(annotations !== undefined && { annotations }),
    ...(labels !== undefined && { labels }),
  };
}

/** The text under a key. An empty text counts as absent, as in Kubernetes. */
export function textOf(value: Record<string, unknown>, key: string): string | undefined {
  const found = value[key];
  return typeof found === 'string' && found !== '' ? found : undefined;
}

function textsOf(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(value)) if (typeof text === 'string') texts[key] = text;
  return texts;
}

/** The JSON form of a type of client-node: every `Date` of the type is a text in JSON. */
export type KubeWire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly KubeWire<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: KubeWire<T[K]> | (object extends Pick<T, K> ? undefined : never) }
      : T;

/** The fields of a type, with values that are not checked yet. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };

/** The name of an object for messages. */
export function titleOf(resource: Resource, namespace: string | undefined, name: string): string {
  return namespace === undefined ? `${resource.plural} ${name}` : `${resource.plural} ${namespace}/${name}`;
}

const newline = 0x0a;

/** Splits a stream of bytes into lines; throws when a line is longer than `maxBytes` or not valid UTF-8. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  what: string,
): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (bytes: Uint8Array): string => {
    try {
      return decoder.decode(bytes);
    } catch {
      throw new GarbledError(`${what}: a line is not UTF-8`);
    }
  };
  let pending: Uint8Array[] = [];
  let size = 0;
  const keep = (part: Uint8Array): void => {
    size += part.byteLength;
    if (size > maxBytes) throw new GarbledError(`${what}: a line is longer than ${maxBytes} bytes`);
    if (part.byteLength > 0) pending.push(part);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      keep(chunk.subarray(from, at));
      const line = decode(pending.length === 1 ? (pending[0] ?? chunk) : Buffer.concat(pending));
      pending = [];
      size = 0;
      from = at + 1;
      if (line !== '') yield line;
    }
    keep(chunk.subarray(from));
  }
  if (size > 0) throw new KubeError('unavailable', `${what}: the stream ended within a line`);
}
