/**
 * Letting go of an object whose deletion cannot be carried out as usual.
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
 * The release of what goes without asking the service, whatever state the account is in: an account that nobody uses, and what
 * the annotation lets go; undefined for everything else.
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

/** Adds the annotation that lets go to a verdict that holds up a deletion. */
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

/** What of an object stays in the service when only its resource goes. */
export function staying({ id, journal }: Memory<unknown>): string | undefined {
  if (id !== undefined) return `${id} stays in the service`;
  if (journal?.create === undefined) return undefined;
  return `"${journal.create.name}" stays in the service if the lost call created it`;
}
