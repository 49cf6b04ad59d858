import { messageOf } from '../base/text.ts';

/** Thrown if a part of the sandbox cannot start and the user can fix the cause; the command prints the message and ends. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

/** Returns the message of anything that was thrown, followed by the messages of its causes. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : '';
  return `${messageOf(error)}${cause}`;
}

/** Returns the code of a failed system call, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
