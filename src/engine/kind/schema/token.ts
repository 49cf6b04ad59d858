/** The longest token in status, in characters as the API server counts them. */
const longestToken = 256;

/**
 * The value of an annotation, cut to what fits into status. It is compared with the cut value in status: compared whole, it
 * would be handled again and again. No character is split.
 */
export function tokenIn(
  annotations: Readonly<Record<string, string>> | undefined,
  annotation: string,
): string | undefined {
  const token = annotations?.[annotation];
  if (token === undefined || token.length <= longestToken) return token;
  return Array.from(token).slice(0, longestToken).join('');
}
