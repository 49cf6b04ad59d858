import type { Clock } from '../base/clock.ts';
import { KubeError } from '../engine/ports.ts';

/** Something took longer than its deadline. */
export class DeadlineError extends KubeError {
  constructor(what: string, afterMs: number) {
    super('unavailable', `${what}: no end after ${afterMs} ms`);
    this.name = 'DeadlineError';
  }
}

/** The result of `promise`, or a `DeadlineError` after `deadlineMs`, or the signal's reason; what comes later is dropped. */
export function within<T>(
  clock: Clock,
  deadlineMs: number,
  promise: Promise<T>,
  what: string,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cut = (): void => {
      cancel();
      reject(signal?.reason instanceof Error ? signal.reason : new Error(`${what}: stopped`));
    };
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', cut);
    };
    const cancel = clock.after(deadlineMs, () => {
      signal?.removeEventListener('abort', cut);
      reject(new DeadlineError(what, deadlineMs));
    });
    promise.then(resolve, reject).finally(end);
    if (signal?.aborted === true) cut();
    else signal?.addEventListener('abort', cut, { once: true });
  });
}

/** What came in time; undefined where the deadline passed first. */
export async function unlessLate<T>(inTime: Promise<T>): Promise<T | undefined> {
  try {
    return await inTime;
  } catch (error) {
    if (error instanceof DeadlineError) return undefined;
    throw error;
  }
}

/** Ends after `delayMs`, or as soon as the signal is aborted. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** A signal that is aborted with the first of two; call `release` when it is no longer needed. */
export function linked(outer: AbortSignal): { readonly controller: AbortController; readonly release: () => void } {
  const controller = new AbortController();
  const pass = (): void => controller.abort(outer.reason);
  if (outer.aborted) pass();
  else outer.addEventListener('abort', pass, { once: true });
  return { controller, release: () => outer.removeEventListener('abort', pass) };
}
