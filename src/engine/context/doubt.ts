/** Calls in doubt: which objects have one, and what status says about it. */
import type { Reason } from '../kind/contract/reasons.ts';
import type { JournalEntry, Memory, Verdict } from '../kind/contract/step.ts';
import { seenJournal } from '../objects/in-process.ts';
import type { ReadableContext } from './parts.ts';

/** True while others must wait until it is known what a lost call of this object did. */
export function isLost({ stored, status }: Pick<ReadableContext, 'stored' | 'status'>): boolean {
  return stored.kind.life === 'long' && status.damaged === undefined && isOpen(status.memory);
}

/** True while a create has no id yet, or a change that is recognised by its trace has not shown one. */
export function isOpen({ id, journal }: Memory<unknown>): boolean {
  return journal?.create === undefined ? journal?.before !== undefined : id === undefined;
}

/** Verdicts with these reasons speak of the lost call themselves. */
const speaking: ReadonlySet<string> = new Set<Reason>(['InDoubt', 'Ambiguous', 'InstallationIdUnknown']);

/** Adds to a verdict that a call is in doubt, and until when it may still arrive. */
export function withDoubt(context: ReadableContext, verdict: Verdict<unknown>): Verdict<unknown> {
  const { journal } = context.memory;
  if (verdict.is === 'ready' || speaking.has(verdict.reason) || !isLost(context) || journal === undefined)
    return verdict;
  // A call with a requestId may be sent again as it is: the service recognises it.
  if (journal.requestId !== undefined) return verdict;
  const { operation, startedAt } = journal;
  const until = arrivesUntil(context, journal);
  const doubt = `the answer to the call "${operation}" of ${startedAt} was lost: it is not repeated before ${until}, nor before its effect is known`;
  return { ...verdict, message: `${verdict.message}; ${doubt}` };
}

/** Until when a journalled call may still arrive, as text for messages. */
export function arrivesUntil({ parts, inProcess }: ReadableContext, journal: JournalEntry): string {
  const { clock, settings } = parts;
  const seen = seenJournal(inProcess, journal, { monotonic: clock.monotonic(), wall: clock.wall() });
  return new Date(seen.wall + journal.deadlineSeconds * 1_000 + settings.horizonMs).toISOString();
}
