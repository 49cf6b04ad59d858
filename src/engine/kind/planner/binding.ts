/**
 * Binds a resource to an object of the service: by its id, by its mark, or by adoption.
 *
 * Why: docs/design/ownership.md#what-this-namespace-did-not-make-needs-adoption
 */
import type { Difference } from './compare.ts';
import type { AccountView, Adoption, Pass } from '../contract/pass.ts';
import { definedOf, type ObjectPlan } from './plan.ts';
import type { Memory, Ownership, Step, Verdict } from '../contract/step.ts';

/** What to remember when an id is bound. */
export function boundTo<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  id: string,
  ownership: Ownership,
): Partial<Memory<Facts>> {
  const { endpoint, accountId } = pass.account;
  return { id, ownership, binding: { endpoint, accountId }, journal: undefined };
}

/** The step that binds an id. */
export function bind<Spec, Facts>(pass: Pass<Spec, Facts>, id: string, ownership: Ownership): Step<Facts> {
  return { is: 'again', remember: boundTo(pass, id, ownership) };
}

/** Whether an object carries the mark of this resource. */
export function isMarked<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  item: Item,
): boolean {
  return plan.markerOf !== undefined && plan.markerOf(item) === pass.marker;
}

/** Several objects may be the one that this resource made: somebody has to say which. */
export function ambiguous<Facts>(plan: { noun: string }, found: readonly (readonly [string, unknown])[]): Step<Facts> {
  const ids = found.map(([id]) => id).toSorted();
  return {
    is: 'stall',
    reason: 'Ambiguous',
    message: `${ids.length} objects could be the ${plan.noun} that this resource created: ${ids.slice(0, 5).join(', ')}; name the right one in spec.externalId`,
  };
}

/** Which objects this resource may adopt: its own wish, limited by the account. */
export function adoptionOf<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, pass: Pass<Spec, Facts>): Adoption {
  return adoptionWithin(pass.account, plan.lifecycle(pass.spec).adoption);
}

/** Which objects may be adopted: the wish of a spec, limited by the account. */
export function adoptionWithin(account: Pick<AccountView, 'adoption'>, wish: Adoption = 'ById'): Adoption {
  const rank = { Never: 0, ById: 1, ByName: 2 } as const;
  return rank[wish] < rank[account.adoption] ? wish : account.adoption;
}

/** The verdict where an older resource has an object: `one` is what the object is called; undefined where none has. */
export function claimedByOlder(
  { claimant }: Pass<unknown, unknown>,
  id: string,
  what: string,
  one = 'object in the service',
): Extract<Verdict<never>, { is: 'stall' }> | undefined {
  const other = claimant(id);
  if (other?.goesFirst !== true) return undefined;
  const message = `${what} belongs to ${other.name}, which is older; one ${one} has one owner`;
  return { is: 'stall', reason: 'Claimed', message };
}

/** The verdict where adoption of this id is not allowed; undefined where it is. */
export function notGranted(
  what: string,
  account: Pick<AccountView, 'adoption'>,
  wish?: Adoption,
): Extract<Verdict<never>, { is: 'stall' }> | undefined {
  if (adoptionWithin(account, wish) !== 'Never') return undefined;
  const message = `${what}, and adoption is Never here; the account's spec.lifecycle.adoption must allow ById`;
  return { is: 'stall', reason: 'AdoptionNotAllowed', message };
}

/**
 * Whether the account itself shows an object that a direct read found: a token may see more than one account. An item that
 * names its account settles it, and otherwise the account's own list.
 */
export function isOfAccount<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  found: { readonly id: string; readonly item: Item | undefined },
): boolean {
  const listed = pass.view.one(plan.list(pass), found.id)?.item;
  const item = listed ?? found.item;
  const named = item === undefined ? undefined : plan.accountOf?.(item);
  return named === undefined ? listed !== undefined : named === pass.account.accountId;
}

/**
 * The fields that count as applied to an adopted object, once it was read. With drift `Report`: every field that the
 * service shows. When the spec names the id and all shown fields equal the spec: the hidden fields too, so that nothing is
 * sent before the spec changes. Undefined when already decided.
 *
 * Why: docs/design/ownership.md#what-is-taken-over-by-its-id-is-assumed-to-be-as-specified
 */
export function asFound<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  { differing }: Pick<Difference, 'differing'>,
): Memory<Facts>['applied'] {
  const { ownership, applied, id } = pass.memory;
  if (ownership !== 'Adopted' || applied !== undefined) return undefined;
  const isReported = plan.lifecycle(pass.spec).drift === 'Report';
  const isAlike = plan.externalId(pass.spec) === id && Object.keys(differing).length === 0;
  const isHidden = (field: string): boolean => plan.hidden?.(field, pass) === true;
  const rows = Object.entries(definedOf(plan.desired(pass))).filter(([field]) => {
    return isHidden(field) ? isAlike : isReported;
  });
  if (!isReported && rows.length === 0) return undefined;
  return { generation: -1, prints: Object.fromEntries(rows.map(([field, value]) => [field, pass.print(value)])) };
}
