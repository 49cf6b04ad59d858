import type { Moment } from '../../base/time.ts';
import type { KubeApi } from '../../engine/ports.ts';

/**
 * Returns the wall time of a moment, by the clock of this machine or of the API server, whichever is ahead. Creation times come from the
 * API server: if the clock of this machine is slow, an object older than this process would look younger.
 */
export function laterOf({ wall, monotonic }: Moment, server: ReturnType<NonNullable<KubeApi['serverDate']>>): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}
