/**
 * Creating an object that the service makes a new one of at every call.
 *
 * Guarantees: the intent is in status before the call is sent; one open create per name and collection; after a doubt nothing
 * is sent until the object was found, or the horizon has passed and a complete read that began after it shows none.
 */
import { rememberedAs, sameValue } from './compare.ts';
import { denied, lookAfterDenial } from './denial.ts';
import type { AccountView, Adoption, Pass } from './pass.ts';
import type { Fields, ObjectPlan } from './plan.ts';
import { doubted } from './prints.ts';
import { readOf } from './reading.ts';
import type { CreateIntent, JournalEntry, Memory, Ownership, Step } from './step.ts';

const recheckMs = 5_000;
const clockSlackMs = 5_000;

/** The first step towards an object that has no id yet: find it, adopt it, or create it. */
export function findOrCreate<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Step<Facts> {
  const list = plan.list(pass);
  const walk = pass.view.all(list);
  if (walk === undefined || walk.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
  const items = [...walk.items];
  const marked = items.filter(([id, item]) => isMarked(plan, pass, item) && pass.claimant(id) === undefined);
  const [first, second] = marked;
  if (second !== undefined) return ambiguous(plan, marked);
  if (first !== undefined) return bind(pass, first[0], 'Created');
  const name = plan.name(pass);
  const named = items.filter(([, item]) => plan.nameOf(item) === name).map(([id]) => id);
  const free = named.filter((id) => pass.claimant(id) === undefined);
  const [only, other] = free;
  // What shows without an owner may be what another resource is creating: its id is on the way.
  const creating = only === undefined ? undefined : createdElsewhere(pass, list.key, name);
  if (creating !== undefined) return creating;
  if (only !== undefined) {
    if (other === undefined && adoptionOf(plan, pass) === 'ByName') {
      return { is: 'again', remember: { ...boundTo(pass, only, 'Adopted'), applied: asFound(plan, pass) } };
    }
    return alreadyExists(plan, name, only, free.length);
  }
  const held = mayNotCreate(pass, list.key, name);
  if (held !== undefined) return held;
  const lacking = lookAfterDenial(plan, pass, undefined);
  if (lacking?.is === 'unclear') return lacking.step;
  const serviceTime = walk.dateMs === undefined ? {} : { serviceTime: new Date(walk.dateMs).toISOString() };
  return create(plan, pass, { collection: list.key, name, excluded: named, ...serviceTime }, 1);
}

/** Goes on with a create whose outcome is not known. */
export function resolveCreate<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  entry: JournalEntry,
  intent: CreateIntent,
): Step<Facts> {
  const list = plan.list(pass);
  const walk = pass.view.all(list);
  const settledAt = pass.journalSeen.monotonic + entry.deadlineSeconds * 1_000 + pass.horizonMs;
  const since = Math.max(pass.journalSeen.monotonic, Math.min(settledAt, pass.monotonicMs - recheckMs));
  if (walk === undefined || walk.begunAt < since) return readOf(pass, list, pass.monotonicMs);
  const latestMs = walk.dateMs === undefined ? undefined : walk.dateMs + Math.max(0, settledAt - walk.begunAt);
  const sent = { ...intent, latestMs, fields: fieldsSent(plan, pass, entry) };
  const alike = [...walk.items].filter(([id, item]) => isAlike(plan, pass, sent, id, item));
  const found = alike.filter(([, item]) => isInTime(plan, sent, item));
  const [first, second] = found;
  // What would only be presumed to be ours is not deleted: there is nothing to choose.
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
  if (walk.begunAt < settledAt) return inDoubt(plan, pass, entry, intent);
  const [untimely] = alike;
  if (untimely !== undefined && pass.subject.deleting) return leaveAll(plan, intent, alike);
  if (untimely !== undefined) return outOfTime(plan, untimely[0]);
  if (pass.subject.deleting) return { is: 'release' };
  if (plan.name(pass) !== intent.name) {
    return { is: 'again', remember: { journal: undefined, applied: undefined } };
  }
  const held = mayNotCreate(pass, list.key, intent.name);
  if (held !== undefined) return held;
  return create(plan, pass, intent, entry.attempt + 1);
}

/** What the lost call asked for; undefined when the spec or a Secret has changed since, so that nobody knows any more. */
function fieldsSent<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  { digest }: JournalEntry,
): Fields | undefined {
  const fields = creatable(plan, pass);
  return pass.print(plan.requests.create(pass, fields).body ?? null) === digest ? fields : undefined;
}

/** What the spec wants without the fields that creation does not take. */
export function creatable<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, pass: Pass<Spec, Facts>): Fields {
  const later = new Set(plan.afterCreation ?? []);
  return Object.fromEntries(
    Object.entries(plan.desired(pass)).filter(([field, value]) => value !== undefined && !later.has(field)),
  );
}

function create<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  intent: CreateIntent,
  attempt: number,
): Step<Facts> {
  const fields = creatable(plan, pass);
  const request = plan.requests.create(pass, fields);
  const words = `create ${plan.noun} "${intent.name}"`;
  const stated = definedOf(fields);
  const shownFields = Object.entries(stated).filter(([field]) => plan.hidden?.(field, pass) !== true);
  const remembered = Object.entries(stated).filter(([field]) => rememberedAs(plan, pass, field) !== undefined);
  const prints = Object.fromEntries(remembered.map(([field, value]) => [field, pass.print(value)]));
  const wanted = plan.desired(pass);
  // What creation does not take is still to be sent: until then the spec was not applied as a whole.
  const isWhole = plan.afterCreation?.every((field) => wanted[field] === undefined) ?? true;
  const generation = isWhole ? pass.subject.generation : -1;
  return {
    is: 'call',
    call: {
      request,
      words,
      urgency: 'edit',
      journal: { operation: 'create', attempt, digest: pass.print(request.body ?? null), create: intent },
      refused: (refusal) => denied(plan, pass, words, refusal),
      meanwhile: { applied: doubted(pass.memory.applied, Object.keys(prints)) },
      wrote: (body) => ({
        ...Object.fromEntries(shownFields),
        ...definedOf(plan.requests.shownByCreated?.(body) ?? {}),
      }),
      committed: (body) => {
        const id = plan.requests.idOfCreated(body);
        // An answer that is not about this call, such as one that a proxy has kept, tells nothing of what it did.
        const isOthers = id !== undefined && (intent.excluded.includes(id) || pass.claimant(id) !== undefined);
        if (id === undefined || isOthers) return undefined;
        return { ...boundTo(pass, id, 'Created'), applied: { generation, prints } };
      },
    },
  };
}

/** Fields without those that are not stated. */
export function definedOf(fields: Fields): Readonly<Record<string, Exclude<Fields[string], undefined>>> {
  const rows = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [[field, value] as const],
  );
  return Object.fromEntries(rows);
}

/** What counts as applied to an object that is taken over: where drift is only reported, all that the service shows of it. */
export function asFound<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Memory<Facts>['applied'] {
  if (plan.lifecycle(pass.spec).drift !== 'Report') return undefined;
  const rows = Object.entries(definedOf(plan.desired(pass))).filter(([field]) => plan.hidden?.(field, pass) !== true);
  return { generation: -1, prints: Object.fromEntries(rows.map(([field, value]) => [field, pass.print(value)])) };
}

/** What to remember when an id is bound. */
export function boundTo<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  id: string,
  ownership: Ownership,
): Partial<Memory<Facts>> {
  const { endpoint, accountId } = pass.account;
  return { id, ownership, binding: { endpoint, accountId }, journal: undefined };
}

function bind<Spec, Facts>(pass: Pass<Spec, Facts>, id: string, ownership: Ownership): Step<Facts> {
  return { is: 'again', remember: boundTo(pass, id, ownership) };
}

function isMarked<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  item: Item,
): boolean {
  return plan.markerOf !== undefined && plan.markerOf(item) === pass.marker;
}

/** A lost call, and what it asked for. */
type Sent = CreateIntent & { readonly latestMs: number | undefined; readonly fields: Fields | undefined };

/** Whether an object may be the one that the lost call made, going by what it is. */
function isAlike<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  intent: Sent,
  id: string,
  item: Item,
): boolean {
  if (plan.markerOf !== undefined) return isMarked(plan, pass, item);
  if (plan.nameOf(item) !== intent.name || intent.excluded.includes(id)) return false;
  if (pass.claimant(id) !== undefined) return false;
  const seen = plan.observed(item, pass);
  return Object.entries(intent.fields ?? {}).every(
    ([field, value]) => seen[field] === undefined || sameValue(seen[field], value),
  );
}

/** Whether it was made when the lost call may have arrived; times are compared by the service's own clock, and only by it. */
function isInTime<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, intent: Sent, item: Item): boolean {
  const createdAt = plan.createdAtOf(item);
  if (plan.markerOf !== undefined || createdAt === undefined) return true;
  const earliestMs = intent.serviceTime === undefined ? undefined : Date.parse(intent.serviceTime);
  const isTooEarly = earliestMs !== undefined && createdAt < earliestMs - clockSlackMs;
  const isTooLate = intent.latestMs !== undefined && createdAt > intent.latestMs + clockSlackMs;
  return !isTooEarly && !isTooLate;
}

/** What keeps any create back at the moment. */
function mayNotCreate<Spec, Facts>(pass: Pass<Spec, Facts>, collection: string, name: string): Step<Facts> | undefined {
  if (pass.account.frozen !== undefined) {
    return { is: 'wait', reason: 'VisibilityLost', message: pass.account.frozen };
  }
  if (pass.quarantineMs > 0) {
    return {
      is: 'wait',
      reason: 'TakeOver',
      message:
        'this operator has just taken over; nothing is created until calls of its predecessor can no longer arrive',
      retryInMs: pass.quarantineMs,
    };
  }
  return createdElsewhere(pass, collection, name);
}

/** Waits while another resource is creating an object of this name. */
function createdElsewhere<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  collection: string,
  name: string,
): Step<Facts> | undefined {
  const other = pass.creating(collection, name);
  if (other === undefined) return undefined;
  return {
    is: 'wait',
    reason: 'CreateInProgress',
    message: `${other} is creating "${name}"; this one goes next`,
    retryInMs: 2_000,
  };
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

function alreadyExists<Facts>(plan: { noun: string }, name: string, id: string, count: number): Step<Facts> {
  const message =
    count === 1
      ? `${plan.noun} "${name}" exists as ${id} and was not created by this resource; to adopt it, set spec.externalId: ${id}`
      : `${count} objects of the name "${name}" exist that this resource did not create, ${id} among them; to adopt one, set spec.externalId`;
  return { is: 'stall', reason: 'AlreadyExists', message };
}

function ambiguous<Facts>(plan: { noun: string }, found: readonly (readonly [string, unknown])[]): Step<Facts> {
  const ids = found.map(([id]) => id).toSorted();
  return {
    is: 'stall',
    reason: 'Ambiguous',
    message: `${ids.length} objects could be the ${plan.noun} that this resource created: ${ids.slice(0, 5).join(', ')}; name the right one in spec.externalId`,
  };
}

/** It fits but for its time, and the clock that dates the answers need not be the one that dates the objects. */
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

/** How far this object may take over what it did not create: its own wish, capped by the account. */
export function adoptionOf<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, pass: Pass<Spec, Facts>): Adoption {
  return adoptionWithin(plan.lifecycle(pass.spec).adoption, pass.account);
}

/** How far a spec may take over what it did not create, as the account allows it. */
export function adoptionWithin(wish: Adoption = 'ById', account: Pick<AccountView, 'adoption'>): Adoption {
  const rank = { Never: 0, ById: 1, ByName: 2 } as const;
  return rank[wish] < rank[account.adoption] ? wish : account.adoption;
}
