/** The longest token in status, in characters as the API server counts them. */
const longestToken = 256;

/**
 * What an annotation asks for, as far as status can say that it was done. What is compared with status is cut as status is: a
 * token that is compared whole would be handled again and again. No character is cut in two, which would not be read back.
 */
export function tokenIn(
  annotations: Readonly<Record<string, string>> | undefined,
  annotation: string,
): string | undefined {
  const token = annotations?.[annotation];
  if (token === undefined || token.length <= longestToken) return token;
  return Array.from(token).slice(0, longestToken).join('');
}
