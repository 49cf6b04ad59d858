/**
 * The steps of a kind: the single next thing to do for an object, which the engine then does.
 *
 * A step is a call, a read, something to remember, the release of the object, or a verdict for its status. This file also has
 * what the engine remembers of an object (with the journal of calls that must not happen twice) and what status shows.
 */
import type { z } from 'zod';
import type { Json } from '../../../base/json.ts';
import type { Outcome, Read, Request, Urgency } from '../../ports.ts';
import type { Applied, Drift as DriftSchema, Journal } from '../schema/status.ts';
import type { Reason } from './reasons.ts';

export { mostExcluded } from '../schema/status.ts';

/** Says if this resource created the object in the service: it did, it did not, or presumably. */
export type Ownership = 'Created' | 'Adopted' | 'Presumed';

/** The data by which a created object is found when the answer to its creation was lost. */
export type CreateIntent = NonNullable<JournalEntry['create']>;

/** The entry in status that is written before a call that must not happen twice. */
export type JournalEntry = Readonly<z.output<typeof Journal>>;

/** The body in a journal entry; undefined when somebody changed the entry so that it cannot be read. */
export function writtenBody({ payload = '' }: Pick<JournalEntry, 'payload'>): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

/** A journal entry without the fields that the engine fills in. */
export type Intent = Omit<JournalEntry, 'endpoint' | 'accountId' | 'startedAt' | 'deadlineSeconds'>;

/** The part of an object's status that the engine reads back. */
export interface Memory<Facts = unknown> {
  readonly id: string | undefined;
  readonly ownership: Ownership | undefined;
  /** The endpoint and account in which the id exists. With any other, nothing is sent. */
  readonly binding: { readonly endpoint: string; readonly accountId: string } | undefined;
  readonly journal: JournalEntry | undefined;
  /** The generation that was last applied as a whole, and keyed fingerprints of values that the service does not show. */
  readonly applied: Readonly<z.output<typeof Applied>> | undefined;
  /** The kind's own status fields. */
  readonly facts: Facts;
}

/** The text of an event. */
export interface Told {
  readonly reason: string;
  readonly note: string;
}

/** One request, with everything the engine must know to send it safely. */
export interface Call<Facts = unknown> {
  readonly request: Request;
  /** The call in the words of the user's YAML: `create contact point "On call"`. */
  readonly words: string;
  readonly urgency: Urgency;
  /** Which credential of the account is used; the usual one when absent. */
  readonly credential?: 'dangerous';
  /** Present for a call that must not happen twice: it is written to status before anything is sent. */
  readonly journal?: Intent;
  /** True when the call sends what the open journal entry describes; its outcome is then the outcome of that entry. */
  readonly resumes?: true;
  /**
   * Before sending, the object is read from Kubernetes (same uid and generation, not deleted, not paused), and in the tick
   * of dispatch the kind must still want exactly this call.
   */
  readonly confirm?: 'live';
  /**
   * What is remembered while the outcome is unknown. It is written before the call, and taken back when the call was
   * certainly not carried out.
   */
  readonly meanwhile?: Partial<Memory<Facts>>;
  /**
   * Ids that are locked for this call. It is sent only if no other object's call at these ids is under way, or has ended since
   * this object was read.
   */
  readonly alone?: readonly string[];
  /** A read that must succeed with the second credential before that is used for this call. */
  readonly proof?: Request;
  /** Fields that this call writes, as the service will show them. They are trusted over reads that began before the call. */
  readonly wrote?: (body: unknown) => Readonly<Record<string, Json>>;
  /** What to remember after a success; undefined when the answer cannot be parsed, which leaves a creation in doubt. */
  readonly committed: (body: unknown) => Partial<Memory<Facts>> | undefined;
  /** Notes for the step after the call; `answeredAt` is when the answer came (monotonic). */
  readonly note?: (answeredAt: number) => Notes;
  /** A warning that is published with the call, however it ends. */
  readonly warns?: Told;
  /** An event that is made from the answer. */
  readonly tells?: (body: unknown) => Told | undefined;
  /** Fields that this call corrects because somebody changed them; too many corrections in a short time make them contested. */
  readonly corrects?: readonly string[];
  /** Returns the refusal in the body of an answer with a success status. */
  readonly saidNo?: (body: unknown) => string | undefined;
  /** A list that may show why the service rejects the call; `shown` says why in words, once the list does. */
  readonly obstacle?: { readonly read: Read; readonly shown: () => string | undefined };
  /** Turns a refusal into a verdict, where the general rules are not enough. */
  readonly refused?: (outcome: Refusal, answeredAt: number) => Verdict<Facts> | undefined;
}

/** An outcome other than success of a call that was sent. */
export type Refusal = Extract<Outcome, { is: 'refused' | 'conflict' | 'notFound' | 'notExecuted' | 'inDoubt' }>;

/** Times (monotonic) and counts that one step leaves for the next, by name. They are lost with the process. */
export type Notes = Readonly<Record<string, number>>;

/** The fields that every step may have besides its action. */
interface Aside<Facts> {
  readonly remember?: Partial<Memory<Facts>>;
  /** Replaces the notes; without it they stay. */
  readonly note?: Notes;
}

/** A read to ask for along with a verdict. It must begin at or after `since` (monotonic), and its end wakes the object. */
interface AwaitedRead {
  readonly read: Read;
  readonly since: number;
}

/** The result of a reconcile, which status then shows. */
export type Verdict<Facts = unknown> = Aside<Facts> & {
  /** Conditions that belong to the verdict. Each replaces the one of its type that the kind shows. */
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
        readonly awaits?: AwaitedRead;
      }
    | { readonly is: 'stall'; readonly reason: Reason; readonly message: string; readonly awaits?: AwaitedRead }
  );

/** The single next thing to do for an object. */
export type Step<Facts = unknown> =
  | Verdict<Facts>
  | (Aside<Facts> & { readonly is: 'call'; readonly call: Call<Facts> })
  /** Writes a call to the journal without sending it. The next step reads again and then sends the call. */
  | (Aside<Facts> & { readonly is: 'begin'; readonly journal: Intent; readonly words: string })
  /** A read that must have begun at or after `since` (monotonic). */
  | (Aside<Facts> & { readonly is: 'read'; readonly read: Read; readonly since: number })
  /** Remember this and ask the kind again, which then takes another step. */
  | (Aside<Facts> & {
      readonly is: 'again';
      readonly remember: Partial<Memory<Facts>>;
      /** What the resource gives up and what stays in the service; published as an event. */
      readonly stays?: string;
    })
  /** Remove the finalizer. What stays in the service is published as an event. */
  | { readonly is: 'release'; readonly stays?: string };

/** One difference between the spec and the service. */
export type Drift = Readonly<z.output<typeof DriftSchema>>;

/** A condition as it stands in status. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

/** A condition besides Ready, Reconciling, Stalled and Synced. */
export interface OwnCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/** Returns functions that make a condition of this type with the status True, False or Unknown. */
export function about(type: string) {
  const saying =
    (status: OwnCondition['status']) =>
    (reason: Reason, message: string): OwnCondition => ({ type, status, reason, message });
  return { yes: saying('True'), no: saying('False'), unknown: saying('Unknown') };
}

/** The part of status that a kind fills in, beside the verdict. */
export interface Showing<Facts = unknown> {
  /** True when the object could not be seen this time: its conditions and lists in status stay as they are. */
  readonly unseen?: boolean;
  readonly facts: Facts;
  readonly conditions: readonly OwnCondition[];
  /** Each of these lists counts as empty when it is absent. */
  readonly drift?: readonly Drift[];
  readonly unverified?: readonly string[];
  readonly leftover?: readonly string[];
  /** Events to publish once, when this status is written. */
  readonly notices?: readonly Notice[];
}

/** Something that happened in the service and is worth an event. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  /** In CamelCase, such as `AlertFiring`. */
  readonly reason: string;
  readonly note: string;
}

/**
 * True when an answer may be a rule of the service that refuses the call. A 403 may be one, because the interface does not say
 * with which status its rules refuse.
 */
export function isNo(refusal: Refusal): boolean {
  const isForbidden = refusal.is === 'notExecuted' && refusal.why === 'forbidden';
  return refusal.is === 'refused' || refusal.is === 'conflict' || isForbidden;
}
