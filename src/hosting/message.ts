import type { Secret } from '../secret.ts';
import { isObject } from './bodies/shape.ts';

/** As many characters of the service's words stand in one message. */
export const longestMessage = 200;
const longestNote = 2_000;

/** The short text of an error body of any shape; undefined where it says nothing that people can read. */
export function errorTextOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body.trimStart().startsWith('<') ? undefined : nonEmpty(body);
  if (!isObject(body)) return undefined;
  const { error, message, details } = body;
  const inner = isObject(error) ? (error['message'] ?? error['error'] ?? error['code']) : error;
  const said = [inner, message].find((value) => typeof value === 'string' && value.trim() !== '');
  const more = typeof details === 'string' ? nonEmpty(details) : undefined;
  return typeof said === 'string' ? [said.trim(), more].filter(Boolean).join(': ') : more;
}

/** Whether a body says that what was asked was not done. */
export function saysNo(body: unknown): boolean {
  if (!isObject(body)) return false;
  const { success, error } = body;
  return success === false || (typeof error === 'string' && error.trim() !== '') || isObject(error);
}

function nonEmpty(text: string): string | undefined {
  return text.trim() === '' ? undefined : text.trim();
}

/** The forms in which a secret may come back: as it is, in a URL, in JSON, in base64. */
function formsOf(secret: Secret): readonly string[] {
  const value = secret.reveal();
  const forms = [
    value,
    encodeURIComponent(value.toWellFormed()),
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString('base64'),
    Buffer.from(value).toString('base64url'),
  ];
  return forms.filter((form) => form.length >= 4);
}

/** Text of the service made fit for people: one line, no URLs, no known secret, cut at 200 characters. */
export function sanitised(
  text: string,
  secrets: readonly Secret[],
  hide: (text: string) => string = (same) => same,
  longest = longestMessage,
): string {
  const forms = secrets.flatMap(formsOf).toSorted((a, b) => b.length - a.length);
  let safe = hide(text.slice(0, 64_000));
  for (const form of forms) safe = safe.replaceAll(form, '[secret]');
  // A secret may be a URL, or the start of one: URLs go after secrets, and whole.
  safe = safe
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/giu, '[url]')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  for (const form of forms) safe = safe.replaceAll(form, '[secret]');
  safe = hide(safe);
  if (safe.length <= longest) return safe;
  return `${safe.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Words of the service that stand in an answer, which the transport has taken known secrets out of: made fit like a message. */
export function wordsFrom(text: string): string {
  return sanitised(text, []);
}

/** A note of the service that people must read: made fit like its words, but not as short. */
export function noteFrom(text: string): string {
  return sanitised(text, [], undefined, longestNote);
}
