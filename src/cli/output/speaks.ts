/** The streams of a command: only its result goes to `out`. */
export interface Speaks {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** True where a line may be written over: a person looks at it. */
  readonly isTerminal: boolean;
}

/** The streams of the process. */
export const standard: Speaks = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
};
