import type { KubeApi } from '../../engine/ports.ts';

/** A moment on both clocks of this machine. */
export interface StartMoment {
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * The wall time of a moment, by our clock or the API server's, whichever is ahead. Creation times are the API server's, so
 * with a slow clock of ours an older object would look younger than this process.
 */
export function laterOf(
  { wall, monotonic }: StartMoment,
  server: ReturnType<NonNullable<KubeApi['serverDate']>>,
): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}
