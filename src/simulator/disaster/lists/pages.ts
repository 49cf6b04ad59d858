// Paging with cursors that survive changes: a cursor holds the place in the order, not a position in a list.
import { hash } from '../evidence/points.ts';

/** The place of one thing in an order; ties are broken by the text. */
export type PagePlace = readonly [number, string];

/** The page after a cursor, and the cursor of the next one where there is more; undefined when the cursor is none. */
export function pageAfter<Thing>(
  things: readonly Thing[],
  placeOf: (thing: Thing) => PagePlace,
  asked: { readonly after: string | undefined; readonly limit: number },
): { readonly things: readonly Thing[]; readonly next: string | undefined } | undefined {
  const after = asked.after === undefined ? undefined : decode(asked.after);
  if (asked.after !== undefined && after === undefined) return undefined;
  const ordered = things
    .map((thing) => ({ thing, place: placeOf(thing) }))
    .filter(({ place }) => after === undefined || compare(place, after) > 0)
    .toSorted((one, other) => compare(one.place, other.place));
  const page = ordered.slice(0, asked.limit);
  const last = page.at(-1);
  const more = ordered.length > page.length && last !== undefined;
  return { things: page.map(({ thing }) => thing), next: more ? encode(last.place) : undefined };
}

/** A fixed place in the list that does not depend on the time of creation. */
export function shuffledPlace(id: string): PagePlace {
  return [0, hash(id)];
}

function compare([number, text]: PagePlace, [otherNumber, otherText]: PagePlace): number {
  if (number !== otherNumber) return number - otherNumber;
  if (text === otherText) return 0;
  return text < otherText ? -1 : 1;
}

function encode(place: PagePlace): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function decode(cursor: string): PagePlace | undefined {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (!Array.isArray(place) || place.length !== 2) return undefined;
    const [number, text]: unknown[] = place;
    return typeof number === 'number' && typeof text === 'string' ? [number, text] : undefined;
  } catch {
    return undefined;
  }
}
