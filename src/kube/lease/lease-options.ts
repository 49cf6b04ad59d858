import type { Clock, Entropy } from '../../base/clock.ts';
import type { KubeApi, Log } from '../../engine/ports.ts';

/** Durations of the election; the defaults are those of Kubernetes' own components. */
export interface LeasePace {
  /** How long others wait for a silent holder. */
  readonly leaseMs: number;
  /** How long a holder acts without a renewal. */
  readonly renewMs: number;
  readonly retryMs: number;
  /** How long a lease must be missing before it is created, unless it was seen held. */
  readonly missingMs: number;
}

/** How long things take for a lease of this length, in the proportions of Kubernetes' own components: 15, 10 and 2 seconds. */
export function leasePaceOf(leaseMs: number): LeasePace {
  const unit = leaseMs / 15;
  return { leaseMs, renewMs: 10 * unit, retryMs: 2 * unit, missingMs: 2.6 * unit };
}

export const usualLeasePace: LeasePace = leasePaceOf(15_000);

/** Describes how the lease was acquired. */
interface Acquisition {
  /** The predecessor did not release it: it may have died during a call, or may not know yet that it lost the lease. */
  readonly takeOver: boolean;
}

export interface LeaseOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  /** Our name as people read it; a random part is added, so that no two processes share one. */
  readonly identity: string;
  readonly onAcquired: (acquisition: Acquisition) => void;
  readonly onLost: (why: string) => void;
  /** The cluster was restored from a backup. */
  readonly onRewind?: () => void;
  readonly pace?: Partial<LeasePace>;
}
