import type { Clock, Entropy } from '../../base/clock.ts';
import type { KubeApi, Log } from '../../engine/ports.ts';

/** How long things take; the defaults are those of Kubernetes' own components. */
export interface LeasePace {
  /** How long others wait for a silent holder. */
  readonly leaseMs: number;
  /** How long a holder acts without a renewal. */
  readonly renewMs: number;
  readonly retryMs: number;
  /** How long a lease must be missing before it is created, unless it was seen held. */
  readonly missingMs: number;
}

export const usualLeasePace: LeasePace = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000, missingMs: 2_600 };

/** How the lease was won. */
export interface Acquisition {
  /** The predecessor did not release it: it may have died in the middle of something, or may not know yet. */
  readonly takeOver: boolean;
}

export interface LeaseOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  /** Who we are to people; a random part is added, so that two processes are never one holder. */
  readonly identity: string;
  readonly onAcquired: (acquisition: Acquisition) => void;
  readonly onLost: (why: string) => void;
  /** The cluster was restored from a backup. */
  readonly onRewind?: () => void;
  readonly pace?: Partial<LeasePace>;
}
