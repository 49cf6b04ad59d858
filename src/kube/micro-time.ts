/** A point in time as Kubernetes wants its MicroTime: exactly six digits after the second. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/Z$/, '000Z');
}
