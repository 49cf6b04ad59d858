/** Computes the keys of a row in an index: one, several, or none. */
export type Filed<T> = (row: T) => string | readonly string[] | undefined;

/** One kind of row of the world: its name in the saved state, the id of a row, and its indexes. */
export interface Collection<T extends object> {
  readonly name: string;
  readonly id: (row: T) => string;
  readonly indexes: Readonly<Record<string, Filed<T>>>;
  /** Orders the rows under a key of an index; by default they are in the order in which they were added. */
  readonly order?: (row: T) => number;
  /** True where a list may have to show the rows as they were some time ago. */
  readonly remembered: boolean;
}

/** A collection, whatever the type of its rows. */
export type AnyCollection = Collection<never>;

/** Describes a collection; set `remembered` if the public interface lists its rows. */
export function collection<T extends object>(
  name: string,
  id: (row: T) => string,
  options: Partial<Pick<Collection<T>, 'indexes' | 'order' | 'remembered'>> = {},
): Collection<T> {
  return { name, id, indexes: {}, remembered: false, ...options };
}

/** The rows of a collection; a row is replaced, never changed in place. */
export type Rows<T extends object> = Pick<Table<T>, 'size' | 'get' | 'has' | 'all' | 'where' | 'put' | 'remove'>;

/** The rows under a key of an index: a single id, as most keys have, or several ids with a cached list of their rows. */
type Filing<T> = string | { readonly ids: Set<string>; rows: readonly T[] | undefined };

/** Holds the rows and indexes of a collection; passes each change to `changes`, which makes it part of the transaction. */
export class Table<T extends object> {
  readonly collection: Collection<T>;
  readonly #changes: (table: Table<T>, id: string, row: T | undefined) => void;
  readonly #rows = new Map<string, T>();
  readonly #indexes = new Map<string, Map<string, Filing<T>>>();

  constructor(of: Collection<T>, changes: (table: Table<T>, id: string, row: T | undefined) => void) {
    this.collection = of;
    this.#changes = changes;
    for (const name of Object.keys(of.indexes)) this.#indexes.set(name, new Map());
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
    this.#changes(this, this.collection.id(row), withoutUndefined(row));
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

  where(index: string, key: string): readonly T[] {
    const filed = this.#indexes.get(index)?.get(key);
    if (filed === undefined) return [];
    if (typeof filed === 'string') return this.#rowsOf([filed]);
    filed.rows ??= this.#rowsOf(filed.ids);
    return filed.rows;
  }

  /** Adds or replaces the row of an id; undefined removes the row. */
  set(id: string, row: T | undefined): void {
    const before = this.#rows.get(id);
    if (row === undefined) this.#rows.delete(id);
    else this.#rows.set(id, row);
    for (const [name, index] of this.#indexes) {
      const filed = this.collection.indexes[name];
      if (filed !== undefined) refile(index, id, keysOf(filed, before), keysOf(filed, row));
    }
  }

  #rowsOf(ids: Iterable<string>): readonly T[] {
    const found = Array.from(ids, (id) => this.#rows.get(id)).filter((row) => row !== undefined);
    const { order } = this.collection;
    return order === undefined ? found : found.sort((one, other) => order(one) - order(other));
  }
}

/** Copies a row without the fields that are undefined. */
function withoutUndefined<T extends object>(row: T): T {
  const isWhole = !Object.values(row).includes(undefined);
  return isWhole ? row : (Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as T);
}

/** Lists the keys of a row in an index. */
export function keysOf<T>(filed: Filed<T>, row: T | undefined): readonly string[] {
  const keys = row === undefined ? [] : (filed(row) ?? []);
  return typeof keys === 'string' ? [keys] : keys;
}

function refile<T>(
  index: Map<string, Filing<T>>,
  id: string,
  before: readonly string[],
  after: readonly string[],
): void {
  for (const key of before) {
    if (after.includes(key)) continue;
    const filed = index.get(key);
    if (typeof filed === 'object') {
      filed.rows = undefined;
      filed.ids.delete(id);
    }
    if (filed === id || (typeof filed === 'object' && filed.ids.size === 0)) index.delete(key);
  }
  for (const key of after) {
    const filed = index.get(key);
    if (filed === undefined) index.set(key, id);
    else if (typeof filed === 'object') {
      filed.rows = undefined;
      filed.ids.add(id);
    } else if (filed !== id) index.set(key, { ids: new Set([filed, id]), rows: undefined });
  }
}
