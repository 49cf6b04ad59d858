import process from 'node:process';

/*
 * `npm run check` draws a part of the random lives and of the plans of faults, `npm test` as many as are meant to be tried each
 * time, and `npm run trials` as many as there is time for.
 */
const isQuick = process.env['DRAW'] === 'quick';

const part = 8;

/** Those of a table that are tried: all, or every eighth. */
export function drawnFrom<Item>(items: readonly Item[]): readonly Item[] {
  return isQuick ? items.filter((_, at) => at % part === 0) : items;
}

/** How many are tried, of as many as are tried usually; always the first ones. */
export function drawn(usual: number): number {
  return isQuick ? Math.ceil(usual / part) : usual;
}
