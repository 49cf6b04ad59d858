/** What a handler reports when it changes the world. */
export interface Entry {
  /** For example `contactPoint.created`. */
  readonly kind: string;
  /** The id of what changed. */
  readonly id: string;
  readonly accountId: string;
  /** The caller's own reference, where the request carries one. */
  readonly requestId?: string;
  /** What changed, without secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** One line of the ledger: a change that is part of the world now. */
export interface Commit extends Entry {
  readonly seq: number;
  readonly at: number;
  /** The request that caused it; null for what happened by itself or was done through the control surface. */
  readonly requestSeq: number | null;
  /** It was done through the control surface. */
  readonly control?: true;
  /** The first characters of the caller's token. */
  readonly token: string | null;
}

/** A growing list of numbered things that forgets the oldest. */
export class Log<T extends { readonly seq: number }> {
  readonly #longest: number;
  #items: T[] = [];

  constructor(longest: number) {
    this.#longest = longest;
  }

  push(item: T): void {
    this.#items.push(item);
    if (this.#items.length > this.#longest) this.#items = this.#items.slice(-Math.ceil(this.#longest * 0.8));
  }

  /** Everything numbered above `seq`, oldest first. */
  after(seq: number): readonly T[] {
    const first = this.#items[0];
    return first === undefined ? [] : this.#items.slice(Math.max(0, seq + 1 - first.seq));
  }

  /** The number of the newest; 0 when there is none. */
  get lastSeq(): number {
    return this.#items.at(-1)?.seq ?? 0;
  }

  clear(): void {
    this.#items = [];
  }
}
