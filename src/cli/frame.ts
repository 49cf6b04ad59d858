/** How every command begins and ends: flags, help, one line on what keeps it from its work, and the exit code. */
import { parseFlags, program, wordOf, type CommandLine, type Flags, type Settings } from '../config.ts';
import { exitCodes, type Speaks, standard } from './output.ts';

/** A problem that ends a command: the line, and whether other flags would help. */
export interface Trouble {
  readonly trouble: string;
  readonly isUsage?: boolean;
}

/** What a command is called with, and where it speaks. */
export interface Called<F extends Flags> {
  readonly settings: Settings<F>;
  readonly operands: readonly string[];
  readonly speaks: Speaks;
  /** Says a line beside the result. */
  readonly warn: (line: string) => void;
}

/** A command to be called with its arguments; `extra` is what tests give in place of the world. */
export type Command<Extra extends readonly unknown[] = []> = (
  args: readonly string[],
  speaks?: Speaks,
  ...extra: Extra
) => Promise<number>;

/** A command: `work` ends with an exit code, or with what kept it from its work. */
export function command<F extends Flags, Extra extends readonly unknown[] = []>(
  line: CommandLine<F>,
  work: (called: Called<F>, ...extra: Extra) => Promise<number | Trouble>,
): Command<Extra> {
  const name = `${program} ${wordOf(line)}`;
  return async (args, speaks = standard, ...extra) => {
    const parsed = parseFlags(line, args);
    if (parsed.kind === 'help') {
      speaks.out(parsed.text);
      return exitCodes.fine;
    }
    if (parsed.kind === 'wrong') {
      speaks.err(`${parsed.line}\n`);
      return exitCodes.usage;
    }
    const { settings, operands = [] } = parsed;
    const warn = (text: string) => speaks.err(`${name}: ${text}\n`);
    try {
      const ended = await work({ settings, operands, speaks, warn }, ...extra);
      if (typeof ended === 'number') return ended;
      warn(ended.isUsage === true ? `${ended.trouble}; ${name} --help lists the options` : ended.trouble);
      return ended.isUsage === true ? exitCodes.usage : exitCodes.unknown;
    } catch (error) {
      warn(error instanceof Error ? error.message : String(error));
      return exitCodes.unknown;
    }
  };
}
