/** Says that the simulator cannot start because a flag, a world, a reading or a file is invalid. The command then exits with 2. */
export class BadOption extends Error {
  override readonly name = 'BadOption';
}
