import { KubeError } from '../../engine/ports.ts';
import { GarbledError } from '../client/failure.ts';
import type { ListReason } from './reflector-options.ts';
import { SilenceError } from './watch-deadline.ts';

/** Ends a watch so that the world is listed again. */
export class ListAgain extends Error {
  readonly reason: ListReason;

  constructor(reason: ListReason) {
    super(`listing again: ${reason}`);
    this.name = 'ListAgain';
    this.reason = reason;
  }
}

/** Why a failure is followed by a list; undefined where the same watch may simply be tried again. */
export function listReasonOf(error: unknown): ListReason | undefined {
  if (error instanceof ListAgain) return error.reason;
  if (error instanceof SilenceError) return 'silent';
  if (error instanceof GarbledError) return 'garbled';
  return error instanceof KubeError && error.reason === 'gone' ? 'gone' : undefined;
}
