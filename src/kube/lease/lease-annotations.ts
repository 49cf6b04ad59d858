/**
 * Annotations on the lease that say since when its holders have had a power, such as activating recoveries.
 *
 * A holder with the power writes the moment into an annotation. The next holder copies that moment when it has the power too and
 * follows closely, and leaves the annotation out when it has not. So the moment survives restarts, and ends with a holder without
 * the power or with a time in which nobody held the lease.
 *
 * Why: docs/design/recovery-requests.md#the-power-to-activate-is-carried-from-operator-to-operator
 */
import type { KubeApi, KubeObject } from '../../engine/ports.ts';
import { leaseSpecOf } from './lease-spec.ts';

/** Moments by the name of the annotation that keeps them. */
export type Standing = Readonly<Record<string, string>>;

/** The longest time without a holder after which a moment is still copied: a lost node is waited for five minutes, then a pod starts. */
export const longestGapMs = 15 * 60_000;
/** A renewal that lies further in the future than this was written by a wrong clock, and is not believed. */
const aheadMs = 60_000;

/** A moment on both clocks of this machine. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * Dates a moment by our wall clock or the API server's, whichever is later. Objects are dated by the API server: with a wall clock that
 * is behind, a power would seem older than the process that has it.
 */
export function latestOf({ wall, monotonic }: Moment, server: ReturnType<NonNullable<KubeApi['serverDate']>>): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}

/** The annotations of the next holder, which has these powers and began at `beganMs`; `lease` is as its predecessor left it. */
export function standingAfter(
  lease: KubeObject | undefined,
  carries: readonly string[],
  { beganMs, wallMs }: { readonly beganMs: number; readonly wallMs: number },
): Standing {
  const gapMs = wallMs - Date.parse((lease && leaseSpecOf(lease).renewTime) ?? '');
  const follows = gapMs <= longestGapMs && gapMs >= -aheadMs;
  const since = (name: string): string => {
    const said = Date.parse((follows && lease?.metadata.annotations?.[name]) || '');
    return new Date(Number.isNaN(said) ? beganMs : Math.min(said, beganMs)).toISOString();
  };
  return Object.fromEntries(carries.map((name) => [name, since(name)]));
}
