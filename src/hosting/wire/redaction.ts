/**
 * Limits which words of an answer are shown to people.
 *
 * The words of an answer to a request that carried a secret are never shown: the service may repeat the secret in any form, and
 * no search finds every form. Other words are shown on one line, cut, and without the credential as it is written in the Secret.
 * What is compared with a spec is never touched, so that nothing is taken for something else.
 */
import { type Json, Secret } from '../../base/json.ts';
import type { Request } from '../../engine/ports.ts';
import { id, isObject, parsed, time } from '../api/endpoint.ts';

/** A shorter token is found in too many words. */
const shortestToken = 4;

/** Fields of ids, of times, and of where the next page begins. */
const isExact = /(?:^id|Ids?|Cursor|At|Until)$/;
/** Lists that may hold bare ids. */
const idLists: ReadonlySet<string> = new Set(['apps', 'appEnvs', 'components', 'environments']);

function holdsSecret(value: Json | undefined): boolean {
  if (value instanceof Secret) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsSecret);
}

/** True where the answer may speak of a secret: the request carried one, or asked for some. */
export function isAboutSecrets({ body, query }: Request): boolean {
  return holdsSecret(body) || query?.['showSecrets'] !== undefined;
}

/** The ids, times, numbers and flags of an answer to a request whose body carried a secret; of any other answer everything. */
export function withoutWords(request: Request, body: unknown): unknown {
  return holdsSecret(request.body) ? bare(body, '') : body;
}

function bare(value: unknown, name: string): unknown {
  if (typeof value === 'string') {
    const isShort = isExact.test(name) || idLists.has(name);
    return isShort && (parsed(id, value) ?? parsed(time, value)) !== undefined ? value : undefined;
  }
  if (Array.isArray(value)) return value.map((item) => bare(item, name)).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, bare(inner, key)] as const);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

/** A value whose texts do not hold the credential; ids stay as they are. */
export function withoutCredential<Value>(value: Value, credential: Secret): Value {
  const token = credential.reveal();
  return token.length < shortestToken ? value : (hidden(value, token, '') as Value);
}

/** A text of ours, in which names of the service stand as they are, without the credential and without what steers a terminal. */
export function shownText(text: string, credential: Secret): string {
  const steering = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;
  const escaped = (sign: string): string => `\\u{${sign.codePointAt(0)?.toString(16) ?? ''}}`;
  return withoutCredential(text, credential).replaceAll(steering, escaped);
}

function hidden(value: unknown, token: string, name: string): unknown {
  if (typeof value === 'string') return isExact.test(name) ? value : value.replaceAll(token, '[credential]');
  if (typeof value !== 'object' || value === null || value instanceof Secret) return value;
  // A value without the credential is returned as it is, not copied.
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => hidden(item, token, name));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const entries = Object.entries(value).map(([key, inner]) => [key, inner, hidden(inner, token, key)] as const);
  if (entries.every(([, before, after]) => before === after)) return value;
  return Object.fromEntries(entries.map(([key, , after]) => [key, after]));
}
