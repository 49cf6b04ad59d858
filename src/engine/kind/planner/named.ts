/**
 * Binds the object that `spec.externalId` names, after resolving a create in doubt.
 *
 * Guarantees: the result of a lost call is found before another object takes its place, and published when it stays behind;
 * an object of another resource or account is not bound.
 */
import { boundTo, claimedByOlder, isMarked, isOfAccount, notGranted } from './binding.ts';
import { isSameName } from './compare.ts';
import type { Pass } from '../contract/pass.ts';
import type { ObjectPlan } from './plan.ts';
import { readOf } from './reading.ts';
import { resolveCreate } from './resolve-create.ts';
import { look } from './observe.ts';
import type { CreateIntent, Step } from '../contract/step.ts';

/**
 * Resolves a create in doubt before anything else. An id in spec.externalId is bound instead once reads can find out no
 * more, or at once when it may be the created object.
 */
export function resolveFirst<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Step<Facts> | undefined {
  const externalId = plan.externalId(pass.spec);
  const { create } = pass.memory.journal ?? {};
  const isNamed = externalId !== undefined && create !== undefined && mayBeMade(plan, pass, externalId, create);
  return isNamed ? undefined : resolveOpen(plan, pass, externalId);
}

function resolveOpen<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  externalId: string | undefined,
): Step<Facts> | undefined {
  const { journal } = pass.memory;
  if (journal?.create === undefined) return undefined;
  const step = resolveCreate(plan, pass, journal, journal.create);
  const isNothing = step.is === 'call' && (externalId !== undefined || plan.admit?.(pass) !== undefined);
  if (isNothing) return { is: 'again', remember: { journal: undefined, applied: undefined } };
  return externalId !== undefined && step.is === 'stall' && step.reason === 'Ambiguous' ? undefined : step;
}

/** True if the object with this id may be the result of a lost create, as far as it was read. */
function mayBeMade<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
  { excluded, name }: CreateIntent,
): boolean {
  if (excluded.includes(id)) return false;
  const item = pass.view.one(plan.list(pass), id)?.item ?? pass.view.one(plan.single(id), id)?.item;
  if (item === undefined) return true;
  return plan.markerOf === undefined ? isSameName(plan.nameOf(item), name) : isMarked(plan, pass, item);
}

/** Binds the object that `spec.externalId` names: adopts it, or confirms that a presumed one is ours. */
export function bindNamed<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
): Step<Facts> {
  const what = `spec.externalId names ${plan.noun} ${id}`;
  const isBound = pass.memory.id === id;
  // Refuse before naming an owner: without the right to adopt, nobody learns about others' objects.
  const refused = isBound ? undefined : notGranted(what, pass.account, plan.lifecycle(pass.spec).adoption);
  if (refused !== undefined) return resolveOpen(plan, pass, id) ?? refused;
  const claimed = claimedByOlder(pass, id, `${plan.noun} ${id}`);
  if (claimed !== undefined) return claimed;
  if (isBound) return { is: 'again', remember: boundTo(pass, id, 'Created') };
  const found = look(plan, pass, id);
  if (found.is === 'unclear') return found.step;
  if (found.is === 'gone') {
    const message = `${what}, which does not exist`;
    return resolveOpen(plan, pass, id) ?? { is: 'stall', reason: 'NotFound', message };
  }
  if (!isOfAccount(plan, pass, { id, item: found.seen.item })) {
    const list = plan.list(pass);
    const isOld = (pass.view.one(list, id)?.snapshot.begunAt ?? pass.askedAt) < pass.askedAt;
    if (isOld) return readOf(pass, list, pass.askedAt);
    const message = `${what}, which account ${pass.account.accountId} does not show`;
    return resolveOpen(plan, pass, id) ?? { is: 'stall', reason: 'NotFound', message };
  }
  const { create } = pass.memory.journal ?? {};
  const ownership = create !== undefined && mayBeMade(plan, pass, id, create) ? 'Created' : 'Adopted';
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
