/**
 * Resolves a create in doubt: finds the object that it made, or proves that it made none.
 *
 * Guarantees: nothing is sent until the object is found, or a full list begun after the horizon shows none; an object that
 * only may be ours is neither bound nor deleted.
 *
 * Why: docs/design/at-most-once.md#take-an-object-for-ours-only-when-name-content-and-time-fit
 */
import { ambiguous, bind, isMarked } from './binding.ts';
import { isSameName, keyOf, sameField } from './compare.ts';
import { creatable, create, mayNotCreate } from './create.ts';
import type { Pass } from '../contract/pass.ts';
import { releasedWithPlace } from './observe.ts';
import type { Fields, ObjectPlan } from './plan.ts';
import { readOf } from './reading.ts';
import type { CreateIntent, JournalEntry, Step } from '../contract/step.ts';

const recheckMs = 5_000;
const clockSlackMs = 5_000;

/** Goes on with a create whose outcome is not known. */
export function resolveCreate<Spec, Facts, Item>(
  given: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  entry: JournalEntry,
  intent: CreateIntent,
): Step<Facts> {
  const plan = isOfOtherKey(pass, entry) ? withoutMark(given) : given;
  const list = plan.list(pass);
  const snapshot = pass.view.all(list);
  const settledAt = pass.journalSeen.monotonic + entry.deadlineSeconds * 1_000 + pass.horizonMs;
  const since = Math.max(pass.journalSeen.monotonic, Math.min(settledAt, pass.monotonicMs - recheckMs));
  if (snapshot === undefined || snapshot.begunAt < since) {
    return releasedWithPlace(plan, pass, settledAt) ?? readOf(pass, list, since);
  }
  const latestMs =
    snapshot.dateMs === undefined ? undefined : snapshot.dateMs + Math.max(0, settledAt - snapshot.begunAt);
  const sent = { ...intent, latestMs, fields: fieldsSent(plan, pass, entry) };
  const alike = [...snapshot.items].filter(([id, item]) => isAlike(plan, pass, sent, id, item));
  const found = alike.filter(([, item]) => isInTime(plan, sent, item));
  const [first, second] = found;
  // Without a mark ours could only be presumed, and a presumed object is never deleted: leave all of them.
  if (second !== undefined && pass.subject.deleting && plan.markerOf === undefined)
    return leaveAll(plan, intent, found);
  if (second !== undefined) return ambiguous(plan, found);
  if (first !== undefined) return bind(pass, first[0], plan.markerOf === undefined ? 'Presumed' : 'Created');
  if (entry.conflicted !== undefined) {
    return {
      is: 'stall',
      reason: 'Rejected',
      message: `create ${plan.noun} "${intent.name}": ${entry.conflicted}`,
      remember: { journal: undefined, applied: undefined },
    };
  }
  if (snapshot.begunAt < settledAt) return inDoubt(plan, pass, entry, intent);
  const [untimely] = alike;
  if (untimely !== undefined && pass.subject.deleting) return leaveAll(plan, intent, alike);
  if (untimely !== undefined) return outOfTime(plan, untimely[0]);
  if (pass.subject.deleting) return { is: 'release' };
  if (isAnother(plan, pass, intent)) {
    return { is: 'again', remember: { journal: undefined, applied: undefined } };
  }
  const held = mayNotCreate(pass, list.key, intent.name);
  if (held !== undefined) return held;
  return create(plan, pass, intent, entry.attempt + 1);
}

/** True if the call was made with an operator key that was lost since, so its mark is unknown. */
function isOfOtherKey<Spec, Facts>(pass: Pass<Spec, Facts>, { digest }: JournalEntry): boolean {
  return keyOf(digest) !== keyOf(pass.print(null));
}

/** The same kind of object, told by its name and time. */
function withoutMark<Spec, Facts, Item>({
  markerOf: _markerOf,
  ...plan
}: ObjectPlan<Spec, Facts, Item>): ObjectPlan<Spec, Facts, Item> {
  return plan;
}

/** True if the spec now wants another object than the lost call was to create. */
function isAnother<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  { collection, name }: CreateIntent,
): boolean {
  const anew = { ...pass, memory: { ...pass.memory, journal: undefined } };
  return plan.name(anew) !== name || plan.list(anew).key !== collection;
}

/** The fields that the lost call sent; undefined when the spec or a Secret has changed since. */
function fieldsSent<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  { digest }: JournalEntry,
): Fields | undefined {
  const fields = creatable(plan, pass);
  return pass.print(plan.requests.create(pass, fields).body ?? null) === digest ? fields : undefined;
}

/** A lost call, and what it asked for. */
type Sent = CreateIntent & { readonly latestMs: number | undefined; readonly fields: Fields | undefined };

/** True if an object's mark, name and fields fit the lost call. */
function isAlike<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  intent: Sent,
  id: string,
  item: Item,
): boolean {
  if (plan.markerOf !== undefined) return isMarked(plan, pass, item);
  if (!isSameName(plan.nameOf(item), intent.name) || intent.excluded.includes(id)) return false;
  if (pass.claimant(id) !== undefined) return false;
  const seen = plan.observed(item, pass);
  return Object.entries(intent.fields ?? {}).every(
    ([field, value]) => seen[field] === undefined || sameField(field, seen[field], value),
  );
}

/** True if an object was created when the lost call may have arrived, by the service's own clock. */
function isInTime<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, intent: Sent, item: Item): boolean {
  const createdAt = plan.createdAtOf(item);
  if (plan.markerOf !== undefined || createdAt === undefined) return true;
  const earliestMs = intent.serviceTime === undefined ? undefined : Date.parse(intent.serviceTime);
  const isTooEarly = earliestMs !== undefined && createdAt < earliestMs - clockSlackMs;
  const isTooLate = intent.latestMs !== undefined && createdAt > intent.latestMs + clockSlackMs;
  return !isTooEarly && !isTooLate;
}

function inDoubt<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  entry: JournalEntry,
  intent: CreateIntent,
): Step<Facts> {
  const until = new Date(pass.journalSeen.wall + entry.deadlineSeconds * 1_000 + pass.horizonMs).toISOString();
  return {
    is: 'wait',
    reason: 'InDoubt',
    message: `create ${plan.noun} "${intent.name}": the answer was lost; if the object does not show by ${until}, it is created again`,
    retryInMs: recheckMs,
  };
}

/** Stalls on an object that fits but for its time of creation: the service's clocks may differ. */
function outOfTime<Facts>(plan: { noun: string }, id: string): Step<Facts> {
  return {
    is: 'stall',
    reason: 'Ambiguous',
    message: `${plan.noun} ${id} could be the one that a lost call of this resource created, though it was not made at that time; name it in spec.externalId, or delete it and another one is created`,
  };
}

function leaveAll<Facts>(
  plan: { noun: string },
  { name }: CreateIntent,
  found: readonly (readonly [string, unknown])[],
): Step<Facts> {
  const ids = found.map(([id]) => id).toSorted();
  const stays = `${ids.join(', ')} stay in the service: one of them may be the ${plan.noun} "${name}" of a lost call`;
  return { is: 'release', stays };
}
