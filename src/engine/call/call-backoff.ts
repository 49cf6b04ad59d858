/**
 * Calls that came to nothing, and when the same one may be sent again.
 *
 * Guarantees: whatever wakes an object meanwhile, what failed is sent again only after a pause that grows with each failure in
 * a row, and what was refused only after a long one, or after the one that its kind answers the refusal with. Another call is
 * sent at once. An edit of the object or of what it refers to, an annotation of ours and another credential end the pause and
 * the count, and so does another set of those that refer to what is being deleted; a service that can be read again ends the
 * pause after a failure. All of it is kept in memory: losing it costs one try.
 */
import { sameJson } from '../../base/json.ts';
import type { Memory, Verdict } from '../kind/contract/step.ts';
import { annotations, group } from '../objects/names.ts';
import type { KubeObject } from '../ports.ts';
import type { InProcess } from '../objects/in-process.ts';
import type { Surroundings } from '../reconcile/surroundings.ts';

/** What was refused is sent again after this long, should nothing end the pause before. */
const refusedForMs = 600_000;

/** A call that came to nothing. */
export interface FailedCall {
  /** Stands for what is sent; undefined where the answer changed what that is, until it is known. */
  readonly digest: string | undefined;
  readonly at: number;
  /** The service said no to it; otherwise it failed, or nobody knows. */
  readonly isNo: boolean;
  /** What status says as long as it is not sent again. */
  readonly verdict: Verdict<unknown>;
  readonly until: number;
}

/**
 * What was left in status for the sake of a call that was certainly not carried out and is about to be sent again, and what is
 * known in its place: taken away and put there again, it would cost two writes a try.
 */
export interface LeftMarks {
  readonly digest: string;
  readonly marked: Partial<Memory<unknown>>;
  readonly known: Partial<Memory<unknown>>;
}

/** What is known, where status says what would count if the call were under way. */
export function asKnown(memory: Memory<unknown>, { marks }: InProcess): Memory<unknown> {
  return marks === undefined ? memory : replaced(memory, marks.marked, marks.known);
}

/** What status is to say of it, as long as the call is to be sent again. */
export function asMarked(memory: Memory<unknown>, { marks, failedCall }: InProcess): Memory<unknown> {
  if (marks === undefined || failedCall?.digest !== marks.digest) return memory;
  return replaced(memory, marks.known, marks.marked);
}

function replaced(
  memory: Memory<unknown>,
  from: Partial<Memory<unknown>>,
  to: Partial<Memory<unknown>>,
): Memory<unknown> {
  const same = (Object.keys(from) as (keyof Memory<unknown>)[]).filter((name) => sameJson(memory[name], from[name]));
  return { ...memory, ...Object.fromEntries(same.map((name) => [name, to[name]])) };
}

/** Keeps a call that failed back for a while. */
export function failed(inProcess: InProcess, failedCall: Omit<FailedCall, 'isNo' | 'until'>, pauseMs: number): void {
  // What it asked to remember was remembered when it was said first.
  const { remember: _remembered, note: _noted, ...verdict } = failedCall.verdict;
  inProcess.failedCall = { ...failedCall, verdict, isNo: false, until: failedCall.at + pauseMs };
  inProcess.failures += 1;
}

/** Keeps a call that was refused back for as long as the verdict says, or for long. */
export function refused(inProcess: InProcess, failedCall: Omit<FailedCall, 'isNo' | 'until'>): void {
  const { remember = {}, ...verdict } = failedCall.verdict;
  const pauseMs = verdict.is === 'wait' ? (verdict.retryInMs ?? refusedForMs) : refusedForMs;
  // What else was remembered with it was remembered when it was said first, and is old when it is said again.
  const ended = 'journal' in remember ? { remember: { journal: remember.journal } } : {};
  inProcess.failedCall = {
    ...failedCall,
    verdict: { ...verdict, ...ended },
    isNo: true,
    until: failedCall.at + pauseMs,
  };
  inProcess.failures += 1;
}

/** What was done, or is wanted no longer, was not in vain. */
export function wentWell(inProcess: InProcess): void {
  inProcess.failedCall = undefined;
  inProcess.failures = 0;
}

/** The same call, as long as it must not be sent again. */
export function heldBack(inProcess: InProcess, digest: string, now: number): FailedCall | undefined {
  const { failedCall, forced } = inProcess;
  if (failedCall === undefined || (failedCall.digest ?? digest) !== digest || now >= failedCall.until) return undefined;
  if ((forced?.since ?? failedCall.at) > failedCall.at) return undefined;
  // The first request after such an answer is the one that is kept back; another one after that is not.
  inProcess.failedCall = { ...failedCall, digest };
  return failedCall;
}

/** Whether the pause of the same call is over, and what it was decided on now was asked for before that. */
export function isSeenTooEarly({ failedCall, askedAt }: InProcess, digest: string, now: number): boolean {
  if (failedCall === undefined || failedCall.digest !== digest || now < failedCall.until) return false;
  return askedAt !== undefined && askedAt < failedCall.until;
}

/** What was in vain under other circumstances may go well now; `holders` are those that may keep it from being deleted. */
export function noteCircumstances(
  inProcess: InProcess,
  { metadata }: KubeObject,
  { session, referred }: Pick<Surroundings, 'session' | 'referred'>,
  holders: readonly string[],
): void {
  // Annotations of others say nothing to the operator, however often they change.
  const steering = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => name.startsWith(`${group}/`) && name !== annotations.reconcileAt,
  );
  const references = [...referred].map(([name, { id, applied }]) => [name, id, applied]);
  const { generation, deletionTimestamp } = metadata;
  const circumstances = JSON.stringify([generation, deletionTimestamp, steering, session.print, references, holders]);
  if (inProcess.circumstances !== circumstances) wentWell(inProcess);
  inProcess.circumstances = circumstances;
}

/** The service can be read again: what failed is tried again now. */
export function recovered(inProcess: InProcess, now: number): void {
  const { failedCall } = inProcess;
  if (failedCall?.isNo === false) inProcess.failedCall = { ...failedCall, until: now };
}
