/**
 * Texts of the service by what is done with them: what is compared with a spec stays as it is, what is only shown is made fit.
 */
import type { JsonObject } from '../../base/json.ts';
import { z } from 'zod';
import { noteFrom, wordsFrom } from '../wire/message.ts';

const strange = '(no word)';

function wordFrom(text: string): string {
  return /^[\w .-]{0,64}$/.test(text) ? text : strange;
}

/** A word chosen by the service, such as a state; any other text is shown as `(no word)`. */
export const word = z.string().transform(wordFrom);

/** Amounts by name, in whatever form they stand. */
export const amounts = z.record(z.string(), z.json()).transform((value): JsonObject => {
  const shown = (_name: string, inner: unknown) => (typeof inner === 'string' ? wordFrom(inner) : inner);
  return JSON.parse(JSON.stringify(value, shown)) as JsonObject;
});

/** Free text of the service, made fit to be shown. */
export const words = z.string().transform((text) => wordsFrom(text));

/** A note that people must read. */
export const note = z.string().transform(noteFrom);

/** A value that a spec has as well: compared with it, character by character. */
export const compared = z.string();

/** A moment, as it was written; anything else is none. */
export const time = z.string().regex(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/i);
