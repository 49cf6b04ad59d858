import type { Command, Outside } from '../../../src/cli/frame.ts';

/** A command that was run to its end. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process. */
export async function ran(command: Command, args: readonly string[], outside: Outside = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const speaks = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    isTerminal: false,
  };
  const code = await command(args, { ...outside, speaks });
  return { code, out, err };
}
