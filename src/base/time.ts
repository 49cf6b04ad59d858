/** A time as metav1.Time has it: whole seconds. */
export function isoSeconds(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** A time as metav1.MicroTime has it: exactly six digits after the second. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/Z$/, '000Z');
}

/** The end of a wait in whole seconds, rounded up: it is over when a clock shows this time. */
export function isoSecondsUp(ms: number): string {
  return isoSeconds(ms + 999);
}
