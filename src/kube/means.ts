import type { Clock, Entropy } from '../base/time.ts';
import type { KubeApi, Log } from '../engine/ports.ts';

/** The Kubernetes API, the clock, randomness and the log, which every part of `src/kube` needs. */
export interface KubeMeans {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}
