/**
 * The pass: all the data from which a kind decides its next step, such as the object and its spec, what the service
 * shows, the resources that the spec refers to, the account and the time.
 */
import type { Json, Secret } from '../../../base/json.ts';
import type { Moment } from '../../../base/time.ts';
import type { Read, ReadProblem, Snapshot } from '../../ports.ts';
import type { Notes } from './notes.ts';
import type { Memory, Ownership } from './step.ts';

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
 * The lists of one account, as the service returned them. If the decision for a Kubernetes object uses a list or one of
 * its items, the object is reconciled again when that list or item changes.
 */
export interface View {
  /** Returns the newest complete list; undefined before the first complete list. */
  all<Item>(read: Read<Item>): Snapshot<Item> | undefined;
  /**
   * Returns one item of the newest complete list. If the decision for a Kubernetes object uses only this item of the
   * list, the object is reconciled again when the item changes, and not when other items change.
   */
  one<Item>(
    read: Read<Item>,
    id: string,
  ): { readonly snapshot: Snapshot<Item>; readonly item: Item | undefined } | undefined;
  /**
   * Returns the items of the newest complete list that belong to one group, such as the environments of one app (see
   * `Read.groupOf`). If the decision for a Kubernetes object uses only this group of the list, the object is reconciled
   * again when the group changes, and not when other items change.
   */
  group<Item>(
    read: Read<Item>,
    group: string,
  ): { readonly snapshot: Snapshot<Item>; readonly items: readonly Item[] } | undefined;
  /**
   * Returns why the list could not be read since its last complete read. Returns undefined if no read of it has failed
   * since then.
   */
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
  /**
   * The request budget of the account, and the expected number of requests per hour. Undefined while the operator has
   * no connection to the account.
   */
  readonly budget?: {
    readonly requestsPerSecond: number;
    readonly concurrency: number;
    readonly forecastPerHour: number;
  };
  /** Remaining time of a pause that the service asked for; undefined without a pause. */
  readonly throttledMs?: number;
  /**
   * Remaining time of a pause of reads that the service asked for; zero or less without such a pause. Reads never use
   * the credential of `spec.dangerousCredentialsRef`, so a pause of that credential does not stop reads.
   */
  readonly readsThrottledMs?: number;
  /**
   * Remaining time until the operator may send requests at the full rate again, after the service asked it to slow
   * down. This time includes the rest of the pause that the service asked for. Undefined while the full rate applies.
   */
  readonly slowedMs?: number;
  /** A message that says why nothing may be created or deleted in the account at the moment. */
  readonly frozen: string | undefined;
  /**
   * The value of the account's annotation `apphosting.dev/accept-missing` that the operator handled last. With this
   * annotation, the owner accepts missing objects as gone.
   */
  readonly acceptedMissing?: string | undefined;
}

/**
 * What the operator knows about another Kubernetes object to which the spec refers, including its id in the service.
 */
export interface Referred {
  /**
   * The id in the service of the referred object. Empty if that object has no id yet; only a reference with `withoutId`
   * allows this.
   */
  readonly id: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The newest generation of the referred object whose whole spec was applied to the service. */
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
  /**
   * True once status says to which account the resource is bound. A one-time request is bound only after everything to
   * which its spec refers was found. Before that, it sends nothing.
   */
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
  /** True if the resource is a one-time request, such as a RecoveryActivation, and the request has ended. */
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
 * The use of an account: how many resources use it, and which orphans it contains. An orphan is an object in the
 * service that has an ownership mark of this operator but no resource.
 */
export interface Usage {
  /**
   * The resources that wait because the token lacks a permission for their call: how many they are, and a text about
   * each of the first few.
   */
  readonly forbidden: { readonly count: number; readonly first: readonly string[] };
  readonly counts: readonly Use[];
  /** The number of resources that wait for the end of a pause that the service asked for. */
  readonly throttled?: number;
  readonly orphans: readonly Orphan[];
}

/**
 * The limits on the recovery requests that this process may send. The process sends only the types of requests that its
 * flags allow. It begins no request whose resource was created before the process started.
 */
export interface Powers {
  /**
   * The wall time at which this process started, by its own clock or by the clock of the API server, whichever is
   * ahead. A recovery request whose resource was created earlier is sent only if its call already has a journal entry.
   */
  readonly sinceMs: number;
  /**
   * True if this process may send calls that activate, discard or reset a disaster recovery (`--enable-activation`).
   */
  readonly activation: boolean;
  /** True if this process may send a DisasterReset that wipes a whole account (`--enable-account-reset`). */
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
   * Returns an object to which the spec refers; undefined if that object was not found or is not ready. For a reference
   * that is not `optional`, the result is undefined only while the resource with this spec is being deleted, or while
   * the operator only looks for the effect of a call whose outcome is unknown.
   */
  readonly referred: (kind: string, name: string) => Referred | undefined;
  readonly secret: (name: string, key: string) => Secret | undefined;
  readonly configMap: (name: string, key: string) => string | undefined;
  /**
   * Returns the oldest of the other resources of the same kind that claim the object with this id in the service;
   * undefined if there is none. `goesFirst` is true if that resource is older than this one. The older resource owns
   * the object.
   */
  readonly claimant: (id: string) => { readonly name: string; readonly goesFirst: boolean } | undefined;
  /** Counts the resources that use this account, and names the first few. Works for account resources only. */
  readonly dependents: () => { readonly count: number; readonly first: readonly string[] };
  /**
   * Returns how many resources use this account, and which orphans it contains. An orphan is an object in the service
   * that has an ownership mark of this operator but no resource. Only account resources have this function.
   */
  readonly usage?: () => Usage;
  /**
   * Returns the words with which messages refer to another resource that is creating an object of this name in this
   * list of the service. Returns undefined if no other resource is doing that. The words contain the name of that
   * resource only if it is stuck or was deleted.
   */
  readonly creating: (collection: string, name: string) => string | undefined;
  /**
   * Returns the other resources of a kind, in the same account, that claim the object with this id in the service. If
   * this function is absent, no other resource claims the object.
   */
  readonly related?: (kind: string, id: string) => readonly Related[];
  /**
   * Returns the resources of a kind that use the same account of the service. This function looks at every resource of
   * the account, so call it only right before an action.
   */
  readonly inAccount?: (kind: string) => readonly Related[];
  /** The limits on the recovery requests that this process may send. If absent, this process sends none. */
  readonly powers?: Powers;
  /** The current time by the API server's own clock. Absent until a response of the API server has shown it. */
  readonly clusterMs?: number;
  /** The values that this process wrote to the object in the service; for each field only the newest. */
  readonly wrote: { readonly at: number; readonly fields: Readonly<Record<string, Json>> } | undefined;
  /**
   * The moment at which this process first reconciled the object with the journal entry that status has now, on the
   * wall clock and on the monotonic clock. From this moment, the operator counts the time in which the call may still
   * arrive at the service.
   */
  readonly journalSeen: Moment;
  /** What earlier steps left for this step. It is lost when the process ends. */
  readonly notes: Notes;
  /**
   * Monotonic time since which the object waits for a read of the service. If the object waits for no read, the present
   * time.
   */
  readonly askedAt: number;
  /**
   * Monotonic time at which this process first saw the object. Undefined after this process has begun a call or
   * reported a result for the object. Also undefined if the process first saw the object before the wait of
   * `takeOverMs` was over.
   */
  readonly newSince?: number;
  /**
   * The remaining time in which calls that must not be sent twice have to wait; zero if they need not wait. They wait
   * for the time of `--horizon-seconds` if this process took over from a leader that did not release its lease, or if
   * the cluster was restored from a backup. In that time, earlier calls may still arrive at the service.
   */
  readonly takeOverMs: number;
  readonly horizonMs: number;
  /**
   * The time limit of a call that changes something in the service. If no response has arrived by then, the outcome of
   * the call is unknown.
   */
  readonly callDeadlineMs: number;
  /**
   * The ownership mark of this resource: `apphosting:` and 16 characters. It is stored in the object in the service, to
   * recognise the object as created by this resource.
   */
  readonly mark: string;
  /**
   * Removes the account's credential from a text. Call this function before the text is cut, because the function does
   * not recognise a part of the credential. If this function is absent, there is no credential to remove.
   */
  readonly shown?: (text: string) => string;
  /** Returns the keyed fingerprint of a value, as `<keyId>:<hash>`. */
  readonly fingerprint: (value: Json) => string;
  /** The fields that the operator does not correct at present, because somebody else changes them again and again. */
  readonly contested: ReadonlySet<string>;
  readonly wallMs: number;
  readonly monotonicMs: number;
}
