/** Returns the message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Joins the first names of a list for a message, at most `most`, and says how many more there are of all `count` names. */
export function fewOf(names: readonly string[], most = 5, count = names.length): string {
  const shown = names.slice(0, most);
  return `${shown.join(', ')}${count > shown.length ? ` and ${count - shown.length} more` : ''}`;
}
