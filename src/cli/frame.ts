/** The frame of every command: parses flags, prints help, the result or the problem, and sets the exit code. */
import { parseFlags, program, wordOf, type CommandLine, type Flags, type Settings } from '../config.ts';
import { asData, exitCodes, type Speaks, standard } from './output.ts';

/** A problem that ends a command: the line to print, and whether the command line was wrong. */
export interface Trouble {
  readonly trouble: string;
  readonly isUsage?: boolean;
}

/** The result of a command; its parts are printed in this order. */
export interface CommandAnswer extends Partial<Trouble> {
  /** What could not be found out, one sentence each; if there are any, the exit code is 1. */
  readonly problems?: readonly string[];
  /** The result for programs, as `-o json` and `-o yaml` print it. */
  readonly data?: unknown;
  /** The result for people, printed unless `-o` is json or yaml. */
  readonly text?: string;
  /** A line for standard error, after the result. */
  readonly note?: string;
  /** The exit code if nothing is wrong; 0 unless given. */
  readonly code?: number;
}

/** The flags and operands that a command is called with, and its output streams. */
export interface Called<F extends Flags> {
  readonly settings: Settings<F>;
  readonly operands: readonly string[];
  readonly speaks: Speaks;
  /** Prints a line to standard error at once. */
  readonly warn: (line: string) => void;
}

/** A command as a function of its arguments; tests replace the outside world with `extra`. */
export type Command<Extra extends readonly unknown[] = []> = (
  args: readonly string[],
  speaks?: Speaks,
  ...extra: Extra
) => Promise<number>;

/** Makes a command. `work` returns the answer to print, or only an exit code if it has printed everything itself. */
export function command<F extends Flags, Extra extends readonly unknown[] = []>(
  line: CommandLine<F>,
  work: (called: Called<F>, ...extra: Extra) => Promise<number | CommandAnswer>,
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
      const answer: CommandAnswer = typeof ended === 'number' ? { code: ended } : ended;
      const { problems = [], data, text = '', note, trouble, isUsage, code } = answer;
      for (const problem of problems) warn(problem);
      const { output } = settings as { readonly output?: unknown };
      speaks.out((data === undefined ? undefined : asData(output, data)) ?? text);
      if (note !== undefined) warn(note);
      if (trouble !== undefined) warn(isUsage === true ? `${trouble}; ${name} --help lists the options` : trouble);
      if (isUsage === true) return exitCodes.usage;
      return trouble === undefined && problems.length === 0 ? (code ?? exitCodes.fine) : exitCodes.unknown;
    } catch (error) {
      warn(error instanceof Error ? error.message : String(error));
      return exitCodes.unknown;
    }
  };
}
