/** Keys ordered by time, each at most once; the earlier time wins. */
export class DelayHeap<Key> {
  readonly #entries: { at: number; readonly key: Key }[] = [];
  readonly #position = new Map<Key, number>();

  get size(): number {
    return this.#entries.length;
  }

  /** The earliest time, if there is any. */
  get nextAt(): number | undefined {
    return this.#entries[0]?.at;
  }

  add(key: Key, at: number): void {
    const index = this.#position.get(key);
    const known = index === undefined ? undefined : this.#entries[index];
    if (index === undefined || known === undefined) {
      this.#entries.push({ at, key });
      this.#position.set(key, this.#entries.length - 1);
      this.#rise(this.#entries.length - 1);
    } else if (at < known.at) {
      known.at = at;
      this.#rise(index);
    }
  }

  /** Takes the earliest key whose time has come. */
  takeDue(now: number): Key | undefined {
    const first = this.#entries[0];
    if (first === undefined || first.at > now) return undefined;
    this.remove(first.key);
    return first.key;
  }

  remove(key: Key): void {
    const index = this.#position.get(key);
    if (index === undefined) return;
    const last = this.#entries.length - 1;
    this.#swap(index, last);
    this.#entries.pop();
    this.#position.delete(key);
    if (index < last) {
      this.#rise(index);
      this.#sink(index);
    }
  }

  #swap(i: number, j: number): void {
    const a = this.#entries[i];
    const b = this.#entries[j];
    if (a === undefined || b === undefined || i === j) return;
    this.#entries[i] = b;
    this.#entries[j] = a;
    this.#position.set(b.key, i);
    this.#position.set(a.key, j);
  }

  #at(index: number): number {
    return this.#entries[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #rise(start: number): void {
    for (let index = start; index > 0;) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= this.#at(index)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(start: number): void {
    for (let index = start; ;) {
      const left = 2 * index + 1;
      const least = [left, left + 1].reduce((a, b) => (this.#at(b) < this.#at(a) ? b : a), index);
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }
}
