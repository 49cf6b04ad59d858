/**
 * Finds, adopts or creates the object of a resource in the service. The object is created at most once, although the
 * service would create one more object for each call.
 *
 * Guarantees: an existing object is found, adopted or reported, never duplicated. A create call is written to status
 * before it is sent. For each name in a list of the service there is at most one create call whose outcome is unknown.
 */
import { definedIn } from '../../../base/json.ts';
import { isSameName, rememberedAs, begun, keyIdOf, fingerprintsOf, sameField } from './compare.ts';
import {
  denied,
  doubtPauseMs,
  lookAfterDenial,
  namesake,
  overAt,
  readOf,
  serviceTimeOf,
  releasedWithPlace,
  frozenOrTakingOver,
} from './observe.ts';
import type { Snapshot } from '../../ports.ts';
import type { Pass, AccountView, Adoption } from '../contract/pass.ts';
import { type Fields, type ObjectPlan } from './plan.ts';
import {
  mostExcluded,
  type CreateIntent,
  type Step,
  type Memory,
  type Ownership,
  type Verdict,
  type JournalEntry,
} from '../contract/step.ts';

/**
 * The pause between two checks of a resource that waits because another resource is creating an object of the same
 * name.
 */
const turnMs = 5_000;

/**
 * Decides the first step for a resource that has no id yet: find its object, adopt an existing object, or create the
 * object.
 */
export function findOrCreate(plan: ObjectPlan, pass: Pass): Step {
  const list = plan.list(pass);
  const snapshot = pass.view.all(list);
  const since = emptySince(plan, pass);
  if (snapshot === undefined || snapshot.begunAt < since) return readOf(pass, list, since);
  const marked = idsWhere(snapshot, (item, id) => isMarked(plan, pass, item) && pass.claimant(id) === undefined);
  const [first, second] = marked;
  if (second !== undefined) return ambiguous(plan, marked);
  if (first !== undefined) return bind(pass, first, 'Created');
  const name = plan.name(pass);
  const named = idsWhere(snapshot, (item) => isSameName(plan.nameOf(item), name));
  if (named.length > 0 && snapshot.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
  const free = named.filter((id) => pass.claimant(id) === undefined);
  const [only, other] = free;
  // An object in the service that no resource owns may be the result of a create call that another resource is making
  // right now. So wait until that call has ended.
  const creating = only === undefined ? undefined : createdElsewhere(pass, list.key, name);
  if (creating !== undefined) return creating;
  if (other !== undefined) return alreadyExists(plan, pass, name, free);
  const taken = only === undefined ? undefined : takenBy(plan, pass, name, only);
  if (taken !== undefined) return taken;
  const waits = mayNotCreate(pass, list.key, name);
  if (waits !== undefined) return waits;
  const lacking = lookAfterDenial(plan, pass);
  if (lacking?.is === 'unclear') return lacking.step;
  // The existing objects of this name belong to other resources. So if the outcome of the create call stays unknown,
  // none of these objects counts as its result.
  const excluded = named.slice(-mostExcluded);
  return create(plan, pass, { collection: list.key, name, excluded, ...serviceTimeOf(snapshot) }, 1);
}

/** Returns the ids of the objects in a list that pass a test. */
export function idsWhere({ items }: Snapshot, test: (item: unknown, id: string) => boolean): readonly string[] {
  const ids: string[] = [];
  items.forEach((item, id) => {
    if (test(item, id)) ids.push(id);
  });
  return ids;
}

/**
 * Decides what to do about an object in the list that has the wanted name and belongs to no resource. Returns undefined
 * if a read of the object itself shows that the object is gone, so that the list is outdated.
 */
function takenBy(plan: ObjectPlan, pass: Pass, name: string, id: string): Step | undefined {
  const single = plan.single(id);
  const shown = pass.view.one(single, id);
  if (shown === undefined || shown.snapshot.begunAt < pass.askedAt) return readOf(pass, single, pass.askedAt);
  if (shown.item === undefined) return undefined;
  if (adoptionWithin(pass.account, plan.lifecycle(pass.spec).adoption) !== 'ByName')
    return alreadyExists(plan, pass, name, [id]);
  return { is: 'again', remember: { ...boundTo(pass, id, 'Adopted'), applied: undefined } };
}

/**
 * Returns a time. Only a list that was read at or after this time proves that nothing was created for this resource.
 * For a kind with ownership marks, it is the time at which this process first saw the resource, if known, so that one
 * list suffices for many new resources. Otherwise it is the time since which the resource waits for a read.
 */
function emptySince(plan: ObjectPlan, pass: Pass): number {
  return plan.markOf === undefined ? pass.askedAt : Math.min(pass.askedAt, pass.newSince ?? pass.askedAt);
}

/**
 * Builds the call that creates the object. The journal entry of the call has the data by which the object is found if
 * the outcome of the call is unknown.
 */
function create(plan: ObjectPlan, pass: Pass, intent: CreateIntent, attempt: number): Step {
  const fields = creatable(plan, pass);
  const request = plan.requests.create(pass, fields);
  const words = `create ${plan.noun} "${intent.name}"`;
  const stated = definedIn(fields);
  const shownFields = Object.entries(stated).filter(([field]) => plan.hidden?.(field, pass) !== true);
  const remembered = Object.entries(stated).filter(([field]) => rememberedAs(plan, pass, field) !== undefined);
  const fingerprints = fingerprintsOf(pass, Object.fromEntries(remembered));
  const wanted = plan.desired(pass);
  // Fields that the create call does not accept are sent by a later update. Until then, the spec is not completely
  // applied.
  const isWhole = plan.afterCreation?.every((field) => wanted[field] === undefined) ?? true;
  const generation = isWhole ? pass.subject.generation : -1;
  return {
    is: 'call',
    call: {
      request,
      words,
      urgency: 'edit',
      journal: { operation: 'create', attempt, digest: pass.fingerprint(request.body ?? null), create: intent },
      obstacle: { read: plan.list(pass), shown: () => namesake(plan, pass) },
      refused: (refusal, answeredAt) => denied(plan, pass, words, refusal, answeredAt),
      whileInFlight: {
        applied: begun(pass.memory.applied, Object.keys(fingerprints), {
          fingerprints,
          wallMs: undefined,
          horizonMs: pass.horizonMs,
        }),
      },
      wrote: (body) => ({
        ...Object.fromEntries(shownFields),
        ...definedIn(plan.requests.shownByCreated?.(body) ?? {}),
      }),
      committed: (body) => {
        const id = plan.requests.idOfCreated(body);
        // A response may contain the id of a different object, for example from the cache of a proxy. Such a response
        // proves nothing.
        const isOthers = id !== undefined && (intent.excluded.includes(id) || pass.claimant(id) !== undefined);
        if (id === undefined || isOthers) return undefined;
        return { ...boundTo(pass, id, 'Created'), applied: { generation, fingerprints } };
      },
    },
  };
}

/**
 * Returns the fields of the spec that a create call can set. A new object has nothing to clear, so a field that is no
 * longer in the spec is left out, even if an earlier create call sent it.
 */
function creatable(plan: ObjectPlan, pass: Pass): Fields {
  const anew = { ...pass, memory: { ...pass.memory, applied: undefined } };
  const later = new Set(plan.afterCreation ?? []);
  return Object.fromEntries(Object.entries(definedIn(plan.desired(anew))).filter(([field]) => !later.has(field)));
}

/** Returns a step that says why nothing may be created yet; undefined when a create call may be sent. */
function mayNotCreate(pass: Pass, collection: string, name: string): Step | undefined {
  return frozenOrTakingOver(pass, 'nothing is created') ?? createdElsewhere(pass, collection, name);
}

/** Returns a `wait` step while another resource is creating an object of the same name; otherwise undefined. */
function createdElsewhere(pass: Pass, collection: string, name: string): Step | undefined {
  const other = pass.creating(collection, name);
  if (other === undefined) return undefined;
  const message = `${other} is creating "${name}"; this resource waits until that create call has ended`;
  return { is: 'wait', reason: 'CreateInProgress', message, retryInMs: turnMs };
}

function alreadyExists(plan: ObjectPlan, pass: Pass, name: string, ids: readonly string[]): Step {
  const [id] = ids;
  const what =
    ids.length === 1
      ? `${plan.noun} "${name}" exists in the service with the id ${id} and was not created by this resource`
      : `the service has ${ids.length} objects named "${name}" that this resource did not create, such as ${id}`;
  const wish = plan.lifecycle(pass.spec).adoption;
  const no = pass.account.adoption === 'Never' ? notGranted(what, pass.account, wish) : undefined;
  if (no !== undefined) return wish === 'ByName' ? no : { ...no, reason: 'AlreadyExists' };
  const how =
    ids.length === 1
      ? `to adopt this object, set spec.externalId: ${id}`
      : 'to adopt one of these objects, set spec.externalId to its id';
  const allow = wish === 'Never' ? ', and set spec.lifecycle.adoption to ById' : '';
  return { is: 'stall', reason: 'AlreadyExists', message: `${what}; ${how}${allow}` };
}

// ---- binding an object -----------------------------------------------------------------------------------------
//
// Binds a resource to an object of the service: by the object's id, by its ownership mark, or by adoption.
//
// Why: docs/design/ownership.md#a-resource-needs-permission-to-adopt-an-object-that-its-namespace-did-not-create

/**
 * Returns the values to store in status when a resource is bound to an object of the service: the object's id, its
 * account, and whether the resource created it. The journal entry is removed.
 */
export function boundTo(pass: Pass, id: string, ownership: Ownership): Partial<Memory<never>> {
  const { endpoint, accountId } = pass.account;
  return { id, ownership, binding: { endpoint, accountId }, journal: undefined };
}

/** Returns the step that binds the object with this id to the resource. */
export function bind(pass: Pass, id: string, ownership: Ownership): Step<never> {
  return { is: 'again', remember: boundTo(pass, id, ownership) };
}

/** True when an object in the service carries the ownership mark of this resource. */
export function isMarked(plan: ObjectPlan, pass: Pass, item: unknown): boolean {
  return plan.markOf !== undefined && plan.markOf(item) === pass.mark;
}

/**
 * Returns a `stall` step when several objects in the service may be the one that this resource created. A person has to
 * choose one of them.
 */
function ambiguous({ noun }: ObjectPlan, ids: readonly string[]): Step {
  const message = `${ids.length} objects could be the ${noun} that this resource created: ${ids.toSorted().slice(0, 5).join(', ')}; set spec.externalId to the id of the right object`;
  return { is: 'stall', reason: 'Ambiguous', message };
}

/**
 * Returns which existing objects a resource may adopt: those that its spec asks for, but no more than the account
 * allows.
 */
export function adoptionWithin(account: Pick<AccountView, 'adoption'>, wish: Adoption = 'ById'): Adoption {
  const rank = { Never: 0, ById: 1, ByName: 2 } as const;
  return rank[wish] < rank[account.adoption] ? wish : account.adoption;
}

/**
 * Returns a `stall` step for a resource that must not adopt any object, because its spec or its account forbids
 * adoption. Returns undefined if the resource may adopt an object that it names by id.
 */
export function notGranted(
  what: string,
  account: Pick<AccountView, 'adoption'>,
  wish?: Adoption,
): Extract<Verdict<never>, { is: 'stall' }> | undefined {
  if (adoptionWithin(account, wish) !== 'Never') return undefined;
  const message = `${what}, but adoption is not allowed; spec.lifecycle.adoption must allow ById in the account and in this resource`;
  return { is: 'stall', reason: 'AdoptionNotAllowed', message };
}

/**
 * True if an object that was read by its id belongs to this account. A token may see the objects of several accounts.
 * If the object names its account, this name decides. Otherwise the object belongs to the account whose list contains
 * the object.
 */
export function isOfAccount(
  plan: ObjectPlan,
  pass: Pass,
  found: { readonly id: string; readonly item: unknown },
): boolean {
  const listed = pass.view.one(plan.list(pass), found.id)?.item;
  const item = listed ?? found.item;
  const named = item === undefined ? undefined : plan.accountOf?.(item);
  return named === undefined ? listed !== undefined : named === pass.account.accountId;
}

// ---- a create in doubt -----------------------------------------------------------------------------------------
//
// Handles a create call whose outcome is unknown: finds the object that the call created, or proves that the call
// created nothing.
//
// Guarantees: nothing is sent until the object is found, or until a complete list does not contain such an object. The read
// of that list must begin when the call can no longer arrive. If several objects fit the call, or if only the creation time
// of an object does not fit, none of these objects is bound or deleted.
//
// Why: docs/design/at-most-once.md#an-object-is-the-result-of-a-lost-create-only-if-name-content-and-time-fit

const clockSlackMs = 5_000;

/** Decides the next step for a create call whose outcome is unknown. */
export function resolveCreate(plan: ObjectPlan, pass: Pass, entry: JournalEntry, intent: CreateIntent): Step {
  const list = plan.list(pass);
  const snapshot = pass.view.all(list);
  const { settledAt, since, inWords } = overAt(pass, entry);
  if (snapshot === undefined || snapshot.begunAt < since) {
    return releasedWithPlace(plan, pass, settledAt) ?? readOf(pass, list, since);
  }
  const latestMs =
    snapshot.dateMs === undefined ? undefined : snapshot.dateMs + Math.max(0, settledAt - snapshot.begunAt);
  const sent = { ...intent, latestMs, fields: fieldsSent(plan, pass, entry) };
  // If the operator's key was lost since the call, the ownership mark of the created object is unknown. Then the object
  // is recognised by its name and creation time, as for kinds without marks.
  const byMark = plan.markOf !== undefined && keyIdOf(entry.digest) === keyIdOf(pass.fingerprint(null));
  const alike = idsWhere(snapshot, (item, id) =>
    byMark ? isMarked(plan, pass, item) : isAlike(plan, pass, sent, id, item),
  );
  const found = byMark ? alike : alike.filter((id) => isInTime(plan, sent, snapshot.items.get(id)));
  const [first, second] = found;
  const { deleting } = pass.subject;
  // Without an ownership mark it is unknown which of these objects the resource created. So delete none of them.
  if (second !== undefined) return deleting && !byMark ? leaveAll(plan, intent, found) : ambiguous(plan, found);
  if (first !== undefined) return bind(pass, first, byMark ? 'Created' : 'Presumed');
  const words = `create ${plan.noun} "${intent.name}"`;
  const remember = { journal: undefined, applied: undefined };
  if (entry.conflicted !== undefined) {
    return { is: 'stall', reason: 'Rejected', message: `${words}: ${entry.conflicted}`, remember };
  }
  if (snapshot.begunAt < settledAt) {
    const next = afterDoubt(plan, pass, intent);
    const message = `${words}: the outcome is not known; if the service does not show the object by ${inWords}, ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: doubtPauseMs };
  }
  // Only the creation times of these objects do not fit.
  if (alike.length > 0) return deleting ? leaveAll(plan, intent, alike) : outOfTime(plan, alike);
  if (deleting) return { is: 'release' };
  if (isAnother(plan, pass, intent)) return { is: 'again', remember };
  return mayNotCreate(pass, list.key, intent.name) ?? create(plan, pass, intent, entry.attempt + 1);
}

/** Says what happens next if a create call with an unknown outcome proves to have had no effect. */
function afterDoubt(plan: ObjectPlan, pass: Pass, intent: CreateIntent): string {
  if (pass.subject.deleting) return 'there is nothing to delete';
  if (plan.externalId(pass.spec) !== undefined) return 'the resource is bound to the object that spec.externalId names';
  return isAnother(plan, pass, intent)
    ? 'the operator creates the object that the spec now describes'
    : 'the operator sends the create call again';
}

/** True if the spec has changed since a create call with an unknown outcome, and now asks for a different object. */
function isAnother(plan: ObjectPlan, pass: Pass, { collection, name }: CreateIntent): boolean {
  const anew = { ...pass, memory: { ...pass.memory, journal: undefined } };
  return plan.name(anew) !== name || plan.list(anew).key !== collection;
}

/**
 * Returns the fields of a create call whose outcome is unknown. Returns undefined when the spec or a Secret has changed
 * since then.
 */
function fieldsSent(plan: ObjectPlan, pass: Pass, { digest }: JournalEntry): Fields | undefined {
  const fields = creatable(plan, pass);
  return pass.fingerprint(plan.requests.create(pass, fields).body ?? null) === digest ? fields : undefined;
}

/**
 * The data of a create call whose outcome is unknown. `fields` is undefined if the spec or a Secret has changed since
 * the call.
 */
type LostCreate = CreateIntent & { readonly latestMs: number | undefined; readonly fields: Fields | undefined };

/** True if an object can be the result of a create call with an unknown outcome, judging by its name and fields. */
function isAlike(plan: ObjectPlan, pass: Pass, intent: LostCreate, id: string, item: unknown): boolean {
  if (!isSameName(plan.nameOf(item), intent.name) || intent.excluded.includes(id)) return false;
  if (pass.claimant(id) !== undefined) return false;
  const seen = plan.observed(item, pass);
  return Object.entries(intent.fields ?? {}).every(
    ([field, value]) => seen[field] === undefined || sameField(field, seen[field], value),
  );
}

/**
 * True if an object can be the result of a create call with an unknown outcome, judging by its creation time. All times
 * are from the service's own clock.
 */
function isInTime(plan: ObjectPlan, intent: LostCreate, item: unknown): boolean {
  const createdAt = plan.createdAtOf(item);
  if (createdAt === undefined) return true;
  const earliestMs = intent.serviceTime === undefined ? undefined : Date.parse(intent.serviceTime);
  const isTooEarly = earliestMs !== undefined && createdAt < earliestMs - clockSlackMs;
  const isTooLate = intent.latestMs !== undefined && createdAt > intent.latestMs + clockSlackMs;
  return !isTooEarly && !isTooLate;
}

/**
 * Returns a `stall` step because of an object that can be the result of a create call with an unknown outcome, except
 * that its creation time does not fit. The time alone decides nothing, because the service may have several clocks that
 * differ.
 */
function outOfTime({ noun }: { noun: string }, [id = '']: readonly string[]): Step {
  const message = `${noun} ${id} may be the result of a create call whose outcome is not known, but its creation time does not fit that call; to use this object, set spec.externalId to this id; to get a new one, delete this object in the service`;
  return { is: 'stall', reason: 'Ambiguous', message };
}

/**
 * Ends the deletion of a resource whose create call has an unknown outcome. All objects that the call may have created
 * stay in the service, because it is unknown whether it created one of them, and which.
 */
function leaveAll({ noun }: { noun: string }, { name }: CreateIntent, ids: readonly string[]): Step {
  const stays = `${ids.toSorted().join(', ')} stay in the service, because a create call whose outcome is not known may have created one of these objects as ${noun} "${name}"`;
  return { is: 'release', stays };
}
