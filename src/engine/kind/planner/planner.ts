/**
 * Decides the single next step for every kind whose objects have plain create, update and delete calls.
 *
 * The planner decides in this order: deletion, a create call with an unknown outcome, the binding to an object
 * (confirmed, adopted or created), the object's absence, the object's difference from the spec, and the kind's own
 * further steps. The planner uses only its input, the pass, so the same pass gives the same step.
 */
import type { Json } from '../../../base/json.ts';
import { isoSeconds } from '../../../base/time.ts';
import {
  asFound,
  compare,
  isSameName,
  leftoverOf,
  whileInFlight,
  only,
  part,
  sameValue,
  whole,
  type Difference,
} from './compare.ts';
import { findOrCreate, boundTo, isMarked, isOfAccount, notGranted, resolveCreate } from './create.ts';
import { denied, lookAfterDenial, namesake, onlyReported, readOf, readTwice, stallIfContested } from './observe.ts';
import { waitWhileFrozen, type Look } from './observe.ts';
import type { Read, ReadProblem } from '../../ports.ts';
import type { Pass } from '../contract/pass.ts';
import type { Lifecycle, ObjectPlan } from './plan.ts';
import { planRemoval } from './removal.ts';
import type { Notes } from '../contract/notes.ts';
import type { Showing, Step, Verdict } from '../contract/step.ts';

/** Decides the next step for an object with plain create, update and delete calls. */
export function planObject<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Step<Facts>;
export function planObject(plan: ObjectPlan, pass: Pass): Step {
  if (pass.subject.deleting) return planRemoval(plan, pass);
  const unresolved = resolveOpen(plan, pass);
  if (unresolved !== undefined) return unresolved;
  const refused = plan.admit?.(pass);
  if (refused !== undefined) return refused;
  const { id } = pass.memory;
  const externalId = plan.externalId(pass.spec);
  if (externalId !== undefined && (id !== externalId || pass.memory.ownership === 'Presumed')) {
    return bindNamed(plan, pass, externalId);
  }
  if (id === undefined) return findOrCreate(plan, pass);
  return claimedByOlder(pass, id, `${plan.noun} ${id}`) ?? keepMatched(plan, pass, id);
}

/**
 * Returns the part of status that describes the object in the service, for kinds with plain create, update and delete
 * calls.
 */
export function showObject<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Showing<Facts>;
export function showObject(plan: ObjectPlan, pass: Pass): Showing {
  const { id } = pass.memory;
  const found = id === undefined ? undefined : look(plan, pass, id);
  const leftover = leftoverOf(plan, pass);
  if (found?.is !== 'seen') {
    const unseen = found?.is === 'unclear';
    const { facts } = pass.memory;
    // The object in the service is gone, so remove the status fields that describe it.
    const known = found?.is === 'gone' ? plan.factsOfNext(facts) : facts;
    return { unseen, facts: known, conditions: [], leftover };
  }
  const difference = compare(plan, pass, found.seen.fields);
  const facts = plan.facts(pass, found.seen);
  return {
    facts,
    conditions: plan.conditions?.(pass, found.seen, facts) ?? [],
    drift: difference.drift,
    unverified: [...difference.hidden, ...(plan.creationOnly?.(pass.spec) ?? [])].toSorted(),
    leftover,
    notices: plan.notices?.(pass, found.seen, facts) ?? [],
  };
}

function keepMatched(plan: ObjectPlan, pass: Pass, id: string): Step {
  // If the outcome of a change is unknown, only a read that began after the change shows whether the change must be
  // sent again.
  const { staleBefore, corrected } = pass.notes;
  const doubtful = staleBefore === undefined ? undefined : readSince(plan, pass, id, staleBefore);
  if (doubtful !== undefined) return doubtful;
  const found = look(plan, pass, id);
  if (found.is === 'unclear') return found.step;
  if (found.is === 'gone') return gone(plan, pass, id);
  const unread = plan.alsoReads?.(pass, id).find((read) => pass.view.all(read) === undefined);
  if (unread !== undefined) return readOf(pass, unread);
  const difference = compare(plan, pass, found.seen.fields);
  const applied = asFound(plan, pass, difference);
  if (applied !== undefined) return { is: 'again', remember: { applied } };
  const fixed = plan.fixed?.find((field) => field in difference.differing);
  if (fixed !== undefined) return immutable(plan, pass, id, [fixed, ...Object.keys(difference.differing)]);
  const { drift, managementPolicy } = plan.lifecycle(pass.spec);
  const changed = { ...(drift === 'Correct' && difference.differing), ...difference.unsent };
  if (Object.keys(changed).length > 0) {
    const lacking = lookAfterDenial(plan, pass, id);
    if (lacking?.is === 'unclear') return lacking.step;
    return lacking === undefined ? correct(plan, pass, id, difference, changed) : gone(plan, pass, id);
  }
  // A correction of drift is confirmed only by a read that began after the correction.
  const { wrote } = pass;
  const unconfirmed = corrected === undefined || wrote === undefined ? undefined : readSince(plan, pass, id, wrote.at);
  if (unconfirmed !== undefined) return unconfirmed;
  const { generation, unshown } = pass.memory.applied ?? {};
  if (difference.rerecord || unshown === true || generation !== pass.subject.generation) {
    return { is: 'again', remember: { applied: whole(plan, pass, difference) } };
  }
  const next = plan.whenEqual?.(pass, found.seen) ?? { is: 'ready' };
  if (next.is !== 'ready') return next;
  const late = lateArrival(pass, difference);
  if (late !== undefined) return late;
  const drifted = Object.keys(difference.differing);
  const ready = drifted.length === 0 ? next : onlyReported(pass, managementPolicy, drifted);
  // While the service refuses to return the list, no change in the list can cause a reconcile. So reconcile again after
  // each poll interval. After a few intervals, the object is read by its id instead.
  const isRefused = refusedFor(pass, plan.list(pass), id) > 0;
  return { ...ready, ...(isRefused && { retryInMs: pass.account.pollMs }), note: {} };
}

/** Returns a `wait` verdict while an older change, whose outcome is unknown, may still overwrite the newest values. */
function lateArrival({ wallMs }: Pass, { overwritable }: Difference): Verdict | undefined {
  const fields = Object.keys(overwritable);
  if (fields.length === 0) return undefined;
  const untilMs = Math.max(...Object.values(overwritable));
  const message = `the outcome of an earlier change of ${fields.join(', ')} is not known, and the earlier change may still arrive until ${isoSeconds(untilMs)}; after that time the operator sends the newest values again`;
  return { is: 'wait', reason: 'InDoubt', message, retryInMs: Math.max(1_000, untilMs - wallMs + 1_000), note: {} };
}

/**
 * Decides what to do about a difference from the spec in a field that the service cannot change. If drift is to be
 * corrected, the resource stalls, because a person has to decide. Otherwise the difference is only reported.
 */
function immutable(plan: ObjectPlan, pass: Pass, id: string, [field = '', ...differing]: readonly string[]): Step {
  const { drift, managementPolicy } = plan.lifecycle(pass.spec);
  if (drift === 'Correct' && managementPolicy === 'Manage' && pass.account.managementPolicy === 'Manage') {
    const message = `the ${field} of ${plan.noun} ${id} differs from the spec, and the service cannot change this field`;
    return { is: 'stall', reason: 'Immutable', message };
  }
  const since = `, since the service cannot change ${field}`;
  return { ...onlyReported(pass, managementPolicy, differing, since), note: {} };
}

/**
 * The operator corrects drift at most this number of times if no later read shows the corrected values. The number is
 * more than one, because somebody else may have changed the values again in between.
 */
const mostCorrections = 2;

/**
 * Returns the notes to use after a user has set the annotation `reconcile-at` to try again. Corrections that had no
 * visible effect are counted from zero again.
 */
export function tryingAgain({ corrected: _corrected, ...notes }: Notes): Notes {
  return { ...notes, triesAgain: true };
}

/** Asks for a newer read of the object if its newest reads began before the given time. Otherwise returns undefined. */
function readSince(plan: ObjectPlan, pass: Pass, id: string, at: number): Step | undefined {
  const list = plan.list(pass);
  if ((pass.view.one(list, id)?.snapshot.begunAt ?? at) < at) return readOf(pass, list, at);
  const older = plan.alsoReads?.(pass, id).find((read) => (pass.view.all(read)?.begunAt ?? at) < at);
  return older && readOf(pass, older, at);
}

function correct(
  plan: ObjectPlan,
  pass: Pass,
  id: string,
  difference: Difference,
  changed: Readonly<Record<string, Json>>,
): Step {
  const { applied } = pass.memory;
  const isDrift = applied?.generation === pass.subject.generation;
  const drifted = isDrift ? Object.keys(difference.differing).filter((field) => field in changed) : [];
  const contested = stallIfContested(pass, drifted, `${plan.noun} ${id}`);
  if (contested !== undefined) return contested;
  const { corrected = 0, triesAgain } = pass.notes;
  const isUnshown = corrected >= mostCorrections || applied?.unshown === true;
  if (applied !== undefined && drifted.length > 0 && isUnshown && triesAgain !== true) {
    const message = `the service accepted the change of ${drifted.join(', ')} of ${plan.noun} ${id}, but no later read shows the change; the change is not sent again until the spec changes or the service shows the new value`;
    return { is: 'stall', reason: 'ChangeNotShown', message, remember: { applied: { ...applied, unshown: true } } };
  }
  const waits = plan.mustWait?.(pass, changed);
  if (waits !== undefined) return waits;
  const first = plan.requests.updateFirst?.(changed, pass);
  const now = first === undefined ? changed : only(changed, first);
  const words = `update ${plan.noun} "${plan.name(pass)}" (${Object.keys(now).join(', ')})`;
  return {
    is: 'call',
    call: {
      request: plan.requests.update(id, now, pass),
      words,
      urgency: isDrift ? 'drift' : 'edit',
      corrects: drifted.filter((field) => field in now),
      ...whileInFlight(plan, pass, now),
      ...(plan.requests.updateAlone && { alone: plan.requests.updateAlone(pass) }),
      wrote: () => only(difference.differing, Object.keys(now)),
      // If a change takes several calls, only the last call counts as a correction.
      note: () => (drifted.length > 0 && first === undefined ? { corrected: corrected + 1 } : {}),
      obstacle: { read: plan.list(pass), shown: () => namesake(plan, pass) },
      refused: (refusal, answeredAt) =>
        refusal.is !== 'inDoubt'
          ? denied(plan, pass, words, refusal, answeredAt)
          : {
              is: 'wait',
              reason: 'InDoubt',
              message: `${words}: ${refusal.message}; before the operator sends the call again, it reads the service to find out if the first call had an effect`,
              retryInMs: 2_000,
              note: { ...pass.notes, staleBefore: answeredAt },
            },
      committed: (body) => ({
        applied: first === undefined ? whole(plan, pass, difference, Object.keys(now)) : part(pass, difference, first),
        ...(plan.requests.learnedByUpdate && { facts: plan.requests.learnedByUpdate(body, now, pass) }),
      }),
    },
  };
}

/** Decides the next step when reads have proved that the object is gone from the service. */
function gone(plan: ObjectPlan, pass: Pass, id: string): Step {
  const named = plan.externalId(pass.spec) === id;
  // Remember in the notes that reads have proved the object gone, because status still has the object's id. Otherwise
  // the object would count as missing from the list, and missing objects can keep the account frozen.
  const note = { ...pass.notes, provedGone: true };
  if (named || plan.lifecycle(pass.spec).onMissing === 'Stall') {
    const message = `${plan.noun} ${id} is gone from the service and is not created again`;
    return { is: 'stall', reason: 'ObjectGone', message, note };
  }
  const lost = waitWhileFrozen(pass);
  if (lost !== undefined) return { ...lost, note };
  // Write to status at once that the object is gone. Otherwise each later reconcile would have to prove it again.
  return {
    is: 'wait',
    reason: 'Creating',
    message: `${plan.noun} ${id} is gone from the service; the operator creates a new one`,
    retryInMs: 1,
    remember: {
      id: undefined,
      ownership: undefined,
      binding: undefined,
      applied: undefined,
      journal: undefined,
      facts: plan.factsOfNext(pass.memory.facts),
    },
    note: {},
  };
}

// ---- a bound object as the service shows it --------------------------------------------------------------------
//
// Reads the object in the service to which a resource is bound.
//
// Guarantees: a value that the operator wrote replaces the value in a read that began before the response to the write. If a
// later list still has the old value, or does not contain the object, the operator believes that list only after a read of
// the object itself has confirmed it.

/**
 * If the service refuses to return a newer list, the last complete list is still used for this number of poll
 * intervals.
 */
const believedPolls = 2;
const refusing: ReadonlySet<ReadProblem['why']> = new Set(['refused', 'forbidden']);

/**
 * Looks for the object in the service to which the resource is bound. If the newest reads are not enough to be sure,
 * asks for further reads.
 */
function look(plan: ObjectPlan, pass: Pass, id: string): Look {
  const list = plan.list(pass);
  const listed = pass.view.one(list, id);
  if (listed === undefined) return { is: 'unclear', step: readOf(pass, list) };
  const { item, snapshot } = listed;
  if (refusedFor(pass, list, id) >= believedPolls * pass.account.pollMs)
    return lookDirectly(plan, pass, id, pass.monotonicMs - pass.account.pollMs);
  const older = pass.wrote !== undefined && snapshot.begunAt < pass.wrote.at;
  if (item === undefined && !older) return lookDirectly(plan, pass, id, snapshot.begunAt);
  const fields = item === undefined ? {} : plan.observed(item, pass);
  if (older) return { is: 'seen', seen: { item, fields: { ...fields, ...pass.wrote?.fields } } };
  if (contradicts(pass, fields)) return lookDirectly(plan, pass, id, snapshot.begunAt);
  return { is: 'seen', seen: { item, fields } };
}

/**
 * Returns the age of the newest complete list, in ms, if the service now refuses to return the list. Otherwise returns
 * 0, for example if the service cannot be reached.
 */
function refusedFor({ view, monotonicMs }: Pass, list: Read, id: string): number {
  const problem = view.problem(list);
  const { snapshot } = view.one(list, id) ?? {};
  return problem !== undefined && snapshot !== undefined && refusing.has(problem.why)
    ? monotonicMs - snapshot.begunAt
    : 0;
}

/**
 * True when a list contradicts a value that the operator wrote less than `--horizon-seconds` ago. The list may still be
 * outdated.
 */
function contradicts(pass: Pass, fields: Readonly<Record<string, unknown>>): boolean {
  const wrote = pass.wrote;
  if (wrote === undefined || pass.monotonicMs - wrote.at > pass.horizonMs) return false;
  return Object.entries(wrote.fields).some(([field, value]) => {
    const seen = fields[field];
    return seen !== undefined && !sameValue(value, seen as typeof value);
  });
}

function lookDirectly(plan: ObjectPlan, pass: Pass, id: string, since: number): Look {
  const direct = readTwice(pass, { noun: plan.noun, single: plan.single(id), id, since });
  if (direct.is !== 'there') return direct;
  return { is: 'seen', seen: { item: direct.item, fields: plan.observed(direct.item, pass) } };
}

// ---- an object that the spec names -----------------------------------------------------------------------------
//
// Binds the object that `spec.externalId` names.
//
// Guarantees: if the outcome of a create call is unknown, the operator looks for the created object before it binds the
// resource to a different object. If it stays uncertain which object the call created, `spec.externalId` decides. If the
// resource gives up an object, an event says that this object stays in the service. An object is not bound if an older
// resource owns it, or if it belongs to another account.

/**
 * Handles a create call whose outcome is unknown, before the kind decides anything else. For a deletion, `removal.ts`
 * handles such a call.
 *
 * If the call proves to have had no effect, the call is sent again, with two exceptions: `spec.externalId` names an
 * object, or `admit` returns a step, for example because the environment does not have the metric. In both cases the
 * journal entry is removed.
 *
 * Returns the next step; undefined if there is no create call with an unknown outcome. Also returns undefined if it
 * stays uncertain which object the call created, but `spec.externalId` names an object.
 */
function resolveOpen(plan: ObjectPlan, pass: Pass): Step | undefined {
  const { journal } = pass.memory;
  if (journal?.create === undefined) return undefined;
  const isNamed = plan.externalId(pass.spec) !== undefined;
  const step = resolveCreate(plan, pass, journal, journal.create);
  const isNothing = step.is === 'call' && (isNamed || plan.admit?.(pass) !== undefined);
  if (isNothing) return { is: 'again', remember: { journal: undefined, applied: undefined } };
  return isNamed && step.is === 'stall' && step.reason === 'Ambiguous' ? undefined : step;
}

/**
 * True if an object may be the result of the create call in the journal, whose outcome is unknown. The ownership mark
 * of the object decides, or its name if the kind has no marks.
 */
function mayBeMade(plan: ObjectPlan, pass: Pass, id: string, item: unknown): boolean {
  const { create } = pass.memory.journal ?? {};
  if (create === undefined || item === undefined || create.excluded.includes(id)) return false;
  return plan.markOf === undefined ? isSameName(plan.nameOf(item), create.name) : isMarked(plan, pass, item);
}

/**
 * Returns a `stall` step if an older resource owns the object of this resource in the service. Otherwise returns
 * undefined. In the message, `what` names the object, and `one` is a general word for such an object, such as
 * `installation`.
 */
export function claimedByOlder(
  { claimant }: Pass,
  id: string,
  what: string,
  one = 'object in the service',
): Extract<Verdict<never>, { is: 'stall' }> | undefined {
  const other = claimant(id);
  if (other?.goesFirst !== true) return undefined;
  const message = `${what} belongs to ${other.name}, which is older; each ${one} can have only one owner`;
  return { is: 'stall', reason: 'Claimed', message };
}

/** Binds the object that `spec.externalId` names: adopts the object, or records that this resource created it. */
function bindNamed(plan: ObjectPlan, pass: Pass, id: string): Step {
  const what = `spec.externalId names ${plan.noun} ${id}`;
  const isBound = pass.memory.id === id;
  // Check the right to adopt before naming an owner, so that nobody without that right learns about the objects of
  // others.
  const refused = isBound ? undefined : notGranted(what, pass.account, plan.lifecycle(pass.spec).adoption);
  if (refused !== undefined) return refused;
  const claimed = claimedByOlder(pass, id, `${plan.noun} ${id}`);
  if (claimed !== undefined) return claimed;
  if (isBound) return { is: 'again', remember: boundTo(pass, id, 'Created') };
  const found = look(plan, pass, id);
  if (found.is === 'unclear') return found.step;
  if (found.is === 'gone') {
    const message = `${what}, which does not exist in the service`;
    return { is: 'stall', reason: 'NotFound', message };
  }
  if (!isOfAccount(plan, pass, { id, item: found.seen.item })) {
    const list = plan.list(pass);
    const isOld = (pass.view.one(list, id)?.snapshot.begunAt ?? pass.askedAt) < pass.askedAt;
    if (isOld) return readOf(pass, list, pass.askedAt);
    const message = `${what}, which is not an object of account ${pass.account.accountId}`;
    return { is: 'stall', reason: 'NotFound', message };
  }
  const ownership = mayBeMade(plan, pass, id, found.seen.item) ? 'Created' : 'Adopted';
  const before = pass.memory.id;
  const isSent = before === undefined && ownership === 'Created';
  const applied = isSent ? pass.memory.applied : undefined;
  const facts = plan.factsOfNext(pass.memory.facts);
  return {
    is: 'again',
    remember: { ...boundTo(pass, id, ownership), applied, facts },
    ...(before !== undefined && {
      stays: `${plan.noun} ${before} stays in the service: spec.externalId names ${id} now`,
    }),
  };
}

// ---- the parts of a plan that many kinds share -----------------------------------------------------------------
//
// The specs of most kinds have a name, an id and a lifecycle. These kinds share the functions that read the three fields.

/** The fields that the specs of many kinds share: name, id and lifecycle. */
interface ObjectSpec {
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  readonly lifecycle?: { readonly [Field in keyof Lifecycle]?: Lifecycle[Field] | undefined } | undefined;
}

/** A list item of the service that has a name, and perhaps a creation time. */
interface NamedItem {
  readonly name: string;
  readonly createdAtMs?: number | undefined;
}

/**
 * Returns the functions of a plan that read the name, the id and the lifecycle. Many kinds share these functions.
 * `onDelete` and `onMissing` are the values to use if the spec does not set these fields.
 */
export function byName({ onDelete, onMissing }: Pick<Lifecycle, 'onDelete' | 'onMissing'>) {
  return {
    name: ({ spec, subject }: Pass<ObjectSpec, unknown>) => spec.name ?? subject.name,
    nameOf: ({ name }: NamedItem) => name,
    createdAtOf: ({ createdAtMs }: NamedItem) => createdAtMs,
    externalId: ({ externalId }: ObjectSpec) => externalId,
    lifecycle: ({ lifecycle }: ObjectSpec): Lifecycle => ({
      managementPolicy: lifecycle?.managementPolicy ?? 'Manage',
      adoption: lifecycle?.adoption,
      onDelete: lifecycle?.onDelete ?? onDelete,
      onMissing: lifecycle?.onMissing ?? onMissing,
      drift: lifecycle?.drift ?? 'Correct',
    }),
  };
}
