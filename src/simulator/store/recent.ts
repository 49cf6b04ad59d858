import { randomUUID } from 'node:crypto';

/** A row that changed; what it is now is for the reader to look up. */
export interface ChangedRow {
  readonly at: number;
  readonly collection: string;
  readonly id: string;
  /** The row before, where lists may have to show it. */
  readonly before: object | undefined;
}

const longest = 40_000;

/** The newest changes of rows, for a client that follows the world without reading all of it again, and for lists that lag; bounded. */
export class RecentChanges {
  #changes: ChangedRow[] = [];
  #seq = 0;
  /** Another value for every world that was loaded: what was read before is of no use then. */
  epoch: string = randomUUID();

  /** The number of the newest change. */
  get seq(): number {
    return this.#seq;
  }

  note(collection: string, id: string, at = 0, before?: object): void {
    this.#seq += 1;
    this.#changes.push({ at, collection, id, before });
    if (this.#changes.length > longest) this.#changes = this.#changes.slice(-longest / 2);
  }

  /** The changes above `seq`; undefined when some of them are too long ago to be known. */
  after(seq: number): readonly ChangedRow[] | undefined {
    const missing = this.#seq - seq;
    if (missing < 0 || missing > this.#changes.length) return undefined;
    return missing === 0 ? [] : this.#changes.slice(-missing);
  }

  /** Takes back, in a copy of the rows of a collection, everything after a moment. */
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
