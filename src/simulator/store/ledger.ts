/** A change of the world as a handler reports it. */
export interface Entry {
  /** For example `contactPoint.created`. */
  readonly kind: string;
  /** The id of what changed. */
  readonly id: string;
  readonly accountId: string;
  /** The caller's own reference, where the request carries one. */
  readonly requestId?: string;
  /** The details of the change, without secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** One line of the ledger: a change that is part of the world now. */
export interface Commit extends Entry {
  readonly seq: number;
  readonly at: number;
  /** The request that caused it; null for what happened by itself or was done through the control surface. */
  readonly requestSeq: number | null;
  /** It was done through the control surface. */
  readonly control?: true;
  /** The membership by which the caller was let into the account. */
  readonly membershipId?: string;
  /** The first characters of the caller's token. */
  readonly token: string | null;
}
