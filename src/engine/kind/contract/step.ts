import type { Json } from '../../../base/json.ts';
import type { Outcome, Read, Request, Urgency } from '../../ports.ts';
import type { Reason } from './reasons.ts';

/** Who made the object in the service, and how sure that is. */
export type Ownership = 'Created' | 'Adopted' | 'Presumed';

/** How many ids an intent holds at most: what status has room for. */
export const mostExcluded = 1_000;

/** What a create needs to be found again when its answer is lost. */
export interface CreateIntent {
  /** The read that lists such objects. */
  readonly collection: string;
  readonly name: string;
  /** Ids of objects of this name that were there before. */
  readonly excluded: readonly string[];
  /** The service's own clock when those were read, where it shows one: what is older than that is not ours. */
  readonly serviceTime?: string;
}

/** The write-ahead entry of a call that must not happen twice, as it stands in status. */
export interface JournalEntry {
  readonly operation: string;
  readonly attempt: number;
  readonly endpoint: string;
  readonly accountId: string;
  /** Wall time, for people and for comparing with the service's clock. */
  readonly startedAt: string;
  readonly deadlineSeconds: number;
  /** Keyed fingerprint of what is sent. */
  readonly digest: string;
  readonly create?: CreateIntent;
  /** The service said 409: what it said. One fresh read decides whether that was a no. */
  readonly conflicted?: string;
  /** How the object looked right before the call, by which its effect is recognised. */
  readonly before?: string;
  readonly requestId?: string;
  /** The exact bytes of a call that the service recognises by requestId. */
  readonly payload?: string;
}

/** A journal entry without what the engine knows itself. */
export type Intent = Omit<JournalEntry, 'endpoint' | 'accountId' | 'startedAt' | 'deadlineSeconds'>;

/** What the engine keeps about an object between passes; all of it stands in status. */
export interface Memory<Facts> {
  readonly id: string | undefined;
  readonly ownership: Ownership | undefined;
  /** Where the id lives; a mismatch with the account sends nothing. */
  readonly binding: { readonly endpoint: string; readonly accountId: string } | undefined;
  readonly journal: JournalEntry | undefined;
  /** The generation whose spec was last applied whole, and what cannot be read back as keyed fingerprints. */
  readonly applied: { readonly generation: number; readonly prints: Readonly<Record<string, string>> } | undefined;
  /** The kind's own status fields. */
  readonly facts: Facts;
}

/** What an event says. */
export interface Told {
  readonly reason: string;
  readonly note: string;
}

/** One request, with everything the engine must know to send it safely. */
export interface Call<Facts> {
  readonly request: Request;
  /** What it does in the words of the user's YAML: `create contact point "On call"`. */
  readonly words: string;
  readonly urgency: Urgency;
  /** Which credential of the account signs it. */
  readonly credential?: 'dangerous';
  /** Present for a call that must not happen twice: it is written to status before anything is sent. */
  readonly journal?: Intent;
  /** Sends the entry that is open in the journal: what comes of the call is what came of the entry. */
  readonly resumes?: true;
  /**
   * Before the bytes go out, the object is read live (the same, not deleted, not held), and in the tick of dispatch the kind
   * is asked again with what is known by then: it must still want exactly this call.
   */
  readonly confirm?: 'live';
  /**
   * What is to be remembered while nobody knows how the call ended: it is written before anything is sent, and taken back
   * when the call was certainly not carried out.
   */
  readonly meanwhile?: Partial<Memory<Facts>>;
  /** What is remembered meanwhile counts the call: when it was not sent, that must not stand in status until the next try. */
  readonly counted?: boolean;
  /** Ids in the service at which no call of another object may be under way at the same time, or since this one looked. */
  readonly alone?: readonly string[];
  /** A read that a credential of its own must be able to do before it is used for this call. */
  readonly proof?: Request;
  /** Fields this call writes, as the service will show them: trusted over reads that began before it. */
  readonly wrote?: (body: unknown) => Readonly<Record<string, Json>>;
  /** What to remember when it was done; undefined when the answer cannot be read, which leaves a create in doubt. */
  readonly committed: (body: unknown) => Partial<Memory<Facts>> | undefined;
  /** Notes for the step after it. */
  readonly note?: (atMs: number) => Notes;
  /** A warning that is published with the call, however it ends. */
  readonly warns?: Told;
  /** What people must see of the answer, published with it. */
  readonly tells?: (body: unknown) => Told | undefined;
  /** Fields whose earlier correction somebody undid; too many in a row make them contested. */
  readonly corrects?: readonly string[];
  /** An answer that says no although its status says yes, in its own words. */
  readonly saidNo?: (body: unknown) => string | undefined;
  /** Turns an answer that says no into a step, where the general reading is not enough. */
  readonly refused?: (outcome: Refusal) => Verdict<Facts> | undefined;
}

/** An answer by which the call was not carried out. */
export type Refusal = Extract<Outcome, { is: 'refused' | 'conflict' | 'notFound' | 'notExecuted' | 'inDoubt' }>;

/** Monotonic times that one step leaves for the next, by name. Lost with the process. */
export type Notes = Readonly<Record<string, number>>;

/** What every step may change on the way. */
interface Aside<Facts> {
  readonly remember?: Partial<Memory<Facts>>;
  /** Replaces the notes; without it they stay. */
  readonly note?: Notes;
}

/** What status should say now. */
export type Verdict<Facts> = Aside<Facts> & {
  /** Conditions that follow from this verdict and not from what the service shows; each goes before the shown one of its type. */
  readonly conditions?: readonly OwnCondition[];
} & (
    | {
        readonly is: 'ready';
        readonly reason?: Reason;
        readonly message?: string;
        /** Look again after this long, though nothing that was read has changed; without it, at the next resync. */
        readonly retryInMs?: number;
      }
    | {
        readonly is: 'wait';
        readonly reason: Reason;
        readonly message: string;
        /** Look again after this long; without it, when something that was read changes, or at the next resync. */
        readonly retryInMs?: number;
        /** A read that must begin at or after `since` (monotonic): it is asked for while this is said, and its end wakes. */
        readonly awaits?: { readonly read: Read; readonly since: number };
      }
    | { readonly is: 'stall'; readonly reason: Reason; readonly message: string }
  );

/** The single next thing to do for an object. */
export type Step<Facts> =
  | Verdict<Facts>
  | (Aside<Facts> & { readonly is: 'call'; readonly call: Call<Facts> })
  /** Writes down what is about to be sent, and sends nothing: the next step looks again and then resumes it. */
  | (Aside<Facts> & { readonly is: 'begin'; readonly journal: Intent; readonly words: string })
  /** A read that must have begun at or after `since` (monotonic). */
  | (Aside<Facts> & { readonly is: 'read'; readonly read: Read; readonly since: number })
  /** Something was learned that changes the next step: remember it and go on. */
  | (Aside<Facts> & {
      readonly is: 'again';
      readonly remember: Partial<Memory<Facts>>;
      /** What is let go of by that and stays in the service: it is written at once, and told by an event. */
      readonly stays?: string;
    })
  /** Nothing holds the object any more: the finalizer goes. What stays behind in the service is told by an event. */
  | { readonly is: 'release'; readonly stays?: string };

/** One difference between the spec and the service. */
export interface Drift {
  readonly field: string;
  readonly desired: string;
  readonly observed: string;
}

/** A condition besides Ready, Reconciling, Stalled and Synced. */
export interface OwnCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/** What a kind shows in status besides the verdict. */
export interface Showing<Facts> {
  /** The object could not be seen this time: its conditions and lists stay as status has them. */
  readonly unseen?: boolean;
  readonly facts: Facts;
  readonly conditions: readonly OwnCondition[];
  readonly drift: readonly Drift[];
  readonly unverified: readonly string[];
  readonly leftover: readonly string[];
  /** What people should hear of once, as events, when this is written down. */
  readonly notices?: readonly Notice[];
}

/** Something that happened in the service and is worth an event. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, such as `AlertFiring`. */
  readonly reason: string;
  readonly note: string;
}
