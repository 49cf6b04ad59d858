import type { Clock, Entropy } from '../../base/clock.ts';
import type { CacheEvent, KubeApi, KubeObject, Log, PageOptions, Resource, Troubles } from '../../engine/ports.ts';
import type { BackoffShape } from '../../base/backoff.ts';

/** Sizes and durations of a reflector; the defaults are for production. */
export interface ReflectorPace {
  readonly pageSize: number;
  readonly pageMs: number;
  /** The API server is asked to end each watch after a random time between these. */
  readonly watchSeconds: { readonly least: number; readonly most: number };
  /** After this long without an event or bookmark everything is listed; bookmarks come every minute. */
  readonly idleMs: number;
  readonly backoff: BackoffShape;
}

export const usualPace: ReflectorPace = {
  pageSize: 500,
  pageMs: 45_000,
  watchSeconds: { least: 300, most: 600 },
  idleMs: 80_000,
  backoff: { firstMs: 800, longestMs: 30_000, forgetMs: 120_000 },
};

/** The reason for a list of all objects. */
export type ListReason = 'start' | 'gone' | 'garbled' | 'backwards' | 'silent' | 'rewind';

/** The resource that a reflector watches, and the callbacks that it calls. */
export interface ReflectorOptions {
  readonly api: KubeApi;
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Only metadata is fetched and kept. */
  readonly metadataOnly?: boolean;
  /** Reduces an object to what is kept in memory; without it the whole object is kept. */
  readonly keep?: (object: KubeObject) => KubeObject;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Collects failures of Kubernetes as a whole; without it they are logged here like all others. */
  readonly troubles?: Troubles;
  readonly onEvent: (event: CacheEvent) => void;
  /** Called with the reflector's name when the cluster was restored from a backup, before the events of the restored objects. */
  readonly onRewind?: (by: string) => void;
  readonly onList?: (reason: ListReason) => void;
  readonly pace?: Partial<ReflectorPace>;
}

/** The namespace, labels and form that every list and watch asks for. */
export function selectionOf({
  namespace,
  labelSelector,
  metadataOnly,
}: ReflectorOptions): Pick<PageOptions, 'namespace' | 'labelSelector' | 'metadataOnly'> {
  return {
    ...(namespace !== undefined && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(metadataOnly !== undefined && { metadataOnly }),
  };
}
