/**
 * The pass: everything from which a kind decides its next step, such as the object and its spec, what the service shows, the
 * resources that it refers to, its account and the time.
 */
import type { Json, Secret } from '../../../base/json.ts';
import type { Moment } from '../../../base/time.ts';
import type { Read, ReadProblem, Snapshot } from '../../ports.ts';
import type { Memory, Notes, Ownership } from './step.ts';

/** The object as a kind sees it. */
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
  /** True when the object has our finalizer. */
  readonly held: boolean;
}

/** The lists of one account. An object that reads something here is reconciled again when that changes. */
export interface View {
  /** Returns the newest full list; undefined before the first. */
  all<Item>(read: Read<Item>): Snapshot<Item> | undefined;
  /** Returns one item of the newest list. Only a change of this item wakes the object. */
  one<Item>(
    read: Read<Item>,
    id: string,
  ): { readonly snapshot: Snapshot<Item>; readonly item: Item | undefined } | undefined;
  /** Returns the items of one group (see `Read.groupOf`). Only a change in the group wakes the object. */
  group<Item>(
    read: Read<Item>,
    group: string,
  ): { readonly snapshot: Snapshot<Item>; readonly items: readonly Item[] } | undefined;
  /** Returns why lists of a read have failed since its newest full list; undefined if none failed. */
  problem(read: Read): ReadProblem | undefined;
}

/** Which objects that this resource did not create may be adopted. */
export type Adoption = 'Never' | 'ById' | 'ByName';

/** The account of the object, as a kind sees it. */
export interface AccountView {
  readonly endpoint: string;
  readonly accountId: string;
  readonly managementPolicy: 'Manage' | 'Observe';
  readonly adoption: Adoption;
  readonly pollMs: number;
  /** The intervals in effect. They are longer than configured when the request budget does not suffice. */
  readonly inEffect: { readonly pollMs: number; readonly rateLimitedMs: number | undefined };
  /** The request budget and its expected use; undefined while the account is closed. */
  readonly budget?: {
    readonly requestsPerSecond: number;
    readonly concurrency: number;
    readonly forecastPerHour: number;
  };
  /** How much longer the pause lasts that the service asked for; undefined without a pause. */
  readonly throttledMs?: number;
  /** How much longer fewer requests are sent after a pause that the service asked for; undefined when the full rate is allowed. */
  readonly slowedMs?: number;
  /** Why nothing may be created or deleted at the moment. */
  readonly frozen: string | undefined;
  /** The newest value of the annotation `apphosting.dev/accept-missing` that was handled. */
  readonly acceptedMissing?: string | undefined;
}

/** An object that the spec refers to, after it was found. */
export interface Referred {
  /** The id of the object in the service; empty only for a reference with `withoutId`. */
  readonly id: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The generation of the object's spec that was applied last. */
  readonly applied?: number | undefined;
}

/** Another resource of ours, as a kind sees it. */
export interface Related {
  /** The resource in words, such as `RecoveryActivation team/orders`. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly id: string | undefined;
  readonly ownership: Ownership | undefined;
  readonly facts: Readonly<Record<string, unknown>>;
  /** True when all references of the resource were found at some time, so that it may act. */
  readonly takenUp: boolean;
  /** The parsed spec; undefined when the spec is not valid. */
  readonly spec: unknown;
  /** True while the outcome of one of the resource's calls is unknown. */
  readonly inDoubt: boolean;
  /** When the open call of the resource began, by the clock of the process that sent it; undefined without an open call. */
  readonly begunMs?: number;
  /** True for a one-time request that is over. */
  readonly finished: boolean;
}

/** The number of resources of a kind that use an account. */
interface Use {
  readonly kind: string;
  readonly total: number;
  readonly ready: number;
}

/** An object of the service that carries our mark and belongs to no resource. */
export interface Orphan {
  readonly type: string;
  readonly externalId: string;
  readonly name: string;
}

/** What uses an account: resources that refer to it, and objects of the service that no resource has. */
export interface Usage {
  /** The number of resources that wait because the token lacks a permission for their call, and the first few in words. */
  readonly forbidden: { readonly count: number; readonly first: readonly string[] };
  readonly counts: readonly Use[];
  /** The number of resources that wait for the end of a pause that the service asked for. */
  readonly throttled?: number;
  readonly orphans: readonly Orphan[];
}

/** The recovery requests that this process may send. */
export interface Powers {
  /** When this process started (wall time). A request that was created before is not sent. */
  readonly sinceMs: number;
  /** Allows calls that activate, discard or wipe. */
  readonly activation: boolean;
  /** Allows a wipe of a whole account. */
  readonly accountReset: boolean;
}

/** Everything that a kind decides on, as pure data and pure look-ups. The same pass gives the same step. */
export interface Pass<Spec = unknown, Facts = unknown> {
  readonly subject: Subject;
  readonly spec: Spec;
  readonly memory: Memory<Facts>;
  readonly account: AccountView;
  readonly view: View;
  /** Returns an object that the spec refers to. All needed references exist, unless this object is being deleted. */
  readonly referred: (kind: string, name: string) => Referred | undefined;
  readonly secret: (name: string, key: string) => Secret | undefined;
  readonly configMap: (name: string, key: string) => string | undefined;
  /** Returns another resource that claims this id of the service, in words. The resource that `goesFirst` is older and gets the id. */
  readonly claimant: (id: string) => { readonly name: string; readonly goesFirst: boolean } | undefined;
  /** Counts the resources that use this account, and names the first few. Only for accounts. */
  readonly dependents: () => { readonly count: number; readonly first: readonly string[] };
  /** Returns the resources that use this account. Present for an account only. */
  readonly usage?: () => Usage;
  /** Returns, in words, another resource with an open create of this name in this collection. The resource is named only if it is stuck. */
  readonly creating: (collection: string, name: string) => string | undefined;
  /** Returns resources of another kind in the same account that name this id of the service. Absent where no resource can name one. */
  readonly related?: (kind: string, id: string) => readonly Related[];
  /**
   * Returns resources of a kind that use the same account of the service. Searches all of them, so call this function only before
   * acting.
   */
  readonly inAccount?: (kind: string) => readonly Related[];
  /** The recovery requests that this process may send; absent means none. */
  readonly powers?: Powers;
  /** The time now on the API server's own clock, if known. */
  readonly clusterMs?: number;
  /** The values that this process wrote to the object in the service, the newest for each field. */
  readonly wrote: { readonly at: number; readonly fields: Readonly<Record<string, Json>> } | undefined;
  /** When this process first saw the open journal entry, on both of its clocks. */
  readonly journalSeen: Moment;
  /** Times and counts that the previous step left for this step. They are lost when the process ends. */
  readonly notes: Notes;
  /** When this object first asked for the read that it waits for (monotonic). */
  readonly askedAt: number;
  /** Since when this process knows the object (monotonic); undefined once this process has sent or concluded something for the object. */
  readonly newSince?: number;
  /** How much longer calls that cannot be repeated are held back after a take-over. */
  readonly quarantineMs: number;
  readonly horizonMs: number;
  /** How long a call that changes something may take before it counts as lost. */
  readonly callMs: number;
  /** The mark in an object of the service that says which resource created the object: `apphosting:` and 16 characters. */
  readonly marker: string;
  /** Redacts known secrets from a text, before the text is cut. Absent where no secrets are known. */
  readonly shown?: (text: string) => string;
  /** Returns the keyed fingerprint of a value, as `<keyId>:<digest>`. */
  readonly print: (value: Json) => string;
  /** Fields that are no longer corrected, because somebody else keeps changing them. */
  readonly contested: ReadonlySet<string>;
  readonly wallMs: number;
  readonly monotonicMs: number;
}
