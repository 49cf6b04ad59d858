/**
 * The steps of a kind: the single next thing that the engine does for an object.
 *
 * A step is a call, a read, a value to remember, the removal of the finalizer, or a verdict for status. This file also
 * defines the part of an object's status that the engine reads back, and the part of status that the kind fills in.
 */
import type { z } from 'zod';
import { type Json, jsonIn } from '../../../base/json.ts';
import type { Outcome, Read, Request, Urgency } from '../../ports.ts';
import type { Applied, Condition as ConditionSchema, Drift as DriftSchema, Journal } from '../schema/status.ts';
import type { Notes } from './notes.ts';
import type { Reason } from './reasons.ts';

export { mostExcluded } from '../schema/status.ts';

/**
 * Says whether this resource created the object in the service: Created (it did), Adopted (the object existed before),
 * or Presumed (it probably did, but there is no proof).
 */
export type Ownership = 'Created' | 'Adopted' | 'Presumed';

/**
 * The part of the journal entry of a create call by which the operator recognises the created object if the outcome of
 * the call is unknown.
 */
export type CreateIntent = NonNullable<JournalEntry['create']>;

/** The journal entry of a call that must not happen twice. The entry is written to status before the call is sent. */
export type JournalEntry = Readonly<z.output<typeof Journal>>;

/**
 * Returns for how long a call may still arrive at the service after it was sent: its time limit plus
 * `--horizon-seconds`. A process that did not send the call counts this time from its first reconcile of the object
 * with the journal entry of the call.
 */
export function arrivesWithinMs({ deadlineSeconds }: JournalEntry, horizonMs: number): number {
  return deadlineSeconds * 1_000 + horizonMs;
}

/**
 * Parses the request body in a journal entry. Returns undefined if the body is not JSON because somebody changed the
 * entry.
 */
export function writtenBody({ payload = '' }: Pick<JournalEntry, 'payload'>): unknown {
  return jsonIn(payload);
}

/** A journal entry without the fields that the engine fills in. */
export type Intent = Omit<JournalEntry, 'endpoint' | 'accountId' | 'startedAt' | 'deadlineSeconds'>;

/**
 * The part of an object's status from which its kind decides. The operator reads it back from status, for example after
 * a restart.
 */
export interface Memory<Facts = unknown> {
  readonly id: string | undefined;
  readonly ownership: Ownership | undefined;
  /**
   * The endpoint and the account in which the id exists. Nothing is sent to a different account. Nothing is sent to a
   * different endpoint either, unless the owner of the account has accepted that endpoint.
   */
  readonly binding: { readonly endpoint: string; readonly accountId: string } | undefined;
  readonly journal: JournalEntry | undefined;
  /**
   * What was last applied to the service: the newest generation whose whole spec was applied, and keyed fingerprints of
   * the values that the service does not show.
   */
  readonly applied: Readonly<z.output<typeof Applied>> | undefined;
  /** The status fields that this kind has in addition to those of every kind. */
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
  /**
   * Describes the call to people, with the names from the user's manifest, such as `create contact point "On call"`.
   */
  readonly words: string;
  readonly urgency: Urgency;
  /**
   * With `dangerous`, the call is sent with the credential of `spec.dangerousCredentialsRef`, if the account has one.
   * All other calls are sent with the credential of `spec.credentialsRef`.
   */
  readonly credential?: 'dangerous';
  /** The journal entry of a call that must not happen twice. The entry is written to status before the call is sent. */
  readonly journal?: Intent;
  /**
   * True if status already has the journal entry of this call, because the step `begin` or an earlier attempt of the
   * call has written it. The call then writes no further entry. If the call succeeds, that entry is removed.
   */
  readonly resumes?: true;
  /**
   * With `live`, the operator reads the object from Kubernetes right before the call. It sends the call only if the
   * object has the same uid and generation, and is neither being deleted nor paused. At the moment of sending, the kind
   * decides its next step once more. The call is sent only if that step is still exactly this call.
   */
  readonly confirm?: 'live';
  /**
   * Values that replace those in status before the call is sent. They stay while the outcome of the call is unknown.
   * When the outcome is known, the earlier values are restored. After a success, the values that `committed` returns
   * are then stored.
   */
  readonly whileInFlight?: Partial<Memory<Facts>>;
  /**
   * Ids of objects in the service that are locked while this call is sent, so that two Kubernetes objects never send
   * calls for the same id at the same time. The call is not sent while another Kubernetes object holds one of these
   * locks. It is not sent either if another object has released such a lock since this object last read the service,
   * because that read may be outdated.
   */
  readonly alone?: readonly string[];
  /**
   * A read that tests the credential of `spec.dangerousCredentialsRef`. It is sent right before a call that uses this
   * credential. If the read fails, the call is not sent.
   */
  readonly proof?: Request;
  /**
   * Returns the values that this call wrote, by field, in the form in which the service will show them. They replace
   * the values of a read that began before the response to the call arrived.
   */
  readonly wrote?: (body: unknown) => Readonly<Record<string, Json>>;
  /**
   * Returns the values to store in status when this call has succeeded. Returns undefined if the response does not
   * prove the success, for example because it cannot be parsed. The outcome of the call then counts as unknown.
   */
  readonly committed: (body: unknown) => Partial<Memory<Facts>> | undefined;
  /**
   * Returns the notes to keep for the next step after this call has succeeded. `answeredAt` is the monotonic time at
   * which the response arrived.
   */
  readonly note?: (answeredAt: number) => Notes;
  /** A warning event that is published with the outcome of the call, whatever it is, even if the request was not sent. */
  readonly warns?: Told;
  /** Returns an event to publish after the call has succeeded. `body` is the body of the response. */
  readonly tells?: (body: unknown) => Told | undefined;
  /**
   * Fields that somebody else changed in the service, and that this call sets back to the values of the spec. If a
   * field needs too many corrections in a short time, the operator stops correcting this field.
   */
  readonly corrects?: readonly string[];
  /**
   * If the body of a response reports a refusal although the HTTP status says success, returns the message of the
   * refusal. Otherwise returns undefined.
   */
  readonly saidNo?: (body: unknown) => string | undefined;
  /**
   * A list of the service that may explain a refusal of the call, for example because an object in the list already has
   * the name that the call sends. `shown` returns the explanation if the newest list contains such an object.
   */
  readonly obstacle?: { readonly read: Read; readonly shown: () => string | undefined };
  /**
   * Returns the verdict to report in status when this call has not succeeded. Returns undefined if the engine should
   * report its usual verdict.
   */
  readonly refused?: (outcome: Refusal, answeredAt: number) => Verdict<Facts> | undefined;
}

/** The outcome of a call that was sent and did not succeed, or whose success is unknown. */
export type Refusal = Extract<Outcome, { is: 'refused' | 'conflict' | 'notFound' | 'notExecuted' | 'inDoubt' }>;

/** Fields that every step may have, whatever its type. */
interface Aside<Facts> {
  readonly remember?: Partial<Memory<Facts>>;
  /** The notes for the next step. If this field is absent, the notes of earlier steps stay. */
  readonly note?: Notes;
}

/**
 * A read that must begin at the monotonic time `since` or later. When the read ends, the object is reconciled again.
 */
interface AwaitedRead {
  readonly read: Read;
  readonly since: number;
}

/** A step that ends the reconcile: ready, wait or stall. The conditions in status show its reason and its message. */
export type Verdict<Facts = unknown> = Aside<Facts> & {
  /**
   * The conditions that this step itself sets. Each replaces the condition of the same type that the kind computes from
   * its reads of the service.
   */
  readonly conditions?: readonly OwnCondition[];
} & (
    | {
        readonly is: 'ready';
        readonly reason?: Reason;
        readonly message?: string;
        /**
         * Reconcile again after this time, even if nothing that was read has changed. Without this field, the object is
         * reconciled when something that was read changes, or at the next resync.
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

/**
 * The single next thing that the engine does for an object: a call, a read, a value to remember, the removal of the
 * finalizer, or a verdict.
 */
export type Step<Facts = unknown> =
  | Verdict<Facts>
  | (Aside<Facts> & { readonly is: 'call'; readonly call: Call<Facts> })
  /** Writes a call to the journal without sending it. The next step reads the service again and then sends the call. */
  | (Aside<Facts> & { readonly is: 'begin'; readonly journal: Intent; readonly words: string })
  /** Asks for a read that begins at the monotonic time `since` or later. */
  | (Aside<Facts> & { readonly is: 'read'; readonly read: Read; readonly since: number })
  /** Stores values about the object without a call to the service. Then the kind decides its next step. */
  | (Aside<Facts> & {
      readonly is: 'again';
      readonly remember: Partial<Memory<Facts>>;
      /**
       * A text that says which object of the service no longer belongs to the resource, and that this object stays in
       * the service. The text is published as an event.
       */
      readonly stays?: string;
    })
  /**
   * Removes the operator's finalizer. `stays` is a text that says which object stays in the service. The text is
   * published as an event.
   */
  | { readonly is: 'release'; readonly stays?: string };

/** An entry of `status.drift`: a field whose value in the service differs from the spec. */
export type Drift = Readonly<z.output<typeof DriftSchema>>;

/** A condition in the form in which the operator writes it to status. */
export type Condition = Readonly<z.output<typeof ConditionSchema>> & { readonly observedGeneration: number };

/**
 * A condition with one of the operator's reasons. The generation and the transition time of the condition are filled in
 * later.
 */
export interface OwnCondition extends Pick<Condition, 'type' | 'status' | 'message'> {
  readonly reason: Reason;
}

/** Returns three functions, which make conditions of this type with the status True, False and Unknown. */
export function about(type: string) {
  const saying =
    (status: OwnCondition['status']) =>
    (reason: Reason, message: string): OwnCondition => ({ type, status, reason, message });
  return { yes: saying('True'), no: saying('False'), unknown: saying('Unknown') };
}

/** The part of status that a kind computes from its reads of the service. */
export interface Showing<Facts = unknown> {
  /**
   * True if the object could not be read from the service in this reconcile. Then the lists in status, and the
   * conditions that only this kind has, stay as they are. Only the conditions in `fleeting` may become `Unknown`.
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

/** A Kubernetes event to publish about something that happened in the service, such as an alert that fires. */
export interface Notice extends Told {
  readonly type: 'Normal' | 'Warning';
}

/**
 * True if the service may have refused the call because of one of its rules. A 403 counts as well, because the API does
 * not say which HTTP status a refusal by a rule has.
 */
export function isNo(refusal: Refusal): boolean {
  const isForbidden = refusal.is === 'notExecuted' && refusal.why === 'forbidden';
  return refusal.is === 'refused' || refusal.is === 'conflict' || isForbidden;
}
