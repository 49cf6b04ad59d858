/**
 * The pass: all the data from which a kind decides its next step, such as the object and its spec, what the service
 * shows, the resources that the spec refers to, the account and the time.
 */
import type { Json, Secret } from '../../../base/json.ts';
import type { Moment } from '../../../base/time.ts';
import type { Read, ReadProblem, Snapshot } from '../../ports.ts';
import type { Memory, Notes, Ownership } from './step.ts';

/** The Kubernetes object for which a decision is made. */
export interface Subject {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** The creation time of the object, which Kubernetes gives in whole seconds. */
  readonly createdAtMs: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deleting: boolean;
  /** True when the object has the operator's finalizer. */
  readonly held: boolean;
}

/**
 * The lists of one account, as the service returned them. An object for which a list or item was read here is
 * reconciled again when that list or item changes.
 */
export interface View {
  /** Returns the newest complete list; undefined before the first complete list. */
  all<Item>(read: Read<Item>): Snapshot<Item> | undefined;
  /** Returns one item of the newest list. Afterwards only a change of this item causes a reconcile of the object. */
  one<Item>(
    read: Read<Item>,
    id: string,
  ): { readonly snapshot: Snapshot<Item>; readonly item: Item | undefined } | undefined;
  /**
   * Returns the items of one group (see `Read.groupOf`). Afterwards only a change in the group causes a reconcile of
   * the object.
   */
  group<Item>(
    read: Read<Item>,
    group: string,
  ): { readonly snapshot: Snapshot<Item>; readonly items: readonly Item[] } | undefined;
  /** Returns why a list could not be read again since its newest complete list; undefined if every read succeeded. */
  problem(read: Read): ReadProblem | undefined;
}

/** Says which existing objects of the service this resource may adopt, although it did not create them. */
export type Adoption = 'Never' | 'ById' | 'ByName';

/** The properties of an account on which the decisions for its objects depend. */
export interface AccountView {
  readonly endpoint: string;
  readonly accountId: string;
  readonly managementPolicy: 'Manage' | 'Observe';
  readonly adoption: Adoption;
  readonly pollMs: number;
  /**
   * The poll intervals in effect. They are longer than configured when the request budget is too small for the
   * configured ones.
   */
  readonly inEffect: { readonly pollMs: number; readonly rateLimitedMs: number | undefined };
  /** The request budget of the account and its expected use; undefined while the account is closed. */
  readonly budget?: {
    readonly requestsPerSecond: number;
    readonly concurrency: number;
    readonly forecastPerHour: number;
  };
  /** Remaining time of a pause that the service asked for; undefined without a pause. */
  readonly throttledMs?: number;
  /**
   * Remaining time in which fewer requests are sent after a pause that the service asked for; undefined when the full
   * rate is allowed.
   */
  readonly slowedMs?: number;
  /** A message that says why nothing may be created or deleted in the account at the moment. */
  readonly frozen: string | undefined;
  /** The newest value of the annotation `apphosting.dev/accept-missing` that was handled. */
  readonly acceptedMissing?: string | undefined;
}

/** An object to which the spec refers, after it was found. */
export interface Referred {
  /** The id of the referred object in the service; empty only for a reference with `withoutId`. */
  readonly id: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The generation of the referred object's spec that was applied last. */
  readonly applied?: number | undefined;
}

/** A resource related to the object for which a decision is made, for example one that uses the same account. */
export interface Related {
  /** The kind, namespace and name of the resource, such as `RecoveryActivation team/orders`. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly id: string | undefined;
  readonly ownership: Ownership | undefined;
  readonly facts: Readonly<Record<string, unknown>>;
  /** True once all references of the resource were found, so that the resource is bound to an account and may act. */
  readonly takenUp: boolean;
  /** The parsed spec; undefined when the spec is not valid. */
  readonly spec: unknown;
  /** True while the outcome of one of the resource's calls is unknown. */
  readonly inDoubt: boolean;
  /**
   * The time at which the resource's unfinished call began, by the clock of the process that sent the call; undefined
   * without such a call.
   */
  readonly begunMs?: number;
  /** True for a one-time request that has ended. */
  readonly finished: boolean;
}

/** The number of resources of one kind that use an account. */
interface Use {
  readonly kind: string;
  readonly total: number;
  readonly ready: number;
}

/** An object of the service that carries this operator's ownership mark although no resource has its id. */
export interface Orphan {
  readonly type: string;
  readonly externalId: string;
  readonly name: string;
}

/** The usage of an account: the resources that refer to the account, and its orphans. */
export interface Usage {
  /**
   * The number of resources that wait because the token lacks a permission for their call, and a text for the first
   * few.
   */
  readonly forbidden: { readonly count: number; readonly first: readonly string[] };
  readonly counts: readonly Use[];
  /** The number of resources that wait for the end of a pause that the service asked for. */
  readonly throttled?: number;
  readonly orphans: readonly Orphan[];
}

/** Says which recovery requests this process may send: those that are new enough, and only the allowed types. */
export interface Powers {
  /** The wall time at which this process started. A recovery request whose resource was created earlier is not sent. */
  readonly sinceMs: number;
  /** True if calls are allowed that activate, discard or reset disaster recovery. */
  readonly activation: boolean;
  /** True if a DisasterReset may wipe a whole account. */
  readonly accountReset: boolean;
}

/** All the data and look-ups from which a kind decides its next step. The same pass always gives the same step. */
export interface Pass<Spec = unknown, Facts = unknown> {
  readonly subject: Subject;
  readonly spec: Spec;
  readonly memory: Memory<Facts>;
  readonly account: AccountView;
  readonly view: View;
  /** Returns an object to which the spec refers. Every needed reference exists, unless this object is being deleted. */
  readonly referred: (kind: string, name: string) => Referred | undefined;
  readonly secret: (name: string, key: string) => Secret | undefined;
  readonly configMap: (name: string, key: string) => string | undefined;
  /**
   * Returns the other resource that claims this id of the service; undefined if no other resource does. With
   * `goesFirst`, the other resource is older and therefore owns the id.
   */
  readonly claimant: (id: string) => { readonly name: string; readonly goesFirst: boolean } | undefined;
  /** Counts the resources that use this account, and names the first few. Works for account resources only. */
  readonly dependents: () => { readonly count: number; readonly first: readonly string[] };
  /** Returns the usage of this account: resource counts and orphans. Present for account resources only. */
  readonly usage?: () => Usage;
  /**
   * Returns a text for another resource that is creating an object of this name in this list of the service. The text
   * contains the resource's name only if the resource is stuck.
   */
  readonly creating: (collection: string, name: string) => string | undefined;
  /**
   * Returns the resources of some kind, in the same account, that name this id of the service. Absent where no resource
   * can name such an id.
   */
  readonly related?: (kind: string, id: string) => readonly Related[];
  /**
   * Returns the resources of a kind that use the same account of the service. Searches all objects, so call this
   * function only right before an action.
   */
  readonly inAccount?: (kind: string) => readonly Related[];
  /** The recovery requests that this process may send; if absent, this process may send none. */
  readonly powers?: Powers;
  /** The current time on the API server's own clock, if known. */
  readonly clusterMs?: number;
  /** The values that this process wrote to the object in the service; for each field only the newest. */
  readonly wrote: { readonly at: number; readonly fields: Readonly<Record<string, Json>> } | undefined;
  /**
   * The moment at which this process first saw the journal entry of the object, on the wall clock and on the monotonic
   * clock.
   */
  readonly journalSeen: Moment;
  /** Times and counts that one step leaves for the next step. They are lost when the process ends. */
  readonly notes: Notes;
  /**
   * Monotonic time since which this object waits for a read of the service; the time of this pass if it waits for none.
   */
  readonly askedAt: number;
  /**
   * Monotonic time since which this process knows the object. Undefined once this process has begun a call or
   * reported a result for the object.
   */
  readonly newSince?: number;
  /**
   * Remaining time in which calls that must not be sent twice wait, because this process took over from a leader that
   * did not release its lease.
   */
  readonly takeOverMs: number;
  readonly horizonMs: number;
  /** Time limit of a call that changes something. After this time a call without an answer has an unknown outcome. */
  readonly callMs: number;
  /**
   * The ownership mark of this resource: `apphosting:` and 16 characters. It is stored in the object in the service, to
   * recognise the object as created by this resource.
   */
  readonly marker: string;
  /**
   * Removes known secrets from a text. Call this function before the text is cut. Absent where no secrets are known.
   */
  readonly shown?: (text: string) => string;
  /** Returns the keyed fingerprint of a value, as `<keyId>:<digest>`. */
  readonly print: (value: Json) => string;
  /** Fields that are not corrected for the time being, because somebody else keeps changing them. */
  readonly contested: ReadonlySet<string>;
  readonly wallMs: number;
  readonly monotonicMs: number;
}
