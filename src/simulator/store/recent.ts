import { randomUUID } from 'node:crypto';

/** Says that a row of a collection changed. The new value is in the collection. */
export interface ChangedRow {
  readonly at: number;
  readonly collection: string;
  readonly id: string;
  /** The value before the change; undefined for a new row. */
  readonly before: object | undefined;
}

const longest = 40_000;

/** Holds a limited number of the newest changes of rows, for lists that lag and for a page that reads only what has changed. */
export class RecentChanges {
  #changes: ChangedRow[] = [];
  #seq = 0;
  /** A random value for each world that is loaded; when it changes, everything that was read before is void. */
  epoch: string = randomUUID();

  /** The number of the newest change of a row. */
  get seq(): number {
    return this.#seq;
  }

  note(collection: string, id: string, at: number, before: object | undefined): void {
    this.#seq += 1;
    this.#changes.push({ at, collection, id, before });
    if (this.#changes.length > longest) this.#changes = this.#changes.slice(-longest / 2);
  }

  /** Lists the changes with numbers above `seq`; returns undefined when some of them were dropped. */
  after(seq: number): readonly ChangedRow[] | undefined {
    const missing = this.#seq - seq;
    if (missing < 0 || missing > this.#changes.length) return undefined;
    return missing === 0 ? [] : this.#changes.slice(-missing);
  }

  /** Reverts all changes after a moment in `rows`, which is a copy of the rows of a collection. */
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
