import type { Speaks } from '../../../src/cli/output.ts';

/** A command that was run to its end. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process. */
export async function ran(
  command: (args: readonly string[], speaks: Speaks) => Promise<number>,
  args: readonly string[],
): Promise<Ran> {
  let out = '';
  let err = '';
  const code = await command(args, {
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTerminal: false,
  });
  return { code, out, err };
}
