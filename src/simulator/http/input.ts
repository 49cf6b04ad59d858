import { bytesOf, type HttpRequest } from './exchange.ts';
import type { BodyFields } from './fields.ts';
import { parseJson } from './json.ts';
import { invalid, RequestRefusal } from './refusal.ts';

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
