import type { BodyFields } from './fields.ts';
import { invalid, RequestRefusal } from './refusal.ts';

/** A request, however it came: over a socket or from the same process. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array | string | undefined;
  /** The body was longer than allowed and was not kept. */
  readonly tooLarge?: boolean;
  /** Tells if the client went away. */
  readonly isGivenUp?: () => boolean;
}

/** The reply to a client: an answer, a connection that breaks, silence, or a stream. */
export type Reply = Answered | Unanswered | Stream;

/** An answer and its way of delivery. */
export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** A long body in pieces, each made when it is sent. */
  readonly pieces?: () => Iterable<string>;
  readonly committed: boolean;
  /** Cuts the connection after so many bytes of the body. */
  readonly truncate?: number;
  /** The body arrives byte by byte. */
  readonly msPerByte?: number;
  /** The body is a JSON object of so many bytes instead. */
  readonly hugeBody?: number;
}

/** An answer without peculiarities. */
export function answered(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
  committed = false,
): Answered {
  return { kind: 'answered', status, headers, body, committed };
}

/** The connection is reset without an answer, or stays open and nothing ever comes. */
interface Unanswered {
  readonly kind: 'reset' | 'silent';
  readonly committed: boolean;
}

/** An answer that goes on: server-sent events. */
export interface Stream {
  readonly kind: 'stream';
  /** Sends each event as it happens; returns what ends it. */
  readonly subscribe: (send: (event: string) => void) => () => void;
}

/** A service as the socket server needs it. */
export interface Served {
  handle(request: HttpRequest): Promise<Reply>;
  /** The longest body that this address takes, in bytes. */
  longestBody(url: string): number;
  /** Stops long work before it is closed. */
  stop(): void;
  /** The answer to what could not even be read as a request. */
  broken(status: number, message: string): Reply;
  close(): Promise<void>;
}

/**
 * A request target as path and query. A target in absolute form (`GET http://host/path`) names its host itself: that host then counts
 * in the place of the Host header.
 */
export function originForm(target: string): { readonly url: string; readonly host?: string } {
  if (target.startsWith('/')) return { url: target };
  const [, host, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target) ?? [];
  if (host === undefined) return { url: target };
  return { url: rest.startsWith('/') ? rest : `/${rest}`, host };
}

/** Takes an address apart into its path and its query. */
export function addressOf(url: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = ''] = url.split('?', 1);
  return { path, query: new URLSearchParams(url.slice(path.length + 1)) };
}

/** The bytes of a body. */
export function bytesOf(body: Uint8Array | string | undefined): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
}

/** The longest body of a public request. */
export const longestBody = 1024 * 1024;

/** The object that a request carries; requests without a body have an empty one where that is allowed. */
export function bodyOf(request: HttpRequest, expects: { readonly type: boolean; readonly empty: boolean }): BodyFields {
  if (request.tooLarge === true) throw new RequestRefusal(413, `the body is longer than ${longestBody} bytes`);
  const bytes = bytesOf(request.body);
  if (bytes.length === 0 && expects.empty) return {};
  if (bytes.length === 0) throw invalid('the request needs a JSON body');
  if (expects.type && !isJson(request.headers['content-type'])) throw invalid('Content-Type must be application/json');
  const body = parseJson(bytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('the body must be a JSON object');
  return body as BodyFields;
}

function isJson(type: string | undefined): boolean {
  const [essence = '', ...parameters] = (type ?? '').toLowerCase().split(';');
  if (essence.trim() !== 'application/json') return false;
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith('charset='));
  return charset === undefined || charset.replaceAll('"', '') === 'charset=utf-8';
}

/** Query parameters as fields; each at most once and in valid UTF-8. */
export function queryOf(query: URLSearchParams): BodyFields {
  const fields: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of query) {
    if (Object.hasOwn(fields, name)) throw invalid(`the query parameter ${name} is there twice`);
    if (value.includes('\uFFFD') || name.includes('\uFFFD')) throw invalid('the query is not valid UTF-8');
    fields[name] = value;
  }
  return fields;
}

const deepest = 64;

/** Reads JSON more strictly than JSON.parse: no double keys, no prototype keys, no endless depth, no infinite numbers. */
function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid('the body is not valid JSON');
  }
  inspect(text);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid('the body is not valid UTF-8');
  }
}

/** Walks over text that is known to be JSON and refuses what parsing would silently swallow. */
function inspect(text: string): void {
  /** One set of keys per open object; undefined for an open list. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : undefined);
      if (open.length > deepest) throw invalid(`the body is nested more than ${deepest} deep`);
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '"') {
      const end = endOfString(text, at);
      if (isKey(text, end)) noteKey(open.at(-1), text.slice(at, end));
      at = end - 1;
    } else if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) {
      at = endOfNumber(text, at) - 1;
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return text[at] === ':';
}

function noteKey(keys: Set<string> | undefined, quoted: string): void {
  const key = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
  if (key === '__proto__') throw invalid('__proto__ is not a field');
  if (keys?.has(key)) throw invalid(`the body has the field ${JSON.stringify(key)} twice`);
  keys?.add(key);
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (/[0-9eE.+-]/.test(text[at] ?? '')) at += 1;
  if (!Number.isFinite(Number(text.slice(start, at)))) throw invalid('the body has a number that is too large');
  return at;
}
