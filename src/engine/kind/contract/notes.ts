/**
 * The notes that one step of an object leaves in memory for the next step. All times are monotonic, except
 * `begunMs` (the clock of the process that sent the call) and `updatedAtBefore` (the clock of the service). The notes are
 * lost when the process ends.
 *
 * A note that only one kind uses has a name or a section of its own, so that it cannot be taken for a note of another
 * kind.
 */
export interface Notes {
  /**
   * When the first read began that did not contain the resource's object. The object counts as gone only after a second
   * such read in a row.
   */
  readonly missedAt?: number;
  /** The same for other objects of the resource, the components of a solution: by id, when each was missed. */
  readonly missed?: Readonly<Record<string, number>>;
  /** True when reads have proved that the object is gone, although status still has its id. */
  readonly provedGone?: boolean;
  /** A read that began before this time is too old to decide on, for example because it misses the newest call. */
  readonly staleBefore?: number;
  /** When the service refused a call, perhaps because an object that the call names is gone. */
  readonly deniedAt?: number;
  /** A read that began before this time is too old to show the effect of the call by which the resource is deleted. */
  readonly removedAt?: number;
  /** How often in a row the service refused the call by which the resource is deleted. */
  readonly removalsRefused?: number;
  /** How many corrections of drift were sent that no later read has shown. */
  readonly corrected?: number;
  /** True after a user has set the annotation `reconcile-at`: corrections that had no visible effect are sent again. */
  readonly triesAgain?: boolean;
  /**
   * Present while the object waits because it is not known whether calls of other resources took effect: when the newest
   * of these calls began, and since when the object waits.
   */
  readonly beside?: { readonly begunMs: number; readonly since: number };

  // ---- calls that are written to the journal in a step of their own: recovery requests and protections ----

  /** How often this process has sent the call. Absent if the number is not known; for a protection, once it is sent. */
  readonly timesSent?: number;
  /** When this process last sent the call. */
  readonly sentAt?: number;
  /** When this process received the response to the call, or stopped waiting for it. */
  readonly answeredAt?: number;
  /** When the first read began that did not contain the operation which the accepted request began. */
  readonly operationMissedAt?: number;
  /** True when a read has shown that the service works on the activation. */
  readonly activationSeen?: boolean;
  /** Since when the service has shown no change of the operation of a validation. */
  readonly validationQuietSince?: number;

  // ---- environments and installations ----

  /** When the newest call to the environment was answered, and the update time that the environment had before it. */
  readonly environmentCalled?: { readonly at: number; readonly updatedAtBefore: number | undefined };
  /** The generation of the spec whose deployment the service refused. */
  readonly deployRefusedIn?: number;
  /** True when the service refused to start the environment because it was never deployed. */
  readonly neverDeployed?: boolean;
  /** How often in a row an installation was carried out only in part. */
  readonly partialInstalls?: number;
}
