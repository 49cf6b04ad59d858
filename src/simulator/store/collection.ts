/** The keys of a row in one index: one, several, or none. */
export type Filed<T> = (row: T) => string | readonly string[] | undefined;

/** One kind of row of the world: its name in the saved state, its identity, and how it is looked up. */
export interface Collection<T extends object> {
  readonly name: string;
  readonly id: (row: T) => string;
  readonly indexes: Readonly<Record<string, Filed<T>>>;
  /** Set where a list may have to show the rows as they were a while ago. */
  readonly remembered: boolean;
}

/** A collection of any row. */
export type AnyCollection = Collection<never>;

/** Describes a collection; pass `remembered` for what the public interface lists. */
export function collection<T extends object>(
  name: string,
  id: (row: T) => string,
  options: { readonly indexes?: Readonly<Record<string, Filed<T>>>; readonly remembered?: boolean } = {},
): Collection<T> {
  return { name, id, indexes: options.indexes ?? {}, remembered: options.remembered ?? false };
}

/** The rows of one collection; rows are values and are replaced, never changed. */
export interface Rows<T extends object> {
  readonly size: number;
  get(id: string): T | undefined;
  has(id: string): boolean;
  all(): readonly T[];
  where(index: string, key: string): readonly T[];
  put(row: T): void;
  remove(id: string): void;
}

/** The Map and the indexes behind one collection; knows nothing of transactions. */
export class Table<T extends object> {
  readonly collection: Collection<T>;
  readonly #rows = new Map<string, T>();
  readonly #indexes = new Map<string, Map<string, Set<string>>>();

  constructor(of: Collection<T>) {
    this.collection = of;
    for (const name of Object.keys(of.indexes)) this.#indexes.set(name, new Map());
  }

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): T | undefined {
    return this.#rows.get(id);
  }

  all(): T[] {
    return [...this.#rows.values()];
  }

  entries(): Map<string, T> {
    return new Map(this.#rows);
  }

  where(index: string, key: string): T[] {
    const found: T[] = [];
    for (const id of this.#indexes.get(index)?.get(key) ?? []) {
      const row = this.#rows.get(id);
      if (row !== undefined) found.push(row);
    }
    return found;
  }

  /** Replaces, adds or (with undefined) removes the row with this id. */
  set(id: string, row: T | undefined): void {
    const before = this.#rows.get(id);
    if (row === undefined) this.#rows.delete(id);
    else this.#rows.set(id, row);
    for (const [name, index] of this.#indexes) {
      const filed = this.collection.indexes[name];
      if (filed !== undefined) refile(index, id, keysOf(filed, before), keysOf(filed, row));
    }
  }
}

/** The keys a row is filed under in one index. */
export function keysOf<T>(filed: Filed<T>, row: T | undefined): readonly string[] {
  if (row === undefined) return [];
  const keys = filed(row);
  if (keys === undefined) return [];
  return typeof keys === 'string' ? [keys] : keys;
}

function refile(
  index: Map<string, Set<string>>,
  id: string,
  before: readonly string[],
  after: readonly string[],
): void {
  for (const key of before) {
    if (after.includes(key)) continue;
    const ids = index.get(key);
    ids?.delete(id);
    if (ids?.size === 0) index.delete(key);
  }
  for (const key of after) {
    const ids = index.get(key);
    if (ids === undefined) index.set(key, new Set([id]));
    else ids.add(id);
  }
}
