import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { JournalEntry } from '../../engine/kind/contract/step.ts';

/** Returns when the call in the journal can no longer arrive. */
export function overAt(
  { journalSeen, horizonMs }: Pick<Pass, 'journalSeen' | 'horizonMs'>,
  { deadlineSeconds }: JournalEntry,
): { readonly monotonic: number; readonly inWords: string } {
  const ms = deadlineSeconds * 1_000 + horizonMs;
  return { monotonic: journalSeen.monotonic + ms, inWords: new Date(journalSeen.wall + ms).toISOString() };
}
