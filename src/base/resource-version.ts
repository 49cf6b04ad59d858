/**
 * Resource versions are decimal strings of up to 128 bits: they are compared by length, then character by character, and
 * never become numbers.
 */

/** Below zero when `a` is older than `b`, zero when they are the same, above zero when `a` is newer. */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Whether this text can be compared with `compareVersions`. */
export function isVersion(text: string): boolean {
  return /^[1-9][0-9]{0,38}$/.test(text);
}

/** True if version `a` is older than `b`. */
export function isOlderVersion(a: string, b: string): boolean {
  return compareVersions(a, b) < 0;
}
