import { present } from '../http/fields.ts';

/** A function that computes the keys of a row in an index: one, several, or none. */
export type Filed<T> = (row: T) => string | readonly string[] | undefined;

/** Describes one type of rows of the world: its name in the saved state, how to find the id of a row, and its indexes. */
export interface Collection<T extends object> {
  readonly name: string;
  readonly id: (row: T) => string;
  readonly indexes: Readonly<Record<string, Filed<T>>>;
}

/** A collection with rows of any type. */
export type AnyCollection = Collection<never>;

/** Describes a collection of rows. */
export function collection<T extends object>(
  name: string,
  id: (row: T) => string,
  indexes: Collection<T>['indexes'] = {},
): Collection<T> {
  return { name, id, indexes };
}

/** The rows of a collection. A row is replaced, never changed in place. */
export type Rows<T extends object> = Pick<Table<T>, 'size' | 'get' | 'has' | 'all' | 'where' | 'put' | 'remove'>;

/** An index of a collection: for each key, the rows by their ids. */
interface Index<T> {
  readonly filed: Filed<T>;
  readonly rows: Map<string, Map<string, T>>;
}

/** Holds the rows and indexes of a collection. Each change is passed to `changes`, which makes it part of the transaction. */
export class Table<T extends object> {
  readonly collection: Collection<T>;
  readonly #changes: (table: Table<T>, id: string, row: T | undefined) => void;
  readonly #rows = new Map<string, T>();
  readonly #indexes: ReadonlyMap<string, Index<T>>;

  constructor(of: Collection<T>, changes: (table: Table<T>, id: string, row: T | undefined) => void) {
    this.collection = of;
    this.#changes = changes;
    const indexes = Object.entries(of.indexes).map(([name, filed]) => [name, { filed, rows: new Map() }] as const);
    this.#indexes = new Map(indexes);
  }

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): T | undefined {
    return this.#rows.get(id);
  }

  has(id: string): boolean {
    return this.#rows.has(id);
  }

  put(row: T): void {
    this.#changes(this, this.collection.id(row), present(row));
  }

  remove(id: string): void {
    this.#changes(this, id, undefined);
  }

  all(): T[] {
    return [...this.#rows.values()];
  }

  entries(): Map<string, T> {
    return new Map(this.#rows);
  }

  /** Lists the rows under a key of an index, in the order in which they were added. */
  where(index: string, key: string): readonly T[] {
    return [...(this.#indexes.get(index)?.rows.get(key)?.values() ?? [])];
  }

  /** Adds or replaces the row with this id; undefined removes the row. */
  set(id: string, row: T | undefined): void {
    const before = this.#rows.get(id);
    if (row === undefined) this.#rows.delete(id);
    else this.#rows.set(id, row);
    for (const { filed, rows } of this.#indexes.values()) {
      const keys = keysOf(filed, row);
      for (const key of keysOf(filed, before)) if (!keys.includes(key)) rows.get(key)?.delete(id);
      if (row !== undefined)
        for (const key of keys) rows.set(key, (rows.get(key) ?? new Map<string, T>()).set(id, row));
    }
  }
}

/** Lists the keys of a row in an index. */
export function keysOf<T>(filed: Filed<T>, row: T | undefined): readonly string[] {
  const keys = row === undefined ? [] : (filed(row) ?? []);
  return typeof keys === 'string' ? [keys] : keys;
}
