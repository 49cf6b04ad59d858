/**
 * Creates an object at most once, although the service makes a new one at every call.
 *
 * Guarantees: an existing object is found, adopted or reported, never duplicated; the intent is in status before the call;
 * one open create per name and collection.
 */
import { adoptionOf, ambiguous, bind, boundTo, isMarked, notGranted } from './binding.ts';
import { isSameName, rememberedAs } from './compare.ts';
import { denied, lookAfterDenial, namesake } from './denial.ts';
import type { Pass } from '../contract/pass.ts';
import { sightLost, takingOver } from './observe.ts';
import { definedOf, type Fields, type ObjectPlan } from './plan.ts';
import { begun } from './sent-fingerprints.ts';
import { readOf } from './reading.ts';
import { mostExcluded, type CreateIntent, type Step } from '../contract/step.ts';

/**
 * An object that waits for a name looks again after an eighth of its waiting time, so that many waiting objects cost
 * little.
 */
const firstTurnMs = 2_000;
const longestTurnMs = 30_000;

/** The first step towards an object that has no id yet: find it, adopt it, or create it. */
export function findOrCreate<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Step<Facts> {
  const list = plan.list(pass);
  const snapshot = pass.view.all(list);
  const since = emptySince(plan, pass);
  if (snapshot === undefined || snapshot.begunAt < since) return readOf(pass, list, since);
  const items = [...snapshot.items];
  const marked = items.filter(([id, item]) => isMarked(plan, pass, item) && pass.claimant(id) === undefined);
  const [first, second] = marked;
  if (second !== undefined) return ambiguous(plan, marked);
  if (first !== undefined) return bind(pass, first[0], 'Created');
  const name = plan.name(pass);
  const named = items.filter(([, item]) => isSameName(plan.nameOf(item), name)).map(([id]) => id);
  if (named.length > 0 && snapshot.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
  const free = named.filter((id) => pass.claimant(id) === undefined);
  const [only, other] = free;
  // An object without an owner may be the one that another resource is creating right now.
  const creating = only === undefined ? undefined : createdElsewhere(pass, list.key, name);
  if (creating !== undefined) return creating;
  if (other !== undefined) return alreadyExists(plan, pass, name, free);
  const taken = only === undefined ? undefined : takenBy(plan, pass, name, only);
  if (taken !== undefined) return taken;
  const held = mayNotCreate(pass, list.key, name);
  if (held !== undefined) return held;
  const lacking = lookAfterDenial(plan, pass, undefined);
  if (lacking?.is === 'unclear') return lacking.step;
  const serviceTime = snapshot.dateMs === undefined ? {} : { serviceTime: new Date(snapshot.dateMs).toISOString() };
  // Existing objects of this name belong to other resources: exclude them when looking for ours.
  const excluded = named.slice(-mostExcluded);
  return create(plan, pass, { collection: list.key, name, excluded, ...serviceTime }, 1);
}

/**
 * The step for an existing object of this name without an owner; undefined when it is gone and only a lagging list shows
 * it.
 */
function takenBy<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  name: string,
  id: string,
): Step<Facts> | undefined {
  const single = plan.single(id);
  const shown = pass.view.one(single, id);
  if (shown === undefined || shown.snapshot.begunAt < pass.askedAt) return readOf(pass, single, pass.askedAt);
  if (shown.item === undefined) return undefined;
  if (adoptionOf(plan, pass) !== 'ByName') return alreadyExists(plan, pass, name, [id]);
  return { is: 'again', remember: { ...boundTo(pass, id, 'Adopted'), applied: undefined } };
}

/**
 * How new a list must be to show that nothing exists yet. An object with our mark cannot be older than this process's
 * knowledge of the resource, so many new resources can share one list.
 */
function emptySince<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, pass: Pass<Spec, Facts>): number {
  return plan.markerOf === undefined ? pass.askedAt : Math.min(pass.askedAt, pass.newSince ?? pass.askedAt);
}

/** The call that creates the object, with all that is needed to find it again when its answer is lost. */
export function create<Spec, Facts, Item>(
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
  // Fields that creation does not take are sent later, so the generation is not fully applied yet.
  const isWhole = plan.afterCreation?.every((field) => wanted[field] === undefined) ?? true;
  const generation = isWhole ? pass.subject.generation : -1;
  return {
    is: 'call',
    call: {
      request,
      words,
      urgency: 'edit',
      journal: { operation: 'create', attempt, digest: pass.print(request.body ?? null), create: intent },
      obstacle: namesake(plan, pass),
      refused: (refusal) => denied(plan, pass, words, refusal),
      meanwhile: {
        applied: begun(pass.memory.applied, Object.keys(prints), {
          prints,
          wallMs: undefined,
          horizonMs: pass.horizonMs,
        }),
      },
      wrote: (body) => ({
        ...Object.fromEntries(shownFields),
        ...definedOf(plan.requests.shownByCreated?.(body) ?? {}),
      }),
      committed: (body) => {
        const id = plan.requests.idOfCreated(body);
        // An answer that is not about this call, such as one from a proxy's cache, proves nothing.
        const isOthers = id !== undefined && (intent.excluded.includes(id) || pass.claimant(id) !== undefined);
        if (id === undefined || isOthers) return undefined;
        return { ...boundTo(pass, id, 'Created'), applied: { generation, prints } };
      },
    },
  };
}

/** The wanted fields that creation takes. */
export function creatable<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, pass: Pass<Spec, Facts>): Fields {
  const later = new Set(plan.afterCreation ?? []);
  return Object.fromEntries(
    Object.entries(plan.desired(pass)).filter(([field, value]) => value !== undefined && !later.has(field)),
  );
}

/** The step that holds back every create at the moment; undefined when none. */
export function mayNotCreate<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  collection: string,
  name: string,
): Step<Facts> | undefined {
  return sightLost(pass) ?? takingOver(pass, 'nothing is created') ?? createdElsewhere(pass, collection, name);
}

/** Waits while another resource is creating an object of this name. */
function createdElsewhere<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  collection: string,
  name: string,
): Step<Facts> | undefined {
  const other = pass.creating(collection, name);
  if (other === undefined) return undefined;
  const message = `${other} is creating "${name}"; this one takes its turn after it`;
  const { waitsSince = pass.monotonicMs } = pass.notes;
  const retryInMs = Math.min(longestTurnMs, Math.max(firstTurnMs, (pass.monotonicMs - waitsSince) / 8));
  return { is: 'wait', reason: 'CreateInProgress', message, retryInMs, note: { ...pass.notes, waitsSince } };
}

function alreadyExists<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  name: string,
  ids: readonly string[],
): Step<Facts> {
  const [id] = ids;
  const what =
    ids.length === 1
      ? `${plan.noun} "${name}" exists as ${id} and was not created by this resource`
      : `${ids.length} objects of the name "${name}" exist that this resource did not create, ${id} among them`;
  const wish = plan.lifecycle(pass.spec).adoption;
  const no = pass.account.adoption === 'Never' ? notGranted(what, pass.account, wish) : undefined;
  if (no !== undefined) return wish === 'ByName' ? no : { ...no, reason: 'AlreadyExists' };
  const how = ids.length === 1 ? `it, set spec.externalId: ${id}` : 'one, set spec.externalId';
  return { is: 'stall', reason: 'AlreadyExists', message: `${what}; to adopt ${how}` };
}
