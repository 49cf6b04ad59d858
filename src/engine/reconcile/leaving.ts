/** Letting go of an object whose deletion cannot be carried out as usual. */
import type { View } from '../kind/contract/pass.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Step, Verdict } from '../kind/contract/step.ts';
import { annotations, finalizer } from '../objects/names.ts';
import type { Work } from './work.ts';

/** A view that shows nothing: nothing was read, so nothing is proved. */
export const blind: View = {
  all: () => undefined,
  one: () => undefined,
  group: () => undefined,
  problem: () => undefined,
};

/** Why a deletion is held up although nothing in the service stands in its way. */
const outOfReach: ReadonlySet<Reason> = new Set<Reason>([
  'AccountNotReady',
  'EndpointChanged',
  'Forbidden',
  'InvalidSpec',
  'JournalDamaged',
]);

/**
 * What goes without asking the service, whatever state the account is in: an account that nobody uses, and what the annotation
 * lets go; undefined for everything else.
 */
export function letGo(
  { object, entry, status }: Work,
  users: () => { readonly count: number },
): Extract<Step<unknown>, { is: 'release' }> | undefined {
  const { deletionTimestamp, annotations: given } = object.metadata;
  if (deletionTimestamp === undefined) return undefined;
  if (entry.kind.life === 'account') return users().count === 0 ? { is: 'release' } : undefined;
  if (given?.[annotations.onDelete] !== 'Retain') return undefined;
  const stays = staying(status.memory);
  return { is: 'release', ...(stays !== undefined && { stays }) };
}

/** A verdict that holds up a deletion, with the way out of it. */
export function withWayOut({ object, entry, status }: Work, verdict: Verdict<unknown>): Verdict<unknown> {
  const { deletionTimestamp, finalizers } = object.metadata;
  const isHeld = deletionTimestamp !== undefined && finalizers?.includes(finalizer) === true;
  if (!isHeld || entry.kind.life === 'account' || verdict.is === 'ready' || !outOfReach.has(verdict.reason)) {
    return verdict;
  }
  const stays = staying(status.memory);
  const price = stays === undefined ? '' : ` (${stays} then)`;
  return {
    ...verdict,
    message: `${verdict.message}; to delete only this resource, annotate it ${annotations.onDelete}=Retain${price}`,
  };
}

/** What of an object stays in the service when only its resource goes. */
export function staying({ id, journal }: Work['status']['memory']): string | undefined {
  if (id !== undefined) return `${id} stays in the service`;
  if (journal?.create === undefined) return undefined;
  return `"${journal.create.name}" stays in the service if the lost call created it`;
}
