/**
 * What the kinds of recovery request define themselves: what they read, what they check and send, and how they follow a
 * request until it ends.
 */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Memory, OwnCondition, Step } from '../../engine/kind/contract/step.ts';
import type { Request, Snapshot } from '../../engine/ports.ts';
import type { ConfigurationItem } from '../../hosting/requests.ts';
import type { Fence } from './approval.ts';
import type { RequestFacts, RequestSpec } from './schema.ts';

/** What the operator has read from the service to decide about a recovery request. */
export interface SeenService {
  readonly snapshot: Snapshot;
  readonly configuration?: ConfigurationItem | undefined;
}

/** The fields that the bodies of recovery requests share, or by which one locks the object that it is for. */
export interface Body {
  readonly accountId: string;
  readonly configurationId?: string;
  readonly sourceAppEnvId?: string;
  readonly requestId?: string;
}

/** The input for deciding the next step of a recovery request of any kind. */
export type AnyPass = Pass<RequestSpec, RequestFacts>;
export type AnyStep = Step<RequestFacts>;

/** The functions and values that differ between the kinds of recovery request, such as activation and reset. */
export interface RequestPlan<
  Spec extends RequestSpec = RequestSpec,
  Facts extends RequestFacts = RequestFacts,
  Found extends SeenService = SeenService,
  Sent extends Body = Body,
> {
  /** The name of the request in messages, in lower case, such as `activation`. */
  readonly noun: string;
  /** The name that the journal gives to the operation: a verb such as `activate`. */
  readonly operation: string;
  /**
   * Returns what the operator's flags must allow before the request is sent. If this function is not given, no flag is
   * needed.
   */
  power?(spec: Spec): 'activation' | 'accountReset';
  /** Returns the status fields that are known before the service is read. */
  factsAtStart(pass: Pass<Spec, Facts>): Partial<Facts>;
  /**
   * Reads from the service everything that the operator needs to decide about the request. At least the list of
   * configurations must have been read at `since` or later (monotonic time).
   */
  look(pass: Pass<Spec, Facts>, since: number): Step<Facts> | Found;
  /**
   * Looks for an operation that this request has already begun. Returns what status must remember of that operation,
   * besides that the service has accepted the request; undefined if there is none.
   */
  findOperation(pass: Pass<Spec, Facts>, seen: Found): Partial<Memory<Facts>> | undefined;
  /**
   * Makes the checks that only this kind has. Returns the first reason not to send the request now: a stall ends the
   * request, a wait only delays it. Returns undefined if there is no reason.
   */
  fence(pass: Pass<Spec, Facts>, seen: Found): Step<Facts> | undefined;
  /**
   * Called when spec.validUntil or the clocks forbid sending the request; `late` is the step that says so. If the
   * service shows that it is working on the request, returns a step that waits for the result. Otherwise returns
   * undefined, and the next step is `late`.
   */
  waitAfterExpiry?(pass: Pass<Spec, Facts>, seen: Found, late: Fence): Step<Facts> | undefined;
  body(pass: Pass<Spec, Facts>, seen: Found): Sent;
  request(body: Sent): Request;
  words(pass: Pass<Spec, Facts>): string;
  /** Returns the changes of status after a successful response; undefined when the response cannot be parsed. */
  committed(pass: Pass<Spec, Facts>, answer: unknown, body: Sent): Partial<Memory<Facts>> | undefined;
  /**
   * Returns the next step after the service refused the request. If this function is not given or returns undefined,
   * the refusal is final.
   */
  refused?(pass: Pass<Spec, Facts>, seen: Found, call: Refused): Step<Facts> | undefined;
  /**
   * Called when the request must end although the effect of a call is unknown. If the service shows signs that the call
   * took effect, returns a text that tells users what to check in the service. Otherwise returns undefined.
   */
  signsOfEffect?(pass: Pass<Spec, Facts>, seen: Found): string | undefined;
  /**
   * Decides the next step of an accepted request until the request ends. If the list does not contain the configuration
   * while the account is frozen, the request waits, and this function is not called. It is always called for a reset.
   */
  followAccepted(pass: Pass<Spec, Facts>, seen: Found): Step<Facts>;
  /** Returns the status fields that show the progress of the recovery request. */
  factsNow(pass: Pass<Spec, Facts>): Facts;
  /** Builds the conditions that this kind has in addition to Accepted and Succeeded. */
  conditions?(pass: Pass<Spec, Facts>): readonly OwnCondition[];
  /** The conditions, in addition to Accepted and Succeeded, of a request that ends with an unknown outcome. */
  readonly conditionsIfUnknown?: readonly OwnCondition[];
}

/**
 * The service's refusal of a request, with the time after which earlier calls of the request can no longer arrive at
 * the service.
 */
export interface Refused {
  readonly words: string;
  /**
   * True if the operator may act on the refusal at once: no earlier call of the request can arrive at the service any
   * more, or a check forbids sending the request again.
   */
  readonly isOver: boolean;
  /** The time after which no earlier call of the request can arrive at the service any more, formatted for messages. */
  readonly until: string;
}
