/**
 * Thrown when the simulator cannot start because a flag, a file or the address cannot be used. The command then exits
 * with code 2.
 */
export class BadOption extends Error {
  override readonly name = 'BadOption';
}
