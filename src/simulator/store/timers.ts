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

/** The id of the timer of a kind for a subject, of which there is one at a time. */
export function timerIdOf(kind: string, subject: string): string {
  return `${kind}/${subject}`;
}

/** Finds the timer that fires first. */
export function firstOf(all: readonly Timer[]): Timer | undefined {
  return all.reduce<Timer | undefined>((first, each) => (first && isEarlier(first, each) ? first : each), undefined);
}

function isEarlier(one: Timer, other: Timer): boolean {
  return one.at === other.at ? one.order < other.order : one.at < other.at;
}
