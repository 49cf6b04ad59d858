import type { Clock, Entropy } from '../base/time.ts';
import type { AnyKind } from './kind/contract/define.ts';
import type { Powers } from './kind/contract/pass.ts';
import type { OperatorKey } from './kind/planner/compare.ts';
import type { EventRecorder, Hosting, Leadership, Log, Material, Metrics, ObjectWriter, Troubles } from './ports.ts';

/**
 * The settings of the engine, and the interfaces through which it reaches the service, Kubernetes, logs and metrics.
 */
export interface EngineOptions {
  readonly kinds: readonly AnyKind[];
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly hosting: Hosting;
  readonly writer: ObjectWriter;
  readonly material: Material;
  readonly events: EventRecorder;
  readonly leadership: Leadership;
  readonly log: Log;
  readonly troubles: Troubles;
  readonly metrics: Metrics;
  /** The operator's own key, from which ownership marks and fingerprints are computed. */
  readonly key: OperatorKey;
  readonly operatorNamespace: string;
  readonly labelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined;
  readonly settings: {
    readonly horizonMs: number;
    /**
     * Time limit of a call that changes something, including its wait for the request budget. After this time a call
     * without a response has an unknown outcome.
     */
    readonly callDeadlineMs: number;
    /** The default poll interval, for accounts without spec.pollSeconds. */
    readonly pollMs: number;
    readonly workers: number;
    readonly readOnly: boolean;
    /**
     * True when the operator runs without a label selector. It then sees every resource in the namespaces that it
     * watches.
     */
    readonly seesAll: boolean;
    /** The recovery requests that this process may send; if undefined, this process may send none. */
    readonly powers?: Powers;
  };
  /** The time that the API server's own clock showed in its last response, if known. */
  readonly serverDate?: () => { readonly dateMs: number; readonly seenAt: number } | undefined;
}
