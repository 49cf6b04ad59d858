import { collection } from './collection.ts';

/** A function that will run at a time of the simulator's clock. Timers are part of the world, so they survive a restart. */
export interface Timer {
  readonly timerId: string;
  readonly at: number;
  /** The order in which timers were scheduled, for timers of the same time. */
  readonly order: number;
  /** The name of the function to run, such as `environments.settles`. */
  readonly kind: string;
  readonly data: unknown;
}

/** The collection of all timers that have not fired. */
export const timers = collection<Timer>('timers', (timer) => timer.timerId);

/** Returns the id of the timer of a kind for a subject. A subject has one timer of a kind at a time. */
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
