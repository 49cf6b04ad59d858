import type { Clock, Entropy } from '../base/time.ts';
import type { KubeApi, Log } from '../engine/ports.ts';

/** The API, the clock, randomness and the log, with which every part of the Kubernetes side works. */
export interface KubeMeans {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}
