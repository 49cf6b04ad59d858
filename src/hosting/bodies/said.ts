/**
 * Texts of the service by what may be shown of them. Secrets that are known have been taken out before.
 *
 * What is compared stays as it is wherever it can be what it is said to be, so that nothing seems to have changed.
 */
import type { JsonObject } from '../../base/json.ts';
import { z } from 'zod';
import { noteFrom, wordsFrom } from '../wire/message.ts';

const strange = '(no word)';

function wordFrom(text: string): string {
  return /^[\w .-]{0,64}$/.test(text) ? text : strange;
}

/** A word of a vocabulary, open or closed: whatever else stands in its place is told as `(no word)`. */
export const word = z.string().transform(wordFrom);

/** Amounts by name, in whatever form they stand. */
export const amounts = z.record(z.string(), z.json()).transform((value): JsonObject => {
  const shown = (_name: string, inner: unknown) => (typeof inner === 'string' ? wordFrom(inner) : inner);
  return JSON.parse(JSON.stringify(value, shown)) as JsonObject;
});

/** What the service says in words of its own, made fit to be shown. */
export const words = z.string().transform(wordsFrom);

/** A note that people must read. */
export const note = z.string().transform(noteFrom);

/** The name of something; with an address or steering characters in it, it is made fit to be shown. */
export const named = z.string().transform((text) => (/:\/\/|\p{C}/u.test(text) ? wordsFrom(text) : text));

/** A moment, as it was written; anything else is none. */
export const time = z.string().regex(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/i);
