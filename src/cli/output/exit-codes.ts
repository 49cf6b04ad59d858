/** How every command ends, whatever it prints. */
export const exitCodes = {
  fine: 0,
  /** Something could not be told, such as an incomplete read; it goes before every other. */
  unknown: 1,
  /** Changes or findings. */
  found: 2,
  /** A gate was hit. */
  gate: 3,
  /** The command line makes no sense. */
  usage: 64,
} as const;
