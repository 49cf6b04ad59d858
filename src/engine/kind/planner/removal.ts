/**
 * Handles the deletion of a resource. If the object in the service has to be deleted too, it is deleted first. The
 * finalizer is then removed only after a read has proved that the object is gone.
 *
 * Guarantees: an object that the resource only probably created is never deleted. An object that the resource adopted
 * is deleted only if `spec.lifecycle.onDelete` says so. If the outcome of a create call is unknown, the operator first
 * finds out what the call created, even if `onDelete` is `Retain`. The operator does not search for that object if the
 * annotation `on-delete` is `Retain`, or if the resource or its account is only observed.
 *
 * Why: docs/design/ownership.md#by-default-deleting-a-resource-deletes-only-an-object-that-the-resource-created
 */
import { growingMs } from '../../../base/time.ts';
import type { Pass } from '../contract/pass.ts';
import { frozenOrTakingOver, readOf, releasedWithPlace } from './observe.ts';
import type { ObjectPlan } from './plan.ts';
import { bind, idsWhere, isMarked, resolveCreate } from './create.ts';
import { annotations } from '../contract/define.ts';
import { type Call, type Refusal, type Step, type Verdict, isNo } from '../contract/step.ts';

const lagMs = 2_000;
const blockedRetryMs = 30_000;
const longestBlockedRetryMs = 600_000;

/** Decides the next step of a deletion. */
export function planRemoval(plan: ObjectPlan, pass: Pass): Step {
  const { journal, id } = pass.memory;
  const kept = whyItStays(plan, pass);
  if (kept !== undefined) return { is: 'release', ...(kept !== '' && { stays: kept }) };
  if (journal?.create !== undefined) return resolveCreate(plan, pass, journal, journal.create);
  if (id === undefined) return forgetUnbound(plan, pass);
  return removeBound(plan, pass, id);
}

/**
 * Returns a sentence which says that the object stays in the service, and why. The sentence is empty if status has no
 * id of an object. Returns undefined if the operator has to look for the object or to delete it.
 */
function whyItStays(plan: ObjectPlan, pass: Pass): string | undefined {
  const { id, ownership } = pass.memory;
  const stays = id === undefined ? '' : `${plan.noun} ${id} stays in the service`;
  // Check the annotation `on-delete` once more. The response to a status write contains the whole object, and the
  // annotation in this response may be newer.
  if (pass.subject.annotations[annotations.onDelete] === 'Retain') return stays;
  const lifecycle = plan.lifecycle(pass.spec);
  if (lifecycle.managementPolicy === 'Observe' || pass.account.managementPolicy === 'Observe') return stays;
  if (ownership === 'Presumed') return `${stays}, because it is not certain that this resource created it`;
  const onDelete = lifecycle.onDelete ?? (ownership === 'Adopted' ? 'Retain' : 'Delete');
  return onDelete === 'Retain' && id !== undefined ? stays : undefined;
}

/**
 * Handles the deletion of a resource without an id. First looks for an object with the resource's ownership mark,
 * because the id in status may have been lost. Without such an object, removes the finalizer.
 */
function forgetUnbound(plan: ObjectPlan, pass: Pass): Step {
  if (plan.markOf === undefined || !pass.subject.held || plan.placeOf?.(pass).id === '') return { is: 'release' };
  const list = plan.list(pass);
  const snapshot = pass.view.all(list);
  if (snapshot === undefined || snapshot.begunAt < pass.askedAt) {
    return releasedWithPlace(plan, pass, pass.askedAt) ?? readOf(pass, list, pass.askedAt);
  }
  const [mine] = idsWhere(snapshot, (item) => isMarked(plan, pass, item));
  if (mine === undefined) return { is: 'release' };
  return bind(pass, mine, 'Created');
}

function removeBound(plan: ObjectPlan, pass: Pass, id: string): Step {
  const { removedAt } = pass.notes;
  if (removedAt !== undefined) {
    const single = plan.single(id);
    const direct = pass.view.one(single, id);
    if (direct === undefined || direct.snapshot.begunAt < removedAt) return readOf(pass, single, removedAt);
    if (direct.item === undefined) {
      const stays = plan.staysBehind?.(pass);
      return { is: 'release', ...(stays !== undefined && { stays }) };
    }
    if (pass.wrote !== undefined && pass.monotonicMs - pass.wrote.at < pass.horizonMs) {
      const message = `${plan.noun} ${id} was deleted, but the service still shows it; waiting until it is gone`;
      const note = { removedAt: direct.snapshot.begunAt + 1 };
      return { is: 'wait', reason: 'Deleting', message, retryInMs: lagMs, note };
    }
  }
  const call: Call = {
    request: plan.requests.remove(id),
    words: `delete ${plan.noun} "${plan.name(pass)}"`,
    urgency: 'dangerous',
    committed: () => ({}),
    note: (removedAt) => ({ removedAt }),
    refused: (refusal) => blocked(plan, pass, id, refusal),
  };
  return frozenOrTakingOver(pass, 'nothing is deleted') ?? { is: 'call', call };
}

function blocked(plan: ObjectPlan, pass: Pass, id: string, refusal: Refusal): Verdict | undefined {
  if (!isNo(refusal)) return undefined;
  const obstacle = plan.blocked?.(refusal, pass) ?? refusal.message;
  const { removalsRefused: before = 0 } = pass.notes;
  return {
    is: 'wait',
    reason: 'DeletionBlocked',
    message: `${plan.noun} ${id} cannot be deleted: ${obstacle}`,
    retryInMs: growingMs(before, { firstMs: blockedRetryMs, longestMs: longestBlockedRetryMs }),
    note: { ...pass.notes, removalsRefused: before + 1 },
  };
}
