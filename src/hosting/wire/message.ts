import { isObject } from '../api/shape.ts';

/** The longest part of a service's message that is shown. */
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

/** True where a body says that the call was not carried out. */
export function saysNo(body: unknown): boolean {
  if (!isObject(body)) return false;
  const { success, error } = body;
  return success === false || (typeof error === 'string' && error.trim() !== '') || isObject(error);
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

/** A note of the service that people must read: made fit like its words, but not as short. */
export function noteFrom(text: string): string {
  return wordsFrom(text, longestNote);
}
