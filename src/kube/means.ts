import type { Clock, Entropy } from '../base/time.ts';
import type { KubeApi, Log } from '../engine/ports.ts';

/** The Kubernetes API, the clock, randomness and the log, which most parts of `src/kube` need. */
export interface KubeMeans {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}
