import { present } from '../http/fields.ts';

/** Returns the keys under which an index lists a stored object. There can be one key, several, or none. */
export type Filed<T> = (row: T) => string | readonly string[] | undefined;

/** Describes one type of stored object: the name of its collection, how to find the id of an object, and the indexes. */
export interface Collection<T extends object> {
  readonly name: string;
  readonly id: (row: T) => string;
  readonly indexes: Readonly<Record<string, Filed<T>>>;
}

/** The description of a collection, whatever type its objects have. */
export type AnyCollection = Collection<never>;

/** Returns the description of a collection of stored objects. By default, the collection has no indexes. */
export function collection<T extends object>(
  name: string,
  id: (row: T) => string,
  indexes: Collection<T>['indexes'] = {},
): Collection<T> {
  return { name, id, indexes };
}

/** Reads, stores and removes the objects of a collection. An object that is stored is never modified: a new object replaces it. */
export type Rows<T extends object> = Pick<Table<T>, 'size' | 'get' | 'has' | 'all' | 'where' | 'put' | 'remove'>;

/** An index of a collection. `rows` contains the listed objects by their key and their id: `rows.get(key)?.get(id)`. */
interface Index<T> {
  readonly filed: Filed<T>;
  readonly rows: Map<string, Map<string, T>>;
}

/**
 * Holds the objects and indexes of one collection. `put` and `remove` pass each change to a function of the store, which makes the change
 * part of the current transaction.
 */
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

  /** Lists the objects with a certain key in an index, in the order in which they were added. */
  where(index: string, key: string): readonly T[] {
    return [...(this.#indexes.get(index)?.rows.get(key)?.values() ?? [])];
  }

  /** Adds or replaces the object with the given id; removes the object if `row` is undefined. */
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

/** Returns the keys under which an index lists a stored object; returns an empty list if there is no object. */
export function keysOf<T>(filed: Filed<T>, row: T | undefined): readonly string[] {
  const keys = row === undefined ? [] : (filed(row) ?? []);
  return typeof keys === 'string' ? [keys] : keys;
}
