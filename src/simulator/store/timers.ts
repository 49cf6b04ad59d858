import { collection } from './collection.ts';

/** A function that will run at a time of the clock; timers are part of the world, so they survive a restart. */
export interface Timer {
  readonly timerId: string;
  readonly at: number;
  /** Orders timers of the same time by when they were scheduled. */
  readonly order: number;
  /** The name of the function to run, as `area.event`. */
  readonly kind: string;
  readonly data: unknown;
}

/** All timers that have not fired. */
export const timers = collection<Timer>('timers', (timer) => timer.timerId);

type Entry = Pick<Timer, 'timerId' | 'at' | 'order'>;

function earlier(a: Entry, b: Entry): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}

/** Keeps timers in the order of time; a cancelled timer stays in the queue until it is first. */
export class TimerQueue {
  readonly #entries: Entry[] = [];

  push({ timerId, at, order }: Entry): void {
    const entry = { timerId, at, order };
    const before = this.#entries.findLastIndex((each) => !earlier(entry, each));
    this.#entries.splice(before + 1, 0, entry);
  }

  /** Returns the first entry for which `alive` is true, and drops the entries before it. */
  peek(alive: (entry: Entry) => boolean): Entry | undefined {
    const next = this.#entries.findIndex(alive);
    if (next !== 0) this.#entries.splice(0, next < 0 ? this.#entries.length : next);
    return this.#entries[0];
  }
}
