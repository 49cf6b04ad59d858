/**
 * What holders of a lease have had in common, and since when.
 *
 * A holder that carries something says so on the lease, in an annotation with the moment since when. Whoever follows it closely
 * and carries the same takes that moment over; whoever does not carry it leaves the annotation out. So the moment survives
 * restarts, and does not survive a holder without it or a time in which nobody held the lease.
 *
 * Why: docs/design/recovery-requests.md#the-power-to-activate-is-carried-from-operator-to-operator
 */
import type { KubeApi, KubeObject } from '../../engine/ports.ts';
import { leaseSpecOf } from './lease-spec.ts';

/** Moments by the name of the annotation that keeps them. */
export type Standing = Readonly<Record<string, string>>;

/** Longer than it takes to start a pod elsewhere whose node was lost: five minutes of waiting for the node, and the start. */
export const longestGapMs = 15 * 60_000;
/** A clock that is further ahead than this says nothing about how long ago something was. */
const aheadMs = 60_000;

/** A moment on both clocks of this machine. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * When a moment was, by the later of our wall clock and the API server's. Creation times are the API server's: a wall clock that is
 * behind would make what a process carries older than the process.
 */
export function latestOf({ wall, monotonic }: Moment, server: ReturnType<NonNullable<KubeApi['serverDate']>>): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}

/** What the next holder may say when it carries these and began at `beganMs`; `lease` is as its predecessor left it. */
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
