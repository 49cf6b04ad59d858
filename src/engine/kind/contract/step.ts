/**
 * The steps of a kind: the single next thing that the engine does for an object.
 *
 * A step is a call, a read, a value to remember, the removal of the finalizer, or a verdict for status. This file also
 * defines the part of an object's status that the engine reads back, and the part of status that the kind fills in.
 */
import type { z } from 'zod';
import type { Json } from '../../../base/json.ts';
import type { Outcome, Read, Request, Urgency } from '../../ports.ts';
import type { Applied, Condition as ConditionSchema, Drift as DriftSchema, Journal } from '../schema/status.ts';
import type { Reason } from './reasons.ts';

export { mostExcluded } from '../schema/status.ts';

/**
 * Says whether this resource created the object in the service: Created (it did), Adopted (the object existed before),
 * or Presumed (it probably did; the response to the create call was lost).
 */
export type Ownership = 'Created' | 'Adopted' | 'Presumed';

/** The data by which a created object is found if the response to the create call was lost. */
export type CreateIntent = NonNullable<JournalEntry['create']>;

/** The journal entry of a call that must not happen twice. It is written to status before the call is sent. */
export type JournalEntry = Readonly<z.output<typeof Journal>>;

/**
 * Parses the request body in a journal entry. Returns undefined if the body is not JSON because somebody changed the
 * entry.
 */
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
  /** The endpoint and account in which the id exists. Nothing is sent to a different endpoint or account. */
  readonly binding: { readonly endpoint: string; readonly accountId: string } | undefined;
  readonly journal: JournalEntry | undefined;
  /**
   * The last generation whose whole spec was applied, and keyed fingerprints of values that the service does not show.
   */
  readonly applied: Readonly<z.output<typeof Applied>> | undefined;
  /** The status fields that only this kind has. */
  readonly facts: Facts;
}

/** An event to publish: its text, and its reason in CamelCase, such as `AlertFiring`. */
export interface Told {
  readonly reason: string;
  readonly note: string;
}

/** One call to the service, with everything that the engine must know to send it safely. */
export interface Call<Facts = unknown> {
  readonly request: Request;
  /** The call as text for people, with the names from the user's manifest, such as `create contact point "On call"`. */
  readonly words: string;
  readonly urgency: Urgency;
  /**
   * With `dangerous`, the call is sent with the credential of `spec.dangerousCredentialsRef`, if the account has one.
   * All other calls are sent with the credential of `spec.credentialsRef`.
   */
  readonly credential?: 'dangerous';
  /** The journal entry of a call that must not happen twice. It is written to status before anything is sent. */
  readonly journal?: Intent;
  /**
   * True when the call is another attempt of the call in the existing journal entry. The outcome of this attempt is
   * then the outcome of the entry.
   */
  readonly resumes?: true;
  /**
   * With `live`, the object is read from Kubernetes right before the call. The call is sent only if the object has the
   * same uid and generation, and is neither being deleted nor paused. At the moment of sending, the kind decides once
   * more. If it no longer decides on exactly this call, the call is not sent.
   */
  readonly confirm?: 'live';
  /**
   * Changes to what status remembers, for the time in which the outcome of the call is unknown. They are written before
   * the call. They are undone if the call was certainly not carried out.
   */
  readonly meanwhile?: Partial<Memory<Facts>>;
  /**
   * Ids in the service that are locked while this call is sent. The call is not sent if another Kubernetes object holds
   * one of these locks, or released one only after this object last read the service.
   */
  readonly alone?: readonly string[];
  /**
   * A read that is sent before this call, with the credential of `spec.dangerousCredentialsRef`. The call is sent with
   * this credential only if the read succeeds.
   */
  readonly proof?: Request;
  /**
   * Returns the fields that this call writes, with the values that the service will show. These values are believed
   * more than a read that began before the call.
   */
  readonly wrote?: (body: unknown) => Readonly<Record<string, Json>>;
  /**
   * Returns the values to remember after a success; undefined when the answer cannot be parsed. The outcome of a create
   * call whose answer cannot be parsed is unknown.
   */
  readonly committed: (body: unknown) => Partial<Memory<Facts>> | undefined;
  /** Returns the notes for the step after the call. `answeredAt` is the monotonic time of the answer. */
  readonly note?: (answeredAt: number) => Notes;
  /** A warning event that is published with the call, however the call ends. */
  readonly warns?: Told;
  /** Returns an event to publish about the response to the call. */
  readonly tells?: (body: unknown) => Told | undefined;
  /**
   * Fields that this call corrects because somebody else changed them. Fields that need too many corrections in a short
   * time are no longer corrected.
   */
  readonly corrects?: readonly string[];
  /** Returns the refusal that an answer contains although its HTTP status says success. */
  readonly saidNo?: (body: unknown) => string | undefined;
  /**
   * A list that may explain why the service rejects the call, for example by an object that already has the name. The
   * function `shown` returns the explanation if the newest list contains it.
   */
  readonly obstacle?: { readonly read: Read; readonly shown: () => string | undefined };
  /**
   * Returns what status reports after this call has failed, if the general rules do not suffice for it; otherwise
   * undefined.
   */
  readonly refused?: (outcome: Refusal, answeredAt: number) => Verdict<Facts> | undefined;
}

/** Any outcome of a call that was sent, except success. */
export type Refusal = Extract<Outcome, { is: 'refused' | 'conflict' | 'notFound' | 'notExecuted' | 'inDoubt' }>;

/**
 * Times (monotonic) and counts that one step leaves for the next step, by name. They are lost when the process ends.
 */
export type Notes = Readonly<Record<string, number>>;

/** Fields that every step may have, whatever its type. */
interface Aside<Facts> {
  readonly remember?: Partial<Memory<Facts>>;
  /** Times and counts to remember for the next step. Without this field, those of earlier steps stay. */
  readonly note?: Notes;
}

/** A read that begins at or after `since` (monotonic). When the read ends, the object is reconciled again. */
interface AwaitedRead {
  readonly read: Read;
  readonly since: number;
}

/** A step that ends the reconcile and becomes the conditions in status: ready, wait or stall. */
export type Verdict<Facts = unknown> = Aside<Facts> & {
  /**
   * Further conditions for status. Each replaces the condition of the same type that the kind computes from the
   * service.
   */
  readonly conditions?: readonly OwnCondition[];
} & (
    | {
        readonly is: 'ready';
        readonly reason?: Reason;
        readonly message?: string;
        /**
         * Reconcile again after this time, even if nothing that was read has changed. Without this field, the object is
         * reconciled at the next resync.
         */
        readonly retryInMs?: number;
      }
    | {
        readonly is: 'wait';
        readonly reason: Reason;
        readonly message: string;
        /**
         * Reconcile again after this time. Without this field, the object is reconciled when something that was read
         * changes, or at the next resync.
         */
        readonly retryInMs?: number;
        readonly awaits?: AwaitedRead;
      }
    | { readonly is: 'stall'; readonly reason: Reason; readonly message: string; readonly awaits?: AwaitedRead }
  );

/** The single next thing to do for an object. */
export type Step<Facts = unknown> =
  | Verdict<Facts>
  | (Aside<Facts> & { readonly is: 'call'; readonly call: Call<Facts> })
  /** Writes a call to the journal without sending it. The next step reads the service again and then sends the call. */
  | (Aside<Facts> & { readonly is: 'begin'; readonly journal: Intent; readonly words: string })
  /** Asks for a read that begins at or after `since` (monotonic). */
  | (Aside<Facts> & { readonly is: 'read'; readonly read: Read; readonly since: number })
  /** Stores values about the object without a call to the service. Then the kind decides its next step. */
  | (Aside<Facts> & {
      readonly is: 'again';
      readonly remember: Partial<Memory<Facts>>;
      /**
       * Says which object of the service the resource gives up, and that the object stays in the service. Published as
       * an event.
       */
      readonly stays?: string;
    })
  /** Removes the finalizer. `stays` says which object stays in the service, and is published as an event. */
  | { readonly is: 'release'; readonly stays?: string };

/** One difference between the spec and the service. */
export type Drift = Readonly<z.output<typeof DriftSchema>>;

/** A condition as the operator writes it to status. */
export type Condition = Readonly<z.output<typeof ConditionSchema>> & { readonly observedGeneration: number };

/** A condition with one of the operator's reasons, before its generation and transition time are filled in. */
export interface OwnCondition extends Pick<Condition, 'type' | 'status' | 'message'> {
  readonly reason: Reason;
}

/** Returns functions that make a condition of this type with the status True, False or Unknown. */
export function about(type: string) {
  const saying =
    (status: OwnCondition['status']) =>
    (reason: Reason, message: string): OwnCondition => ({ type, status, reason, message });
  return { yes: saying('True'), no: saying('False'), unknown: saying('Unknown') };
}

/** The part of status that a kind computes from its reads of the service. */
export interface Showing<Facts = unknown> {
  /**
   * True when the object could not be read from the service in this reconcile. The conditions and lists in status then
   * stay as they are.
   */
  readonly unseen?: boolean;
  readonly facts: Facts;
  readonly conditions: readonly OwnCondition[];
  /**
   * The differences between the spec and the service. If `drift`, `unverified` or `leftover` is absent, that list is
   * empty.
   */
  readonly drift?: readonly Drift[];
  readonly unverified?: readonly string[];
  readonly leftover?: readonly string[];
  /** Events to publish once, when this status is written. */
  readonly notices?: readonly Notice[];
}

/** An event in the service that is worth a Kubernetes event. */
export interface Notice extends Told {
  readonly type: 'Normal' | 'Warning';
}

/**
 * True when an answer may mean that a rule of the service refuses the call. A 403 may mean that too, because the API
 * does not say with which HTTP status its rules refuse a call.
 */
export function isNo(refusal: Refusal): boolean {
  const isForbidden = refusal.is === 'notExecuted' && refusal.why === 'forbidden';
  return refusal.is === 'refused' || refusal.is === 'conflict' || isForbidden;
}
