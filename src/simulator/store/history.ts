import type { Collection } from './collection.ts';

/** One row before and after a transaction. */
export interface HistoryChange {
  readonly collection: Collection<object>;
  readonly id: string;
  readonly before: object | undefined;
  after: object | undefined;
}

interface Undo {
  readonly at: number;
  readonly collection: string;
  readonly id: string;
  readonly before: object | undefined;
}

const longest = 20_000;

/** The rows before each commit, for lists that lag; bounded, with one small entry for each change. */
export class History {
  #undos: Undo[] = [];

  remember(at: number, changes: readonly HistoryChange[]): void {
    for (const { collection, id, before } of changes) {
      if (collection.remembered) this.#undos.push({ at, collection: collection.name, id, before });
    }
    if (this.#undos.length > longest) this.#undos = this.#undos.slice(-longest / 2);
  }

  /** Takes back, in a copy of the rows, everything after a moment. */
  rewind<T extends object>(rows: Map<string, T>, collection: string, at: number): Map<string, T> {
    for (let i = this.#undos.length - 1; i >= 0; i -= 1) {
      const undo = this.#undos[i];
      if (undo === undefined || undo.at <= at) break;
      if (undo.collection !== collection) continue;
      if (undo.before === undefined) rows.delete(undo.id);
      else rows.set(undo.id, undo.before as T);
    }
    return rows;
  }
}
