/**
 * Calls that came to nothing, and when the same one may be sent again.
 *
 * Guarantees: whatever wakes an object meanwhile, what failed is sent again only after a pause that grows with each failure in
 * a row, and what was refused only after a long one, or after the one that its kind answers the refusal with. Another call is
 * sent at once. An edit of the object or of what it refers to, an annotation of ours and another credential end the pause and
 * the count, and so does another set of those that refer to what is being deleted; a service that can be read again ends the
 * pause after a failure, and a name that is free again the pause after a refusal for it. All of it is kept in memory: losing it costs one try.
 *
 * Why: docs/design/at-most-once.md#a-failed-call-waits-the-object-does-not
 */
import type { Referred } from '../kind/contract/pass.ts';
import { annotations, group } from './names.ts';
import type { KubeObject } from '../ports.ts';
import type { FailedCall, InProcess } from './in-process.ts';

/** A refused call is sent again after this long, unless something ends the pause before. */
const refusedForMs = 600_000;

/** Starts the backoff after a failed call. */
export function failed(inProcess: InProcess, failedCall: Omit<FailedCall, 'isNo' | 'until'>, pauseMs: number): void {
  // The verdict's memory was written the first time.
  const { remember: _remembered, note: _noted, ...verdict } = failedCall.verdict;
  inProcess.failedCall = { ...failedCall, verdict, isNo: false, until: failedCall.at + pauseMs };
  inProcess.failures += 1;
}

/** Starts the backoff after a refused call: as long as the verdict says, else ten minutes. */
export function refused(inProcess: InProcess, failedCall: Omit<FailedCall, 'isNo' | 'until'>): void {
  const { remember = {}, ...verdict } = failedCall.verdict;
  const pauseMs = verdict.is === 'wait' ? (verdict.retryInMs ?? refusedForMs) : refusedForMs;
  // Of what the verdict remembers only the end of the journal is repeated; the rest was written when it was said first.
  const ended = 'journal' in remember ? { remember: { journal: remember.journal } } : {};
  inProcess.failedCall = {
    ...failedCall,
    verdict: { ...verdict, ...ended },
    isNo: true,
    until: failedCall.at + pauseMs,
  };
  inProcess.failures += 1;
}

/** Ends the backoff: a call went well, or none is wanted any more. */
export function wentWell(inProcess: InProcess): void {
  inProcess.failedCall = undefined;
  inProcess.failures = 0;
}

/** The earlier failure that this call must wait for; undefined when it may be sent. */
export function heldBack(inProcess: InProcess, digest: string, now: number): FailedCall | undefined {
  const { failedCall, forced } = inProcess;
  if (failedCall === undefined || (failedCall.digest ?? digest) !== digest || now >= failedCall.until) return undefined;
  if ((forced?.since ?? failedCall.at) > failedCall.at) return undefined;
  // The answer gave an id, so the digest of the next request is unknown: the first one that follows has to wait.
  inProcess.failedCall = { ...failedCall, digest };
  return failedCall;
}

/** True when the backoff is over but the call was decided on a read from before its end. */
export function isSeenTooEarly({ failedCall, askedAt }: InProcess, digest: string, now: number): boolean {
  if (failedCall === undefined || failedCall.digest !== digest || now < failedCall.until) return false;
  return askedAt !== undefined && askedAt < failedCall.until;
}

/**
 * Ends the backoff when something changed that the call depends on. `holders` are objects that may keep this one from being
 * deleted.
 */
export function noteCircumstances(
  inProcess: InProcess,
  { metadata }: KubeObject,
  {
    session,
    referred,
  }: { readonly session: { readonly print: string }; readonly referred: ReadonlyMap<string, Referred> },
  holders: readonly string[],
): void {
  // Annotations of others do not concern the operator, however often they change.
  const steering = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => name.startsWith(`${group}/`) && name !== annotations.reconcileAt,
  );
  const references = [...referred].map(([name, { id, applied }]) => [name, id, applied]);
  const { generation, deletionTimestamp } = metadata;
  const circumstances = JSON.stringify([generation, deletionTimestamp, steering, session.print, references, holders]);
  if (inProcess.circumstances !== circumstances) wentWell(inProcess);
  inProcess.circumstances = circumstances;
}

/** Ends the pause after a failure, for the service can be read again. */
export function recovered(inProcess: InProcess, now: number): void {
  const { failedCall } = inProcess;
  if (failedCall?.isNo === false) inProcess.failedCall = { ...failedCall, until: now };
}
