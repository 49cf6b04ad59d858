import type { AccountParts } from '../account/gate.ts';
import type { Stored } from '../objects/stored.ts';
import type { Verdict } from '../kind/contract/step.ts';
import type { ExclusiveLocks, OpenCreates } from '../objects/open-creates.ts';

/** What all reconciles share: the engine's options, its caches and locks, and callbacks of the engine. */
export interface EngineParts extends AccountParts {
  readonly openCreates: OpenCreates;
  readonly locks: ExclusiveLocks;
  /**
   * Stores the object that the API server returned for the operator's own write, before the watch delivers the object.
   */
  wrote(stored: Stored): void;
  /**
   * Makes an object wait for an id that another resource owns. The object is enqueued when the owner no longer claims
   * the id.
   */
  awaitClaim(claim: string, objectKey: string): void;
  takeOverEndsAt(): number;
  concluded(stored: Stored, verdict: Verdict): void;
  /** Records that a call of this account has begun. The returned function records that the call has ended. */
  calling(account: string): () => void;
  /** True while other objects of an account wait for a worker. */
  isCrowded(account: string): boolean;
  /** Waits for a response of the service. Meanwhile the reconcile does not occupy a worker. */
  away<T>(wait: () => Promise<T>): Promise<T>;
}
