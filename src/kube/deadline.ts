import type { Clock } from '../base/time.ts';
import { KubeError } from '../engine/ports.ts';

/** Something took longer than its deadline. */
class DeadlineError extends KubeError {
  constructor(what: string, afterMs: number) {
    super('unavailable', `${what}: no end after ${afterMs} ms`);
    this.name = 'DeadlineError';
  }
}

/** Waits for a promise at most `deadlineMs`: throws a `DeadlineError` then, or the signal's reason when that is aborted first. */
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

/** The result; undefined when a `DeadlineError` was thrown instead. */
export async function unlessLate<T>(inTime: Promise<T>): Promise<T | undefined> {
  try {
    return await inTime;
  } catch (error) {
    if (error instanceof DeadlineError) return undefined;
    throw error;
  }
}

/** Waits `delayMs`, or until the signal is aborted. */
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

/** A controller that is also aborted with the outer signal; call `release` when it is no longer needed. */
export function linked(outer: AbortSignal): { readonly controller: AbortController; readonly release: () => void } {
  const controller = new AbortController();
  const pass = (): void => controller.abort(outer.reason);
  if (outer.aborted) pass();
  else outer.addEventListener('abort', pass, { once: true });
  return { controller, release: () => outer.removeEventListener('abort', pass) };
}
