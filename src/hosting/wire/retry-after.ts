/** The longest that a service can make us wait: 15 minutes. */
export const longestPauseMs = 15 * 60_000;

/**
 * Reads how long a `Retry-After` asks to wait: seconds, or a date by the service's own clock where it shows one. A past date, a
 * zero or a negative number means one second; what is neither a number nor a date counts as absent.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const value = header?.trim() ?? '';
  if (value === '') return undefined;
  const seconds = /^[+-]?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
  const ms = seconds === undefined ? Date.parse(value) - nowMs : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 1000), longestPauseMs);
}
