import { randomUUID } from 'node:crypto';

import { Log } from './ledger.ts';

/** A row that changed: what it is now is for the reader to look up. */
export interface ChangedRow {
  readonly seq: number;
  readonly collection: string;
  readonly id: string;
}

const longest = 50_000;

/** Which rows changed of late, for whoever follows the world without reading all of it again; bounded. */
export class RecentChanges {
  readonly #log = new Log<ChangedRow>(longest);
  #seq = 0;
  #epoch: string = randomUUID();

  /** Another value for every world that was loaded: what was read before is of no use then. */
  get epoch(): string {
    return this.#epoch;
  }

  /** The number of the newest change. */
  get seq(): number {
    return this.#seq;
  }

  note(collection: string, id: string): void {
    this.#seq += 1;
    this.#log.push({ seq: this.#seq, collection, id });
  }

  /** What changed above `seq`; undefined when that is too long ago to be known. */
  after(seq: number): readonly ChangedRow[] | undefined {
    if (seq > this.#seq) return undefined;
    const changed = this.#log.after(seq);
    return changed.length === this.#seq - seq ? changed : undefined;
  }

  startAgain(): void {
    this.#log.clear();
    this.#seq = 0;
    this.#epoch = randomUUID();
  }
}
