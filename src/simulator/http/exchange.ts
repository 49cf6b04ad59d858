import type { BodyFields } from './fields.ts';
import { invalid, RequestRefusal } from './refusal.ts';

/** A request to the simulator, from a socket or from the same process. */
export interface HttpRequest {
  readonly method: string;
  /** The path of the request with its query. */
  readonly url: string;
  /** The headers of the request; their names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array | string | undefined;
  /** True if the body was longer than allowed; the body is then discarded. */
  readonly tooLarge?: boolean;
}

/** The result of a request, as its client sees it: an answer, a connection reset, no answer at all, or a stream of events. */
export type Reply = Answered | { readonly kind: 'reset' | 'silent'; readonly committed: boolean } | Stream;

/** An answer to a request. The fields `truncate`, `msPerByte` and `hugeBody` change how the body is sent, to simulate a fault. */
export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * If set, the server sends the pieces that this function yields instead of `body`, so that a long body need not be in memory as a whole.
   */
  readonly pieces?: () => Iterable<string>;
  readonly committed: boolean;
  /** If set, the connection is closed after this many bytes of the response body. */
  readonly truncate?: number;
  /** If set, the response body is sent byte by byte, with a pause of this many milliseconds after each byte. */
  readonly msPerByte?: number;
  /** If set, a JSON object of this many bytes is sent instead of the response body. */
  readonly hugeBody?: number;
}

/** Returns an answer whose body is sent as a whole. */
export function answered(status: number, body: string, headers: Answered['headers'], committed = false): Answered {
  return { kind: 'answered', status, headers, body, committed };
}

/** A stream of server-sent events. */
export interface Stream {
  readonly kind: 'stream';
  /** Calls `send` with each new event, until the function that `subscribe` returned is called. */
  readonly subscribe: (send: (event: string) => void) => () => void;
}

/**
 * Reduces the target of an HTTP request to path and query. If the target is a full URL, as in `GET http://host/path`, the host in the URL
 * replaces the Host header.
 */
export function originForm(target: string): { readonly url: string; readonly host?: string } {
  if (target.startsWith('/')) return { url: target };
  const [, host, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target) ?? [];
  if (host === undefined) return { url: target };
  return { url: rest.startsWith('/') ? rest : `/${rest}`, host };
}

/** Splits a URL into its path and its query parameters. */
export function addressOf(url: string): { readonly path: string; readonly query: Readonly<Record<string, string>> } {
  const [path = ''] = url.split('?', 1);
  return { path, query: Object.fromEntries(new URLSearchParams(url.slice(path.length + 1))) };
}

/** Converts a body to bytes. */
export function bytesOf(body: Uint8Array | string | undefined): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
}

/** The maximum body size of a public request in bytes. */
export const longestBody = 1024 * 1024;

/**
 * Parses the JSON object in the body of a request. In `strict` mode a body and the Content-Type application/json are required; in `lenient`
 * mode any Content-Type is accepted, and a missing body counts as {}.
 */
export function bodyOf(request: HttpRequest, reader: 'strict' | 'lenient'): BodyFields {
  if (request.tooLarge === true) throw new RequestRefusal(413, 'the request body is too long for this path');
  const bytes = bytesOf(request.body);
  const isStrict = reader === 'strict';
  if (bytes.length === 0 && !isStrict) return {};
  if (bytes.length === 0) throw invalid('the request needs a JSON body');
  if (isStrict && !isJson(request.headers['content-type'])) throw invalid('Content-Type must be application/json');
  const body = parseJson(bytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('the request body must be a JSON object');
  return body as BodyFields;
}

function isJson(type = ''): boolean {
  return type.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw invalid('the request body is not valid JSON');
  }
}
