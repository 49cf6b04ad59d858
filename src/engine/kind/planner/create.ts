/**
 * Creating an object that the service makes a new one of at every call: may it be made now, and by which call?
 *
 * Guarantees: what is there already is found, adopted or reported, and not made again; the intent is in status before the call
 * is sent; one open create per name and collection.
 */
import { adoptionOf, ambiguous, bind, boundTo, isMarked } from './binding.ts';
import { isSameName, rememberedAs } from './compare.ts';
import { denied, lookAfterDenial } from './denial.ts';
import type { Pass } from '../contract/pass.ts';
import { definedOf, type Fields, type ObjectPlan } from './plan.ts';
import { begun } from './sent-fingerprints.ts';
import { readOf } from './reading.ts';
import { mostExcluded, type CreateIntent, type Step } from '../contract/step.ts';

/** Who waits for a name looks again after an eighth of the time that it has waited: many who wait cost little. */
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
  // What shows without an owner may be what another resource is creating: its id is on the way.
  const creating = only === undefined ? undefined : createdElsewhere(pass, list.key, name);
  if (creating !== undefined) return creating;
  if (other !== undefined) return alreadyExists(plan, name, free);
  const taken = only === undefined ? undefined : takenBy(plan, pass, name, only);
  if (taken !== undefined) return taken;
  const held = mayNotCreate(pass, list.key, name);
  if (held !== undefined) return held;
  const lacking = lookAfterDenial(plan, pass, undefined);
  if (lacking?.is === 'unclear') return lacking.step;
  const serviceTime = snapshot.dateMs === undefined ? {} : { serviceTime: new Date(snapshot.dateMs).toISOString() };
  // Those that are there belong to other resources, and are told from ours by that as well.
  const excluded = named.slice(-mostExcluded);
  return create(plan, pass, { collection: list.key, name, excluded, ...serviceTime }, 1);
}

/** What an object of this name means that nobody owns; undefined when a list that lags still shows one that has gone. */
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
  if (adoptionOf(plan, pass) !== 'ByName') return alreadyExists(plan, name, [id]);
  return { is: 'again', remember: { ...boundTo(pass, id, 'Adopted'), applied: undefined } };
}

/**
 * What a list must not be older than to show that there is nothing yet. An object that carries our mark cannot have been made
 * before this process knew of the resource, so that many new ones share a list, whenever each comes to its turn.
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
      meanwhile: { applied: begun(pass.memory.applied, Object.keys(prints), { prints, wallMs: undefined }) },
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

/** What the spec wants without the fields that creation does not take. */
export function creatable<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, pass: Pass<Spec, Facts>): Fields {
  const later = new Set(plan.afterCreation ?? []);
  return Object.fromEntries(
    Object.entries(plan.desired(pass)).filter(([field, value]) => value !== undefined && !later.has(field)),
  );
}

/** What keeps any create back at the moment. */
export function mayNotCreate<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  collection: string,
  name: string,
): Step<Facts> | undefined {
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
  // Where many wait for one name, each of them would write anew whose turn it is.
  const who = pass.isCreatingAsUsual?.(collection, name) === true ? 'another resource' : other;
  const message = `${who} is creating "${name}"; this one takes its turn after it`;
  const { waitsSince = pass.monotonicMs } = pass.notes;
  const retryInMs = Math.min(longestTurnMs, Math.max(firstTurnMs, (pass.monotonicMs - waitsSince) / 8));
  return { is: 'wait', reason: 'CreateInProgress', message, retryInMs, note: { ...pass.notes, waitsSince } };
}

function alreadyExists<Facts>(plan: { noun: string }, name: string, ids: readonly string[]): Step<Facts> {
  const [id] = ids;
  const message =
    ids.length === 1
      ? `${plan.noun} "${name}" exists as ${id} and was not created by this resource; to adopt it, set spec.externalId: ${id}`
      : `${ids.length} objects of the name "${name}" exist that this resource did not create, ${id} among them; to adopt one, set spec.externalId`;
  return { is: 'stall', reason: 'AlreadyExists', message };
}
