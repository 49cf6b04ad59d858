import { KubeError } from '../../engine/ports.ts';
import { GarbledError } from '../client/failure.ts';
import type { ListReason } from './reflector-options.ts';
import { SilenceError } from './watch-deadline.ts';

/** Thrown to end a watch, so that every object is listed again. */
export class Relist extends Error {
  readonly reason: ListReason;

  constructor(reason: ListReason) {
    super(`listing again: ${reason}`);
    this.name = 'Relist';
    this.reason = reason;
  }
}

/** The reason to list again after a failure; undefined when it is enough to open the watch again. */
export function listReasonOf(error: unknown): ListReason | undefined {
  if (error instanceof Relist) return error.reason;
  if (error instanceof SilenceError) return 'silent';
  if (error instanceof GarbledError) return 'garbled';
  return error instanceof KubeError && error.reason === 'gone' ? 'gone' : undefined;
}
