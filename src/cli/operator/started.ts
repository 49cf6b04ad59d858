import type { KubeApi } from '../../engine/ports.ts';

/** A moment on both clocks of this machine. */
export interface StartMoment {
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * The time of a moment by the later of our wall clock and the API server's. Creation times are the API server's, so with a
 * slow wall clock an older object would look younger than this process.
 */
export function laterOf(
  { wall, monotonic }: StartMoment,
  server: ReturnType<NonNullable<KubeApi['serverDate']>>,
): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}
