/**
 * The decision shared by every kind whose object has plain create, update and delete: what is the next single step?
 *
 * Order: deletion, an open create, the binding (confirmed, adopted or made), the object's absence, its difference from the
 * spec, and what the kind itself still wants. Everything it knows comes in with the pass, so the same pass gives the same step.
 */
import type { Json } from '../ports.ts';
import { leftoverOf, meanwhile, only, part, whole } from './applied.ts';
import { compare, type Difference } from './compare.ts';
import { adoptionOf, asFound, boundTo, findOrCreate, resolveCreate } from './create.ts';
import { denied, lookAfterDenial } from './denial.ts';
import type { Pass } from './pass.ts';
import type { ObjectPlan } from './plan.ts';
import { readOf } from './reading.ts';
import { planRemoval } from './removal.ts';
import { look } from './sight.ts';
import type { Showing, Step } from './step.ts';

/** The next step for an object with plain create, update and delete. */
export function planObject<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Step<Facts> {
  if (pass.subject.deleting) return planRemoval(plan, pass);
  const refused = plan.admit?.(pass);
  if (refused !== undefined) return refused;
  const externalId = plan.externalId(pass.spec);
  if (externalId !== undefined && (pass.memory.id !== externalId || pass.memory.ownership === 'Presumed')) {
    return bindNamed(plan, pass, externalId);
  }
  const { journal, id } = pass.memory;
  if (journal?.create !== undefined) return resolveCreate(plan, pass, journal, journal.create);
  if (id === undefined) return findOrCreate(plan, pass);
  const claimant = pass.claimant(id);
  if (claimant?.goesFirst === true) return claimed(plan, id, claimant.name);
  return keepMatched(plan, pass, id);
}

/** What status shows of such an object. */
export function showObject<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Showing<Facts> {
  const { id } = pass.memory;
  const found = id === undefined ? undefined : look(plan, pass, id);
  const leftover = leftoverOf(plan, pass);
  if (found?.is !== 'seen') {
    const unseen = found?.is === 'unclear';
    return { unseen, facts: pass.memory.facts, conditions: [], drift: [], unverified: [], leftover };
  }
  const difference = compare(plan, pass, found.seen.fields);
  return {
    facts: plan.facts(pass, found.seen),
    conditions: plan.conditions?.(pass, found.seen) ?? [],
    drift: difference.drift,
    unverified: difference.hidden.toSorted(),
    leftover,
    notices: plan.notices?.(pass, found.seen) ?? [],
  };
}

function claimed<Facts>(plan: { noun: string }, id: string, name: string): Step<Facts> {
  return {
    is: 'stall',
    reason: 'Claimed',
    message: `${plan.noun} ${id} belongs to ${name}, which is older; one object in the service has one owner`,
  };
}

/** Binds the object that `spec.externalId` names: adopts it, or confirms that a presumed one is ours. */
function bindNamed<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
): Step<Facts> {
  const claimant = pass.claimant(id);
  if (claimant?.goesFirst === true) return claimed(plan, id, claimant.name);
  if (pass.memory.id === id) return { is: 'again', remember: boundTo(pass, id, 'Created') };
  if (adoptionOf(plan, pass) === 'Never') {
    const message = `spec.externalId names ${plan.noun} ${id}, and adoption is Never here; the account's spec.adoption must allow ById`;
    return { is: 'stall', reason: 'AdoptionNotAllowed', message };
  }
  const found = look(plan, pass, id);
  if (found.is === 'unclear') return found.step;
  if (found.is === 'gone') {
    return {
      is: 'stall',
      reason: 'NotFound',
      message: `spec.externalId names ${plan.noun} ${id}, which does not exist`,
    };
  }
  const { create } = pass.memory.journal ?? {};
  const ownership = create === undefined || create.excluded.includes(id) ? 'Adopted' : 'Created';
  const before = pass.memory.id;
  const sent = before === undefined ? pass.memory.applied : undefined;
  const applied = ownership === 'Created' ? sent : asFound(plan, pass);
  const facts = plan.factsOfNext(pass.memory.facts);
  return {
    is: 'again',
    remember: { ...boundTo(pass, id, ownership), applied, facts },
    ...(before !== undefined && {
      stays: `${plan.noun} ${before} stays in the service: spec.externalId names ${id} now`,
    }),
  };
}

function keepMatched<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
): Step<Facts> {
  const found = afterDoubt(plan, pass, id) ?? look(plan, pass, id);
  if (found.is === 'unclear') return found.step;
  if (found.is === 'gone') return gone(plan, pass, id);
  const unread = plan.alsoReads?.(pass, id).find((read) => pass.view.all(read) === undefined);
  if (unread !== undefined) return readOf(pass, unread, Number.NEGATIVE_INFINITY);
  const difference = compare(plan, pass, found.seen.fields);
  const fixed = plan.fixed?.find((field) => field in difference.differing);
  if (fixed !== undefined) {
    const message = `${plan.noun} ${id} has another ${fixed} than the spec, and the service cannot change it`;
    return { is: 'stall', reason: 'Immutable', message };
  }
  const reports = plan.lifecycle(pass.spec).drift === 'Report';
  const changed = { ...(!reports && difference.differing), ...difference.unsent };
  if (Object.keys(changed).length > 0) {
    const lacking = lookAfterDenial(plan, pass, id);
    if (lacking?.is === 'unclear') return lacking.step;
    return lacking === undefined ? correct(plan, pass, id, difference, changed) : gone(plan, pass, id);
  }
  const { applied } = pass.memory;
  if (difference.rerecord || applied?.generation !== pass.subject.generation) {
    return { is: 'again', remember: { applied: whole(plan, pass, difference) }, note: {} };
  }
  const next = plan.settle?.(pass, found.seen) ?? { is: 'ready' };
  if (next.is !== 'ready') return next;
  const drifted = Object.keys(difference.differing);
  if (drifted.length === 0) return { ...next, note: {} };
  const message = `differs from the spec in ${drifted.join(', ')}; drift is only reported`;
  return { is: 'ready', reason: 'Observed', message, note: {} };
}

/** The answer to a change was lost: only what was read after it says whether the change is still to be made. */
function afterDoubt<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
): { readonly is: 'unclear'; readonly step: Step<Facts> } | undefined {
  const { doubtAt } = pass.notes;
  if (doubtAt === undefined) return undefined;
  const list = plan.list(pass);
  const seen = pass.view.one(list, id);
  if (seen === undefined) return undefined;
  if (seen.walk.begunAt < doubtAt) return { is: 'unclear', step: readOf(pass, list, doubtAt) };
  const older = plan.alsoReads?.(pass, id).find((read) => (pass.view.all(read)?.begunAt ?? doubtAt) < doubtAt);
  return older && { is: 'unclear', step: readOf(pass, older, doubtAt) };
}

function correct<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
  difference: Difference,
  changed: Readonly<Record<string, Json>>,
): Step<Facts> {
  const isDrift = pass.memory.applied?.generation === pass.subject.generation;
  const drifted = isDrift ? Object.keys(difference.differing).filter((field) => field in changed) : [];
  const contested = drifted.filter((field) => pass.contested.has(field));
  if (contested.length > 0) {
    const message = `somebody else keeps changing ${contested.join(', ')} of ${plan.noun} ${id}; it is left as it is for now`;
    return { is: 'stall', reason: 'Contested', message };
  }
  const held = plan.mustWait?.(pass);
  if (held !== undefined) return held;
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
      ...meanwhile(plan, pass, now),
      wrote: () => only(difference.differing, Object.keys(now)),
      refused: (refusal) =>
        refusal.is !== 'inDoubt'
          ? denied(plan, pass, words, refusal)
          : {
              is: 'wait',
              reason: 'InDoubt',
              message: `${words}: ${refusal.message}; looking what came of it`,
              retryInMs: 2_000,
              note: { ...pass.notes, doubtAt: pass.monotonicMs + 1 },
            },
      committed: (body) => ({
        applied: first === undefined ? whole(plan, pass, difference) : part(pass, difference, first),
        ...(plan.requests.learnedByUpdate && { facts: plan.requests.learnedByUpdate(body, now, pass) }),
      }),
    },
  };
}

/** A bound object that is proved gone though nobody told us. */
function gone<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
): Step<Facts> {
  const named = plan.externalId(pass.spec) === id;
  if (named || plan.lifecycle(pass.spec).onMissing === 'Stall') {
    return {
      is: 'stall',
      reason: 'ObjectGone',
      message: `${plan.noun} ${id} is gone from the service and is not made again`,
      // What stays bound and is proved gone must not keep the account frozen.
      note: { ...pass.notes, provedGone: 1 },
    };
  }
  if (pass.account.frozen !== undefined) {
    return {
      is: 'wait',
      reason: 'VisibilityLost',
      message: pass.account.frozen,
      note: { ...pass.notes, provedGone: 1 },
    };
  }
  // Said and written at once: what was proved must not be proved anew by every pass that then waits for a read.
  return {
    is: 'wait',
    reason: 'Creating',
    message: `${plan.noun} ${id} is gone from the service and is made again`,
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
