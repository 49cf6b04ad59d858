import { randomUUID } from 'node:crypto';

/** A row that changed: what it is now is for the reader to look up. */
export interface ChangedRow {
  readonly seq: number;
  readonly collection: string;
  readonly id: string;
}

const longest = 20_000;

/** The newest changes of rows, for a client that follows the world without reading all of it again; bounded. */
export class RecentChanges {
  #changes: ChangedRow[] = [];
  #seq = 0;
  /** Another value for every world that was loaded: what was read before is of no use then. */
  epoch: string = randomUUID();

  /** The number of the newest change. */
  get seq(): number {
    return this.#seq;
  }

  note(collection: string, id: string): void {
    this.#seq += 1;
    this.#changes.push({ seq: this.#seq, collection, id });
    if (this.#changes.length > longest) this.#changes = this.#changes.slice(-longest / 2);
  }

  /** The changes above `seq`; undefined when some of them are too long ago to be known. */
  after(seq: number): readonly ChangedRow[] | undefined {
    const missing = this.#seq - seq;
    if (missing < 0 || missing > this.#changes.length) return undefined;
    return missing === 0 ? [] : this.#changes.slice(-missing);
  }

  startAgain(): void {
    this.#changes = [];
    this.#seq = 0;
    this.epoch = randomUUID();
  }
}
