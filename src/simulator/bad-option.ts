/** The simulator cannot start as it was asked to: a flag, a world, a reading or a file makes no sense. The command exits 2. */
export class BadOption extends Error {
  override readonly name = 'BadOption';
}
