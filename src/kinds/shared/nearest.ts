/** Finds the word that differs in the fewest letters from a misspelt word; returns undefined if no word is similar. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const candidate of words) {
    const distance = distanceBetween(word.toLowerCase(), candidate.toLowerCase());
    if (best === undefined || distance < best.distance) best = { word: candidate, distance };
  }
  return best !== undefined && best.distance <= Math.max(2, word.length / 2) ? best.word : undefined;
}

/** Counts the insertions, deletions and replacements of letters that turn one word into another. */
function distanceBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(from).entries()) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at += 1) {
      const replaced = (row[at - 1] ?? 0) + (letter === to[at - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
