/**
 * The steps of a kind: the single next thing to do for an object, which the engine then does.
 *
 * A step is a call, a read, something to remember, the release of the object, or a verdict for its status. This file also defines
 * what the engine remembers of an object (with the journal of calls that must not happen twice) and what status shows.
 */
import type { z } from 'zod';
import type { Json } from '../../../base/json.ts';
import type { Outcome, Read, Request, Urgency } from '../../ports.ts';
import type { Applied, Condition as ConditionSchema, Drift as DriftSchema, Journal } from '../schema/status.ts';
import type { Reason } from './reasons.ts';

export { mostExcluded } from '../schema/status.ts';

/** Whether this resource created the object in the service: it did, it did not (adopted), or presumably it did. */
export type Ownership = 'Created' | 'Adopted' | 'Presumed';

/** The data by which a created object is found when the answer to the create was lost. */
export type CreateIntent = NonNullable<JournalEntry['create']>;

/** The entry in status that is written before a call that must not happen twice. */
export type JournalEntry = Readonly<z.output<typeof Journal>>;

/** Parses the body in a journal entry; returns undefined when somebody changed the entry so that it cannot be parsed. */
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
  /** The endpoint and account in which the id exists. With any other endpoint or account nothing is sent. */
  readonly binding: { readonly endpoint: string; readonly accountId: string } | undefined;
  readonly journal: JournalEntry | undefined;
  /** The generation that was last applied as a whole, and keyed fingerprints of values that the service does not show. */
  readonly applied: Readonly<z.output<typeof Applied>> | undefined;
  /** The kind's own status fields. */
  readonly facts: Facts;
}

/** An event to publish, with its text and its reason in CamelCase, such as `AlertFiring`. */
export interface Told {
  readonly reason: string;
  readonly note: string;
}

/** One call to the service, with everything that the engine must know to send it safely. */
export interface Call<Facts = unknown> {
  readonly request: Request;
  /** The call in the words of the user's YAML, such as `create contact point "On call"`. */
  readonly words: string;
  readonly urgency: Urgency;
  /** Which credential of the account sends the call. The usual one when absent. */
  readonly credential?: 'dangerous';
  /** The journal entry of a call that must not happen twice. It is written to status before anything is sent. */
  readonly journal?: Intent;
  /** True when the call sends what the open journal entry describes. Its outcome is then the outcome of that entry. */
  readonly resumes?: true;
  /**
   * With `live`, the object is read from Kubernetes before the call is sent: it must have the same uid and generation, and be
   * neither deleted nor paused. And in the tick in which the call is sent, the kind must still want exactly this call.
   */
  readonly confirm?: 'live';
  /**
   * Changes of memory while the outcome is unknown. They are written before the call, and undone when the call was certainly not
   * carried out.
   */
  readonly meanwhile?: Partial<Memory<Facts>>;
  /**
   * Ids that are locked for this call. The call is sent only if no other object has a call under way at these ids, or had one that
   * ended after this object was read.
   */
  readonly alone?: readonly string[];
  /** A read that must succeed with the second credential before this call uses that credential. */
  readonly proof?: Request;
  /** Returns the fields that this call writes, as the service will show them. They are trusted over reads that began before the call. */
  readonly wrote?: (body: unknown) => Readonly<Record<string, Json>>;
  /**
   * Returns what to remember after a success, or undefined when the answer cannot be parsed. A create whose answer cannot be parsed
   * is in doubt.
   */
  readonly committed: (body: unknown) => Partial<Memory<Facts>> | undefined;
  /** Returns the notes for the step after the call; `answeredAt` is when the answer came (monotonic). */
  readonly note?: (answeredAt: number) => Notes;
  /** A warning event that is published with the call, however the call ends. */
  readonly warns?: Told;
  /** Makes an event from the answer. */
  readonly tells?: (body: unknown) => Told | undefined;
  /** Fields that this call corrects because somebody else changed them. Too many corrections in a short time make the fields contested. */
  readonly corrects?: readonly string[];
  /** Returns the refusal in the body of an answer with a success status. */
  readonly saidNo?: (body: unknown) => string | undefined;
  /** A list that may show why the service rejects the call. Once it does, `shown` returns the explanation in words. */
  readonly obstacle?: { readonly read: Read; readonly shown: () => string | undefined };
  /** Turns a refusal into a verdict, where the general rules do not suffice. */
  readonly refused?: (outcome: Refusal, answeredAt: number) => Verdict<Facts> | undefined;
}

/** Any outcome except success of a call that was sent. */
export type Refusal = Extract<Outcome, { is: 'refused' | 'conflict' | 'notFound' | 'notExecuted' | 'inDoubt' }>;

/** Times (monotonic) and counts that one step leaves for the next, by name. They are lost when the process ends. */
export type Notes = Readonly<Record<string, number>>;

/** The fields that every step may have besides its action. */
interface Aside<Facts> {
  readonly remember?: Partial<Memory<Facts>>;
  /** Replaces the notes. Without this field the notes stay. */
  readonly note?: Notes;
}

/** A read to ask for along with a verdict. The read must begin at or after `since` (monotonic), and its end wakes the object. */
interface AwaitedRead {
  readonly read: Read;
  readonly since: number;
}

/** A step that ends the reconcile. Status then shows it. */
export type Verdict<Facts = unknown> = Aside<Facts> & {
  /** Conditions that belong to the verdict. Each replaces the condition of the same type that the kind shows. */
  readonly conditions?: readonly OwnCondition[];
} & (
    | {
        readonly is: 'ready';
        readonly reason?: Reason;
        readonly message?: string;
        /** Reconcile again after this long, even if nothing that was read has changed. Without this field, at the next resync. */
        readonly retryInMs?: number;
      }
    | {
        readonly is: 'wait';
        readonly reason: Reason;
        readonly message: string;
        /** Reconcile again after this long. Without this field, when something that was read changes, or at the next resync. */
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
  /** Asks for a read that begins at or after `since` (monotonic). */
  | (Aside<Facts> & { readonly is: 'read'; readonly read: Read; readonly since: number })
  /** Changes memory and then asks the kind again for its next step. */
  | (Aside<Facts> & {
      readonly is: 'again';
      readonly remember: Partial<Memory<Facts>>;
      /** Says what the resource gives up and what stays in the service. Published as an event. */
      readonly stays?: string;
    })
  /** Removes the finalizer. `stays` says what stays in the service and is published as an event. */
  | { readonly is: 'release'; readonly stays?: string };

/** One difference between the spec and the service. */
export type Drift = Readonly<z.output<typeof DriftSchema>>;

/** A condition as the operator writes it to status. */
export type Condition = Readonly<z.output<typeof ConditionSchema>> & { readonly observedGeneration: number };

/** A condition besides Ready, Reconciling, Stalled and Synced. */
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

/** The part of status that a kind fills in, besides the verdict. */
export interface Showing<Facts = unknown> {
  /** True when the object could not be read this time. Its conditions and lists in status then stay as they are. */
  readonly unseen?: boolean;
  readonly facts: Facts;
  readonly conditions: readonly OwnCondition[];
  /** The differences from the spec. Each of the lists `drift`, `unverified` and `leftover` counts as empty when absent. */
  readonly drift?: readonly Drift[];
  readonly unverified?: readonly string[];
  readonly leftover?: readonly string[];
  /** Events to publish once, when this status is written. */
  readonly notices?: readonly Notice[];
}

/** Something that happened in the service and is worth an event. */
export interface Notice extends Told {
  readonly type: 'Normal' | 'Warning';
}

/**
 * True when an answer may mean that a rule of the service refuses the call. A 403 may mean that too, because the interface does not
 * say with which status its rules refuse.
 */
export function isNo(refusal: Refusal): boolean {
  const isForbidden = refusal.is === 'notExecuted' && refusal.why === 'forbidden';
  return refusal.is === 'refused' || refusal.is === 'conflict' || isForbidden;
}
