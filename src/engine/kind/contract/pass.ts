import type { Json } from '../../../base/json.ts';
import type { Read, ReadProblem, Snapshot } from '../../ports.ts';
import type { Secret } from '../../../base/secret.ts';
import type { Memory, Notes, Ownership } from './step.ts';

/** The object as far as a decision needs it. */
export interface Subject {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Cut to the second. */
  readonly createdAtMs: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deleting: boolean;
  /** Whether our finalizer is on it. */
  readonly held: boolean;
}

/** What the snapshots of one account show; looking at something is also asking to be woken when it changes. */
export interface View {
  /** The newest complete walk; undefined before the first. */
  all<Item>(read: Read<Item>): Snapshot<Item> | undefined;
  /** One item of the newest walk; only a change of this item wakes the object. */
  one<Item>(
    read: Read<Item>,
    id: string,
  ): { readonly walk: Snapshot<Item>; readonly item: Item | undefined } | undefined;
  /** The items of one group (see `Read.groupOf`); only a change of the group wakes the object. */
  group<Item>(
    read: Read<Item>,
    group: string,
  ): { readonly walk: Snapshot<Item>; readonly items: readonly Item[] } | undefined;
  /** Why the last walk failed, when that is newer than the last complete one. */
  problem(read: Read): ReadProblem | undefined;
}

/** How far an object that we did not create may be taken over. */
export type Adoption = 'Never' | 'ById' | 'ByName';

/** The account a pass works in. */
export interface AccountView {
  readonly endpoint: string;
  readonly accountId: string;
  readonly mode: 'Manage' | 'Observe';
  readonly adoption: Adoption;
  readonly pollMs: number;
  /** How often things are read at present: longer than asked where the budget would not do. */
  readonly inEffect: { readonly pollMs: number; readonly roundMs: number | undefined };
  /** When the newest complete read of anything began; undefined before the first. */
  readonly answeredAt?: number | undefined;
  /** What the account may take, and what it is expected to take; undefined where it is not open. */
  readonly budget?: {
    readonly requestsPerSecond: number;
    readonly concurrency: number;
    readonly forecastPerHour: number;
  };
  /** The service asked everybody on this credential to wait, for long enough to be worth a word. */
  readonly isThrottled?: boolean;
  /** Why nothing may be created or deleted at the moment. */
  readonly frozen: string | undefined;
  /** The token of `apphosting.dev/accept-missing` that was honoured last. */
  readonly acceptedMissing?: string | undefined;
}

/** An object that the spec refers to, as resolved. */
export interface Referred {
  /** Empty only where the need does without one. */
  readonly id: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The generation of it that was applied last. */
  readonly applied?: number | undefined;
}

/** Another resource of ours that names the same id of the service. */
export interface Related {
  /** In words: `RecoveryActivation team/orders`. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly id: string | undefined;
  readonly ownership: Ownership | undefined;
  readonly facts: Readonly<Record<string, unknown>>;
  /** It was looked at with everything that it refers to, and so may act. */
  readonly takenUp: boolean;
  /** Undefined where it is not valid. */
  readonly spec: unknown;
  /** A call of it was begun whose end is not known. */
  readonly inDoubt: boolean;
  /** When its newest call was begun, by the clock of its process; undefined where none is open. */
  readonly begunMs?: number;
  /** A request that came to its end. */
  readonly finished: boolean;
}

/** How many resources of a kind use an account. */
export interface Use {
  readonly kind: string;
  readonly total: number;
  readonly ready: number;
}

/** An object of the service that carries our mark and belongs to no resource. */
export interface Orphan {
  readonly type: string;
  readonly id: string;
  readonly name: string;
}

/** What an account is used for. */
export interface Tally {
  readonly counts: readonly Use[];
  readonly orphans: readonly Orphan[];
}

/** What whoever started this process has allowed it. */
export interface Powers {
  /** When this process started: what is older was not written for it. */
  readonly sinceMs: number;
  /** Calls that activate, discard or wipe. */
  readonly activation: boolean;
  /** Wiping a whole account. */
  readonly accountReset: boolean;
}

/** Everything a decision may depend on. Pure data and pure look-ups: the same pass gives the same step. */
export interface Pass<Spec, Facts> {
  readonly subject: Subject;
  readonly spec: Spec;
  readonly memory: Memory<Facts>;
  readonly account: AccountView;
  readonly view: View;
  /** A referred object; the engine has made sure that all of `needs` resolve unless the object is being deleted. */
  readonly referred: (kind: string, name: string) => Referred | undefined;
  readonly secret: (name: string, key: string) => Secret | undefined;
  readonly configMap: (name: string, key: string) => string | undefined;
  /** Another resource that claims this id of the service, in words, and whether it goes before this one. */
  readonly claimant: (id: string) => { readonly name: string; readonly goesFirst: boolean } | undefined;
  /** Resources of a kind whose spec refers to this object. */
  readonly referrers: (kind: string) => readonly { readonly name: string; readonly spec: unknown }[];
  /** Resources that use this account, the first few in words; only for accounts. */
  readonly dependents: () => { readonly count: number; readonly first: readonly string[] };
  /** What the account is used for; absent for everything else. */
  readonly tally?: () => Tally;
  /** Another resource with an open create of this name in this collection, in words. */
  readonly creating: (collection: string, name: string) => string | undefined;
  /** Whether that one is at it as usual, so that it is soon another one: not worth a name. */
  readonly isCreatingAsUsual?: (collection: string, name: string) => boolean;
  /** Resources of another kind in the same account that name this id of the service; absent where none can. */
  readonly related?: (kind: string, id: string) => readonly Related[];
  /** Resources of a kind that use the same account of the service; all are looked through, so only ask before acting. */
  readonly inAccount?: (kind: string) => readonly Related[];
  /** What this process may do beyond the everyday; absent means nothing. */
  readonly powers?: Powers;
  /** What the API server's own clock shows now, where it has shown one. */
  readonly clusterMs?: number;
  /** What we wrote to the object since this process started, newest value per field. */
  readonly wrote: { readonly at: number; readonly fields: Readonly<Record<string, Json>> } | undefined;
  /** When this process first saw the open journal entry, on both of its clocks. */
  readonly journalSeen: { readonly monotonic: number; readonly wall: number };
  /** What the step before left for this one; kept in memory only, so nothing may depend on it that must survive. */
  readonly notes: Notes;
  /** When this object first asked for what it is waiting to read (monotonic). */
  readonly askedAt: number;
  /** Since when this process knows an object that it has never sent anything for nor come to an end with (monotonic). */
  readonly newSince?: number;
  /** How much longer calls that cannot be repeated must wait after a take-over. */
  readonly quarantineMs: number;
  readonly horizonMs: number;
  /** The mark that says an object in the service is ours: `apphosting:` and 16 characters. */
  readonly marker: string;
  /** A text without the secrets in use, before it is cut; absent where nothing is known of any. */
  readonly shown?: (text: string) => string;
  /** A keyed fingerprint `<keyId>:<digest>`. */
  readonly print: (value: Json) => string;
  /** Fields that are no longer corrected, because somebody else keeps changing them back. */
  readonly contested: ReadonlySet<string>;
  readonly wallMs: number;
  readonly monotonicMs: number;
}
