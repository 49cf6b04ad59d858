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

/** A heap over the timers of the world; entries whose timer is gone are skipped when they surface. */
export class TimerQueue {
  readonly #heap: Entry[] = [];

  push(timer: Entry): void {
    const heap = this.#heap;
    let at = heap.push({ timerId: timer.timerId, at: timer.at, order: timer.order }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfEarlier(at, parent)) return;
      at = parent;
    }
  }

  /** The next entry that `alive` confirms; the ones before it are dropped. */
  peek(alive: (entry: Entry) => boolean): Entry | undefined {
    for (let head = this.#heap[0]; head !== undefined; head = this.#heap[0]) {
      if (alive(head)) return head;
      this.#shift();
    }
    return undefined;
  }

  #shift(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      if (left >= heap.length) return;
      const [a, b] = [heap[left], heap[left + 1]];
      const child = a !== undefined && b !== undefined && earlier(b, a) ? left + 1 : left;
      if (!this.#swapIfEarlier(child, at)) return;
      at = child;
    }
  }

  #swapIfEarlier(child: number, parent: number): boolean {
    const [a, b] = [this.#heap[child], this.#heap[parent]];
    if (a === undefined || b === undefined || !earlier(a, b)) return false;
    this.#heap[child] = b;
    this.#heap[parent] = a;
    return true;
  }
}
