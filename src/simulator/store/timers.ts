import { collection } from './collection.ts';

/** A future event that happens by itself; part of the world, so that it survives a restart. */
export interface Timer {
  readonly timerId: string;
  readonly at: number;
  /** Ties are broken by who came first. */
  readonly order: number;
  /** `area.event`: names the function of the area that runs. */
  readonly kind: string;
  readonly data: unknown;
}

/** Every timer that has not fired. */
export const timers = collection<Timer>('timers', (timer) => timer.timerId);

type Entry = Pick<Timer, 'timerId' | 'at' | 'order'>;

function earlier(a: Entry, b: Entry): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}

/** The timers of the world in the order of time; entries whose timer is gone are skipped when their turn comes. */
export class TimerQueue {
  readonly #entries: Entry[] = [];

  push({ timerId, at, order }: Entry): void {
    const entry = { timerId, at, order };
    const before = this.#entries.findLastIndex((each) => !earlier(entry, each));
    this.#entries.splice(before + 1, 0, entry);
  }

  /** The next entry that `alive` confirms; the ones before it are dropped. */
  peek(alive: (entry: Entry) => boolean): Entry | undefined {
    const next = this.#entries.findIndex(alive);
    if (next !== 0) this.#entries.splice(0, next < 0 ? this.#entries.length : next);
    return this.#entries[0];
  }
}
