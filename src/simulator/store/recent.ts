import { randomUUID } from 'node:crypto';

/**
 * A change of a stored object. Only the object before the change is kept here; the current object is in its collection.
 */
export interface ChangedRow {
  readonly at: number;
  readonly collection: string;
  readonly id: string;
  /** The object before this change; undefined if the change created the object. */
  readonly before: object | undefined;
}

const longest = 40_000;

/**
 * Holds a limited number of the newest changes of stored objects, for lists that show an older state, and for the web page, which loads
 * only the changes.
 */
export class RecentChanges {
  #changes: ChangedRow[] = [];
  #seq = 0;
  /** A random value that changes whenever all data is replaced. A client that sees a new value must discard the data that it has loaded. */
  epoch: string = randomUUID();

  /** The number of the newest change. */
  get seq(): number {
    return this.#seq;
  }

  note(collection: string, id: string, at: number, before: object | undefined): void {
    this.#seq += 1;
    this.#changes.push({ at, collection, id, before });
    if (this.#changes.length > longest) this.#changes = this.#changes.slice(-longest / 2);
  }

  /**
   * Lists the changes whose number is greater than `seq`. Returns undefined if some of these changes were dropped, or
   * if `seq` is greater than the number of the newest change.
   */
  after(seq: number): readonly ChangedRow[] | undefined {
    const missing = this.#seq - seq;
    if (missing < 0 || missing > this.#changes.length) return undefined;
    return missing === 0 ? [] : this.#changes.slice(-missing);
  }

  /**
   * Undoes all changes after the time `moment` in `rows`, and returns `rows`. `rows` is a copy of the objects of a
   * collection; the collection itself does not change.
   */
  rewind<T extends object>(rows: Map<string, T>, collection: string, moment: number): Map<string, T> {
    const begin = this.#changes.findLastIndex(({ at }) => at <= moment) + 1;
    for (const { id, before, ...undo } of this.#changes.slice(begin).toReversed()) {
      if (undo.collection !== collection) continue;
      if (before === undefined) rows.delete(id);
      else rows.set(id, before as T);
    }
    return rows;
  }

  startAgain(): void {
    this.#changes = [];
    this.#seq = 0;
    this.epoch = randomUUID();
  }
}
