import type { AccountGate, AccountParts } from '../account/gate.ts';
import type { Stored } from '../objects/stored.ts';
import type { ExclusiveLocks, OpenCreates } from '../objects/open-creates.ts';

/** What all reconciles share: the engine's options, its queue, caches and locks, and callbacks of the engine. */
export interface EngineParts extends AccountParts {
  readonly gate: AccountGate;
  readonly openCreates: OpenCreates;
  readonly locks: ExclusiveLocks;
  /** The objects that wait for an id until another object no longer claims it, by the index key of that id. */
  readonly awaitingClaims: Map<string, Set<string>>;
  /**
   * Stores the object that the API server returned for the operator's own write, before the watch delivers the object.
   */
  wrote(stored: Stored): void;
  /** The monotonic time until which a take-over delays calls (see `takeOver` of the engine). */
  takeOverEndsAt: number;
  /** Records that a call of this account has begun. The returned function records that the call has ended. */
  calling(account: string): () => void;
  /** Waits for a response of the service. Meanwhile the reconcile does not occupy a worker. */
  away<T>(wait: () => Promise<T>): Promise<T>;
}
