/**
 * The pass: all the data from which a kind decides its next step, such as the object and its spec, what the service
 * shows, the resources that the spec refers to, the account and the time.
 */
import type { Json, Secret } from '../../../base/json.ts';
import type { Moment } from '../../../base/time.ts';
import type { Read, ReadProblem, Snapshot } from '../../ports.ts';
import type { Memory, Notes, Ownership } from './step.ts';

/** The Kubernetes object for which a kind decides the next step. */
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
  /** Returns why refreshing a list has failed since its last complete read; undefined if it has not failed. */
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

/** Another Kubernetes object to which the spec refers, with its id in the service. */
export interface Referred {
  /**
   * The id of the referred object in the service. Empty if it has no id yet, which only a reference with `withoutId`
   * allows.
   */
  readonly id: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The last generation of the referred object for which its whole spec was applied. */
  readonly applied?: number | undefined;
}

/** Another resource that is related to the object being reconciled, for example because it uses the same account. */
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
  /** True if the resource is a one-time request that has ended. */
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

/**
 * The usage of an account: how many resources use it, and its orphans, which are objects in the service with an
 * ownership mark of this operator but without a resource.
 */
export interface Usage {
  /**
   * The number of resources that wait because the token lacks a permission for their call, and a text for each of the
   * first few.
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
  /**
   * Returns a Kubernetes object to which the spec refers. Normally every reference that is not optional is found. It
   * may be missing while this object is being deleted, or while the operator only looks for the effect of a lost call.
   */
  readonly referred: (kind: string, name: string) => Referred | undefined;
  readonly secret: (name: string, key: string) => Secret | undefined;
  readonly configMap: (name: string, key: string) => string | undefined;
  /**
   * Returns the oldest other resource of the same kind that claims this id of the service; undefined if no other
   * resource does. `goesFirst` is true if that resource is older than this one and therefore owns the object.
   */
  readonly claimant: (id: string) => { readonly name: string; readonly goesFirst: boolean } | undefined;
  /** Counts the resources that use this account, and names the first few. Works for account resources only. */
  readonly dependents: () => { readonly count: number; readonly first: readonly string[] };
  /**
   * Returns the usage of this account: how many resources use it, and its orphans, which are objects in the service
   * with an ownership mark of this operator but without a resource. Present for account resources only.
   */
  readonly usage?: () => Usage;
  /**
   * If another resource is creating an object of this name in this list of the service, returns a text that stands for
   * that resource in messages. The text contains the resource's name only if that resource is stuck or was deleted.
   */
  readonly creating: (collection: string, name: string) => string | undefined;
  /**
   * Returns the other resources of a kind, in the same account, that claim this id of the service. Absent where no
   * resource can claim such an id.
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
   * The moment at which this process first saw the object's journal entry, on the wall clock and on the monotonic
   * clock. The time in which the call may still arrive is counted from then.
   */
  readonly journalSeen: Moment;
  /** Times and counts that one step leaves for the next step. They are lost when the process ends. */
  readonly notes: Notes;
  /**
   * Monotonic time at which the object first asked for the read of the service that it now waits for; the present time
   * if it waits for no read.
   */
  readonly askedAt: number;
  /**
   * Monotonic time at which this process first saw the object. Undefined once this process has begun a call or reported
   * a result for the object, and undefined if a previous leader may have made calls for it.
   */
  readonly newSince?: number;
  /**
   * Remaining time in which calls that must not be sent twice have to wait. This process took over from a leader that
   * did not release its lease, so calls of that leader may still arrive.
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
   * Removes the account's credential from a text. Call this function before the text is cut, or a part of the
   * credential could stay. Absent where there is no credential to remove.
   */
  readonly shown?: (text: string) => string;
  /** Returns the keyed fingerprint of a value, as `<keyId>:<digest>`. */
  readonly print: (value: Json) => string;
  /** Fields that are not corrected for the time being, because somebody else keeps changing them. */
  readonly contested: ReadonlySet<string>;
  readonly wallMs: number;
  readonly monotonicMs: number;
}
