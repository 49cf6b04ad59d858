/**
 * Asks for the reads of the service that a decision needs, and decides when an object counts as absent.
 *
 * Guarantees: a failed read proves nothing; an object counts as gone only after two direct reads, one poll interval
 * apart, have not found it.
 *
 * Why: docs/design/absence-and-visibility.md#treat-an-object-as-gone-only-after-two-reads-have-not-found-it
 */
import { type Read, type ReadProblem, type Snapshot, shortPauseMs } from '../../ports.ts';
import type { Pass } from '../contract/pass.ts';
import type { Lifecycle, ObjectPlan, Observation } from './plan.ts';
import type { Reason } from '../contract/reasons.ts';
import type { Notes } from '../contract/notes.ts';
import { arrivesWithinMs, type JournalEntry, type Refusal, type Step, type Verdict } from '../contract/step.ts';
import { isoSecondsUp } from '../../../base/time.ts';

export type Look =
  | { readonly is: 'seen'; readonly seen: Observation }
  | { readonly is: 'gone' }
  | { readonly is: 'unclear'; readonly step: Step<never> };

/**
 * Returns a `wait` step if the account is frozen; undefined if it is not. An account is frozen while too many objects
 * are missing from the lists of the service. Meanwhile, nothing may be created or deleted in the account.
 */
export function waitWhileFrozen({ account }: Pass<unknown, unknown>): Extract<Step<never>, { is: 'wait' }> | undefined {
  const { frozen } = account;
  return frozen === undefined ? undefined : { is: 'wait', reason: 'VisibilityLost', message: frozen };
}

/**
 * Returns a `wait` step for the time of `--horizon-seconds` after a take-over: this process took over from a leader
 * that did not release its lease, or the cluster was restored. In that time, earlier calls may still arrive at the
 * service. `what` is the part of the message that says what waits, such as `nothing is created`.
 */
export function takingOver(
  { takeOverMs }: Pass<unknown, unknown>,
  what: string,
): Extract<Step<never>, { is: 'wait' }> | undefined {
  if (takeOverMs <= 0) return undefined;
  const message = `this operator has just become leader, or the cluster was restored; ${what} for the time in --horizon-seconds, because earlier calls may still arrive at the service`;
  return { is: 'wait', reason: 'TakeOver', message, retryInMs: takeOverMs };
}

/**
 * Returns a `wait` step while the account is frozen, and for the time of `--horizon-seconds` after a take-over; see
 * `takingOver`.
 */
export function frozenOrTakingOver(pass: Pass<unknown, unknown>, what: string) {
  return waitWhileFrozen(pass) ?? takingOver(pass, what);
}

/**
 * Returns a `ready` step for a difference that is only reported: because the object is only observed, or because the
 * spec asks for it. `policy` is the management policy of the spec; `since` adds a reason to the message.
 */
export function onlyReported(
  pass: Pass,
  policy: Lifecycle['managementPolicy'] | undefined,
  fields: readonly string[],
  since = '',
) {
  const isObserved = policy === 'Observe' || pass.account.managementPolicy === 'Observe';
  const message = `the service differs from the spec in ${fields.join(', ')}; the difference is only reported${since}`;
  return { is: 'ready', reason: isObserved ? 'Observed' : 'DriftReported', message } as const;
}

/**
 * Returns a `stall` step if some of these fields are not corrected any more, because somebody else changes them in the
 * service again and again. Otherwise returns undefined. `owner` names the object that has the fields.
 */
export function stallIfContested(
  { contested }: Pass<unknown, unknown>,
  fields: readonly string[],
  owner: string,
): Extract<Step<never>, { is: 'stall' }> | undefined {
  const left = fields.filter((field) => contested.has(field)).join(', ');
  if (left === '') return undefined;
  const message = `somebody else keeps changing ${left} of ${owner}; the operator no longer corrects ${left} until the spec or the annotation reconcile-at changes`;
  return { is: 'stall', reason: 'Contested', message };
}

/**
 * Waits for a second read after a read has not found an object. Returns a step that waits, or that asks for the second
 * read. Returns undefined if the read that began at `begunAt` is the second one: it began at least `apartMs` after the
 * first, and did not find the object either. A note stores when the first read began: `missed` under `id` if given,
 * otherwise the note with the name `note`.
 */
export function waitForSecondMiss(
  pass: Pass<unknown, unknown>,
  look: {
    readonly read: Read;
    readonly begunAt: number;
    readonly apartMs: number;
    readonly note?: 'missedAt' | 'operationMissedAt';
    readonly id?: string;
  },
  said: { readonly reason: Reason; readonly message: string },
): Extract<Step<never>, { is: 'read' | 'wait' }> | undefined {
  const { read, begunAt, apartMs, note = 'missedAt', id } = look;
  const { missed } = pass.notes;
  const missedAt = id === undefined ? pass.notes[note] : missed?.[id];
  if (missedAt === undefined) {
    const first = id === undefined ? { [note]: begunAt } : { missed: { ...missed, [id]: begunAt } };
    return { is: 'wait', ...said, retryInMs: apartMs, note: { ...pass.notes, ...first } };
  }
  if (begunAt - missedAt >= apartMs) return undefined;
  const dueIn = missedAt + apartMs - pass.monotonicMs;
  if (dueIn > 0) return { is: 'wait', ...said, retryInMs: Math.ceil(dueIn), note: pass.notes };
  return { ...readOf(pass, read, missedAt + apartMs), note: pass.notes };
}

/**
 * Removes the note that an earlier read did not find the object. The next read that does not find the object then
 * counts as the first one.
 */
export function withoutMisses({ missedAt: _miss, provedGone: _proof, ...notes }: Notes): Notes {
  return notes;
}

/**
 * Reads one object by id. The object counts as gone only after two such reads, one poll interval apart, have not found
 * it.
 */
export function readTwice<Item>(
  pass: Pass,
  about: { readonly noun: string; readonly single: Read<Item>; readonly id: string; readonly since: number },
): { readonly is: 'there'; readonly item: Item } | Exclude<Look, { is: 'seen' }> {
  const { noun, single, id, since } = about;
  const direct = pass.view.one(single, id);
  if (direct === undefined || direct.snapshot.begunAt < since)
    return { is: 'unclear', step: readOf(pass, single, since) };
  if (direct.item !== undefined) return { is: 'there', item: direct.item };
  const { begunAt } = direct.snapshot;
  const message = `${noun} ${id} was not found in the service; it counts as gone only if a second read does not find it either`;
  const look = { read: single, begunAt, apartMs: pass.account.pollMs };
  const step = waitForSecondMiss(pass, look, { reason: 'ObjectMissing', message });
  return step === undefined ? { is: 'gone' } : { is: 'unclear', step };
}

/**
 * Ends the deletion of a resource whose object was in a container that is gone, for example of an alert whose
 * environment was deleted. No delete call is sent for the object. Two responses must show that the container is gone:
 * the service refuses to list the objects in the container, and its list of containers no longer has the container.
 */
export function releasedWithPlace(plan: ObjectPlan, pass: Pass, since: number): Step | undefined {
  const place = plan.placeOf?.(pass);
  if (place === undefined || !pass.subject.deleting || pass.account.frozen !== undefined) return undefined;
  const problem = pass.view.problem(plan.list(pass));
  if (problem?.why !== 'refused' || problem.at < since) return undefined;
  const seen = pass.view.one(place.list, place.id);
  if (seen === undefined || seen.snapshot.begunAt < since) return readOf(pass, place.list, since);
  return seen.item === undefined ? { is: 'release' } : undefined;
}

/**
 * Asks for a read that begins at or after `since`. If `since` is not given, any read is good enough. If the newest read
 * since then has failed, returns a `wait` step whose message says why. If it failed because of a short pause that the
 * service asked for, returns this step only after the object has waited for 10 seconds.
 */
export function readOf(
  pass: Pass<unknown, unknown>,
  read: Read,
  since = Number.NEGATIVE_INFINITY,
): Extract<Step<never>, { is: 'read' | 'wait' }> {
  const problem = pass.view.problem(read);
  if (problem === undefined || problem.at < since) return { is: 'read', read, since };
  const message = `reading ${read.first.endpoint}: ${problem.message}`;
  if (problem.why !== 'throttled') return { is: 'wait', ...unreadable[problem.why], message };
  const pause = longPause(pass);
  // Mention a pause in status only if at least 10 seconds of it remain, or if the object has already waited for 10
  // seconds.
  if (pause === undefined && pass.monotonicMs - pass.askedAt < shortPauseMs) return { is: 'read', read, since };
  const until = pause ?? "the account's status says how long requests wait";
  return { is: 'wait', reason: 'Throttled', message: `${message}; ${until}` };
}

/**
 * What status says when a list cannot be read, for each reason of the failure. `retryInMs` is the time after which the
 * object is reconciled again.
 */
const unreadable = {
  unauthorized: { reason: 'AccountNotReady' },
  hostNotAllowed: { reason: 'AccountNotReady' },
  forbidden: { reason: 'Forbidden', retryInMs: 300_000 },
  refused: { reason: 'Forbidden', retryInMs: 300_000 },
  malformed: { reason: 'UnexpectedResponse' },
  unreachable: { reason: 'ServiceUnavailable' },
} as const satisfies Readonly<Record<Exclude<ReadProblem['why'], 'throttled'>, object>>;

/**
 * Asks for the first of these lists that the operator has not tried to read yet. Returns undefined if there is no such
 * list.
 */
export function readUnread(
  pass: Pass<unknown, unknown>,
  reads: readonly Read[],
): Extract<Step<never>, { is: 'read' | 'wait' }> | undefined {
  const unread = reads.find((read) => pass.view.all(read) === undefined && pass.view.problem(read) === undefined);
  return unread && readOf(pass, unread);
}

/** Interval between reads of the service while the outcome of a call is unknown. */
export const doubtPauseMs = 5_000;

/**
 * Returns three times for the call in the journal:
 * - `settledAt` (monotonic): after this time, the call can no longer arrive at the service. If the call was sent
 *   several times, the time of the newest attempt is in the note `sentAt`.
 * - `inWords`: the same time as a text for messages.
 * - `since` (monotonic): a read that looks for the effect of the call must begin at this time or later. It is five
 *   seconds ago, but not before this process first reconciled the object with the entry, and not after `settledAt`.
 */
export function overAt(
  { journalSeen, notes, monotonicMs, horizonMs }: Pick<Pass, 'journalSeen' | 'notes' | 'monotonicMs' | 'horizonMs'>,
  journal: JournalEntry,
) {
  const { sentAt = journalSeen.monotonic } = notes;
  const ms = Math.max(0, sentAt - journalSeen.monotonic) + arrivesWithinMs(journal, horizonMs);
  const settledAt = journalSeen.monotonic + ms;
  return {
    settledAt,
    inWords: isoSecondsUp(journalSeen.wall + ms),
    since: Math.max(journalSeen.monotonic, Math.min(settledAt, monotonicMs - doubtPauseMs)),
  };
}

/**
 * Returns the field `serviceTime` for the journal entry of a create call: the time at which the list was read, by the
 * service's own clock.
 */
export function serviceTimeOf({ dateMs }: Snapshot): { readonly serviceTime?: string } {
  return dateMs === undefined ? {} : { serviceTime: new Date(dateMs).toISOString() };
}

/** If the service asked for a long pause of reads, returns a text that says until when. Otherwise returns undefined. */
export function longPause({ account, wallMs }: Pick<Pass, 'account' | 'wallMs'>): string | undefined {
  const { readsThrottledMs = 0 } = account;
  return readsThrottledMs < shortPauseMs ? undefined : `requests wait until ${isoSecondsUp(wallMs + readsThrottledMs)}`;
}

// ---- after a refusal -------------------------------------------------------------------------------------------
//
// Finds out if the service refused a call because an object that the call names is gone.
//
// Guarantees: an object counts as gone only after a read of that object since the refusal. If no object is gone, the
// call is sent again, and a second refusal is final.
//
// Why: docs/design/at-most-once.md#read-the-service-before-a-refusal-counts

const recheckMs = 300_000;

/**
 * After the service has refused a call, checks that the resource's own object and all objects that the call names still
 * exist, before the call is sent again. Returns undefined if all of them exist, or if no call was refused.
 */
export function lookAfterDenial(plan: ObjectPlan, pass: Pass, id?: string): Exclude<Look, { is: 'seen' }> | undefined {
  const { deniedAt } = pass.notes;
  if (deniedAt === undefined) return undefined;
  const since = Math.max(deniedAt, pass.monotonicMs - recheckMs);
  if (id !== undefined) {
    const own = readTwice(pass, { noun: plan.noun, single: plan.single(id), id, since: deniedAt });
    if (own.is !== 'there') return own;
  }
  for (const target of plan.namesInCalls?.(pass) ?? []) {
    const found = pass.view.one(target.single, target.id);
    if (found === undefined || found.snapshot.begunAt < since)
      return { is: 'unclear', step: readOf(pass, target.single, since) };
    if (found.item !== undefined) continue;
    const message = `${target.words} is gone from the service, so the service refuses a ${plan.noun} that refers to it`;
    return { is: 'unclear', step: { is: 'wait', reason: 'ReferenceNotReady', message, retryInMs: recheckMs } };
  }
  return undefined;
}

/**
 * Decides what to do after a refusal that may be due to a missing object. After the first refusal, the operator reads
 * the service to find out which object is missing; after the second, the resource stalls. Returns undefined for any
 * other refusal.
 */
export function denied(
  plan: ObjectPlan,
  pass: Pass,
  words: string,
  refusal: Refusal,
  deniedAt: number,
): Verdict | undefined {
  const isAboutOthers = refusal.is === 'refused' && plan.namesInCalls !== undefined;
  if (refusal.is !== 'notFound' && !isAboutOthers) return undefined;
  const message = `${words}: ${refusal.message}`;
  if (pass.notes.deniedAt !== undefined) return { is: 'stall', reason: 'Rejected', message };
  const note = { ...pass.notes, deniedAt };
  const reading = `${message}; the operator reads the service to find out which object is gone`;
  return { is: 'wait', reason: 'ObjectMissing', message: reading, retryInMs: 1, note };
}

/**
 * If another object in the service has the wanted name, returns a text that says which object it is and which resource
 * owns it. Such an object may be the reason for a refusal, because the service may allow each name only once.
 */
export function namesake(plan: ObjectPlan, pass: Pass): string | undefined {
  const name = plan.name(pass);
  const items = [...(pass.view.all(plan.list(pass))?.items ?? [])];
  const [id] = items.find(([other, item]) => other !== pass.memory.id && plan.nameOf(item) === name) ?? [];
  if (id === undefined) return undefined;
  const owner = pass.claimant(id)?.name;
  return `${plan.noun} ${id}${owner === undefined ? '' : ` of ${owner}`} has the name "${name}"`;
}
