import type { KubeApi } from '../../engine/ports.ts';

/** A moment on both clocks of this machine. */
export interface StartMoment {
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * When a moment was, by the later of our wall clock and the API server's. Creation times are the API server's: by a wall clock that is
 * behind, what was created before this process started would seem to be younger.
 */
export function laterOf(
  { wall, monotonic }: StartMoment,
  server: ReturnType<NonNullable<KubeApi['serverDate']>>,
): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}
