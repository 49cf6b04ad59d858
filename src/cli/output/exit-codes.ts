/** The exit codes of all commands. */
export const exitCodes = {
  fine: 0,
  /** The answer is incomplete, such as after a failed read; this code wins over all others. */
  unknown: 1,
  /** Changes or findings. */
  found: 2,
  /** A condition of `--fail-on` is met. */
  gate: 3,
  /** The command line is not valid. */
  usage: 64,
} as const;
