/** Who is creating what: at most one object may have an open create of one name in one collection of one account. */
import { entryInWords, tie, type Book, type Entry } from './book.ts';
import type { JournalEntry } from './kind/step.ts';

/** The creates under way in this process, together with those that stand in a journal. */
export class OpenCreates {
  readonly #book: Book;
  readonly #reserved = new Map<string, { readonly tie: string; readonly where: string }>();

  constructor(book: Book) {
    this.#book = book;
  }

  /** Takes the right to create; it is kept until the call has ended. */
  reserve(key: string, { endpoint, accountId, create }: JournalEntry): void {
    if (create === undefined) return;
    this.#reserved.set(key, {
      tie: tie.create(create.collection, create.name),
      where: placeOf({ endpoint, accountId }),
    });
  }

  unreserve(key: string): void {
    this.#reserved.delete(key);
  }

  /** Another object with an open create of this name, in this process or in a journal. */
  other(entry: Entry, where: Place, collection: string, name: string): string | undefined {
    const wanted = tie.create(collection, name);
    const place = placeOf(where);
    for (const [key, reserved] of this.#reserved) {
      if (key === entry.key || reserved.tie !== wanted || reserved.where !== place) continue;
      const holder = this.#book.get(key);
      if (holder !== undefined) return entryInWords(holder);
    }
    for (const key of this.#book.tiedBy(wanted)) {
      const holder = this.#book.get(key);
      const journal = holder?.recollection.memory.journal;
      if (holder === undefined || journal === undefined || key === entry.key) continue;
      if (placeOf(journal) === place) return entryInWords(holder);
    }
    return undefined;
  }
}

interface Place {
  readonly endpoint: string;
  readonly accountId: string;
}

function placeOf({ endpoint, accountId }: Place): string {
  return `${endpoint}|${accountId}`;
}
