import type { KubeApi } from '../../engine/ports.ts';

/** A moment on both clocks of this machine. */
export interface StartMoment {
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * The wall time of a moment, by the clock of this machine or of the API server, whichever is ahead. Creation times come from
 * the API server: if the clock of this machine is slow, an older object would look younger than this process.
 */
export function laterOf(
  { wall, monotonic }: StartMoment,
  server: ReturnType<NonNullable<KubeApi['serverDate']>>,
): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}
