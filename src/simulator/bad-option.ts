/** Thrown when the simulator cannot start because a flag or a file is invalid. The command then exits with code 2. */
export class BadOption extends Error {
  override readonly name = 'BadOption';
}
