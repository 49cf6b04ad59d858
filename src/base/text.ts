/** Returns the message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Joins the first `most` names of a list for a message, and adds how many more there are: `a, b and 3 more`. `count` is
 * the number of all names, if it is greater than the number of names in the list.
 */
export function fewOf(names: readonly string[], most = 5, count = names.length): string {
  const shown = names.slice(0, most);
  return `${shown.join(', ')}${count > shown.length ? ` and ${count - shown.length} more` : ''}`;
}
