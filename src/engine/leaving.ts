import { entryInWords, tie, type Book, type Entry } from './book.ts';
import { onDeleteAnnotation } from './kind/removal.ts';
import type { Work } from './worktable.ts';

/**
 * What an object that is let go without asking the service leaves behind; undefined where the service must be asked.
 *
 * This needs no account, no credential and no valid spec: an account that nobody uses, and whatever its owner wants to keep.
 */
export function leavesAtOnce({ entry, object, recollection }: Work, book: Book): string | undefined {
  const { deletionTimestamp, annotations } = object.metadata;
  if (deletionTimestamp === undefined) return undefined;
  if (entry.kind.life === 'account') return dependentsOf(book, entry).count === 0 ? '' : undefined;
  if (annotations?.[onDeleteAnnotation] !== 'Retain') return undefined;
  const { id } = recollection.memory;
  return id === undefined ? '' : `${id} stays in the service`;
}

/** Who uses an account. */
export function dependentsOf(book: Book, account: Entry): { count: number; first: readonly string[] } {
  const users = book.tiedBy(tie.account(account.key)).flatMap((key) => book.get(key) ?? []);
  return { count: users.length, first: users.slice(0, 3).map((user) => entryInWords(user)) };
}
