/**
 * Which object of the service belongs to a resource: the one of its id, the one with its mark, or one that it may take over.
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

/** How far this object may take over what it did not create: its own wish, capped by the account. */
export function adoptionOf<Spec, Facts, Item>(plan: ObjectPlan<Spec, Facts, Item>, pass: Pass<Spec, Facts>): Adoption {
  return adoptionWithin(plan.lifecycle(pass.spec).adoption, pass.account);
}

/** How far a spec may take over what it did not create, as the account allows it. */
export function adoptionWithin(wish: Adoption = 'ById', account: Pick<AccountView, 'adoption'>): Adoption {
  const rank = { Never: 0, ById: 1, ByName: 2 } as const;
  return rank[wish] < rank[account.adoption] ? wish : account.adoption;
}

/** Why an id that this namespace did not create may not be used here; undefined where the account and the spec allow it. */
export function notGranted(
  what: string,
  wish: Adoption | undefined,
  account: Pick<AccountView, 'adoption'>,
): Extract<Verdict<never>, { is: 'stall' }> | undefined {
  if (adoptionWithin(wish, account) !== 'Never') return undefined;
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
 * What counts as applied to an object that was taken over, known once it was read. Where drift is only reported, it is all that
 * the service shows. Where the spec names the id and everything that shows is as the spec says, what never shows is taken to
 * be so, too: nothing is sent before the spec changes. Undefined where that is settled already.
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
