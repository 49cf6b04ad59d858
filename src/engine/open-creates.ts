/** Who is creating what: at most one object may have an open create of one name in one collection of one account. */
import { entryInWords, tie, type Book, type Entry } from './book.ts';
import type { Reason } from './kind/reasons.ts';
import type { JournalEntry } from './kind/step.ts';
import type { Clock } from './ports.ts';

const usual: ReadonlySet<string> = new Set<Reason>(['Creating', 'InDoubt', 'CreateInProgress', 'ReadingService']);

/** The creates under way in this process, together with those that stand in a journal. */
export class OpenCreates {
  readonly #book: Book;
  readonly #clock: Clock;
  readonly #isUpToDate: (entry: Entry) => boolean;
  readonly #reserved = new Map<string, Reserved>();
  readonly #buried = new Set<Buried>();

  /** `isUpToDate` says whether the book has all that this process wrote to an object. */
  constructor(book: Book, clock: Clock, isUpToDate: (entry: Entry) => boolean) {
    this.#book = book;
    this.#clock = clock;
    this.#isUpToDate = isUpToDate;
  }

  /** Takes the right to create; it is kept until the call has ended and the book knows how. */
  reserve(key: string, { endpoint, accountId, create }: JournalEntry): void {
    if (create === undefined) return;
    this.#reserved.set(key, {
      tie: tie.create(create.collection, create.name),
      where: placeOf({ endpoint, accountId }),
      isOver: false,
    });
  }

  /** The call has ended; what came of it may still be on its way through the watch. */
  unreserve(key: string): void {
    const reserved = this.#reserved.get(key);
    if (reserved !== undefined) this.#reserved.set(key, { ...reserved, isOver: true });
  }

  /** An object went while its create was in doubt: the name stays taken until that call can no longer arrive. */
  bury(entry: Entry, horizonMs: number): void {
    const { journal } = entry.recollection.memory;
    if (journal?.create === undefined) return;
    const until = this.#clock.monotonic() + journal.deadlineSeconds * 1_000 + horizonMs;
    const { collection, name } = journal.create;
    this.#buried.add({ tie: tie.create(collection, name), where: placeOf(journal), words: entryInWords(entry), until });
  }

  /** Another object with an open create of this name, in this process or in a journal. */
  other(entry: Entry, where: Place, collection: string, name: string): string | undefined {
    const wanted = tie.create(collection, name);
    const place = placeOf(where);
    for (const buried of this.#buried) {
      if (buried.until <= this.#clock.monotonic()) this.#buried.delete(buried);
      else if (buried.tie === wanted && buried.where === place) return `${buried.words}, which is gone,`;
    }
    for (const [key, reserved] of this.#reserved) {
      if (key === entry.key || reserved.tie !== wanted || reserved.where !== place) continue;
      const holder = this.#book.get(key);
      if (holder === undefined || (reserved.isOver && this.#isUpToDate(holder))) this.#reserved.delete(key);
      else return entryInWords(holder);
    }
    for (const key of this.#book.tiedBy(wanted)) {
      const holder = this.#book.get(key);
      const journal = holder?.recollection.memory.journal;
      if (holder === undefined || journal === undefined || key === entry.key) continue;
      if (placeOf(journal) === place) return `${entryInWords(holder)}${heldUp(holder)}`;
    }
    return undefined;
  }
}

/** Why what is under way takes its time, where its own status gives another reason than that. */
function heldUp({ recollection }: Entry): string {
  const { reason } = recollection.conditions.find(({ type }) => type === 'Ready') ?? {};
  return reason === undefined || usual.has(reason) ? '' : `, which says ${reason},`;
}

interface Reserved {
  readonly tie: string;
  readonly where: string;
  readonly isOver: boolean;
}

interface Buried {
  readonly tie: string;
  readonly where: string;
  readonly words: string;
  readonly until: number;
}

interface Place {
  readonly endpoint: string;
  readonly accountId: string;
}

function placeOf({ endpoint, accountId }: Place): string {
  return `${endpoint}|${accountId}`;
}
