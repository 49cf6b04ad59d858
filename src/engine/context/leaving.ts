/**
 * Deletions that cannot be carried out as usual.
 *
 * Why: docs/design/ownership.md#a-deletion-can-always-be-let-go
 */
import type { View } from '../kind/contract/pass.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Memory, Step, Verdict } from '../kind/contract/step.ts';
import { annotations } from '../objects/names.ts';
import type { Stored } from '../objects/object-index.ts';
import { isHeldByUs } from './resources.ts';

/** A view that shows nothing: nothing was read, so nothing is proved. */
export const blind: View = {
  all: () => undefined,
  one: () => undefined,
  group: () => undefined,
  problem: () => undefined,
};

/** Reasons for which a deletion waits although nothing in the service stands in its way. */
const outOfReach: ReadonlySet<Reason> = new Set<Reason>([
  'AccountNotReady',
  'EndpointChanged',
  'Forbidden',
  'InvalidSpec',
  'JournalDamaged',
]);

/**
 * The release of a deleted object that needs no call to the service: an unused account, or `on-delete: Retain`. Undefined
 * for all others.
 */
export function letGo(
  { object, kind }: Stored,
  memory: Memory<unknown>,
  users: () => { readonly count: number },
): Extract<Step<unknown>, { is: 'release' }> | undefined {
  const { deletionTimestamp, annotations: given } = object.metadata;
  if (deletionTimestamp === undefined) return undefined;
  if (kind.life === 'account') return users().count === 0 ? { is: 'release' } : undefined;
  if (given?.[annotations.onDelete] !== 'Retain') return undefined;
  const stays = staying(memory);
  return { is: 'release', ...(stays !== undefined && { stays }) };
}

/** Adds to a verdict that blocks a deletion how the annotation unblocks it. */
export function withWayOut(
  { object, kind }: Stored,
  memory: Memory<unknown>,
  verdict: Verdict<unknown>,
): Verdict<unknown> {
  const isHeld = object.metadata.deletionTimestamp !== undefined && isHeldByUs(object);
  if (!isHeld || kind.life === 'account' || verdict.is === 'ready' || !outOfReach.has(verdict.reason)) return verdict;
  const stays = staying(memory);
  const price = stays === undefined ? '' : ` (${stays} then)`;
  return {
    ...verdict,
    message: `${verdict.message}; to delete only this resource, annotate it ${annotations.onDelete}=Retain${price}`,
  };
}

/** What stays in the service when only the resource is deleted. */
export function staying({ id, journal }: Memory<unknown>): string | undefined {
  if (id !== undefined) return `${id} stays in the service`;
  if (journal?.create === undefined) return undefined;
  return `"${journal.create.name}" stays in the service if the lost call created it`;
}
