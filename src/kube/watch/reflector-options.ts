import type { Clock, Entropy } from '../../base/clock.ts';
import type { CacheEvent, KubeApi, KubeObject, Log, PageOptions, Resource, Troubles } from '../../engine/ports.ts';
import type { BackoffShape } from '../../base/backoff.ts';

/** The pace of a reflector; the defaults are for production. */
export interface ReflectorPace {
  readonly pageSize: number;
  readonly pageMs: number;
  /** The server ends a watch after a time between these. */
  readonly watchSeconds: { readonly least: number; readonly most: number };
  /** When nothing was heard for so long everything is listed; longer than the minute that lies between two bookmarks. */
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

/** Why all objects were listed. */
export type ListReason = 'start' | 'gone' | 'garbled' | 'backwards' | 'silent' | 'rewind';

/** What a reflector watches and whom it tells. */
export interface ReflectorOptions {
  readonly api: KubeApi;
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Only metadata is fetched and kept. */
  readonly metadataOnly?: boolean;
  /** What of an object is kept; the object itself unless said. */
  readonly keep?: (object: KubeObject) => KubeObject;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Where failures are told that are not about this resource alone; without it they are logged like all others. */
  readonly troubles?: Troubles;
  readonly onEvent: (event: CacheEvent) => void;
  /** The cluster went back in time, as the reflector of this name noticed; told before the events of the new world. */
  readonly onRewind?: (by: string) => void;
  readonly onList?: (reason: ListReason) => void;
  readonly pace?: Partial<ReflectorPace>;
}

/** Which objects are watched, and how much of them, as every list and watch asks for it. */
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
