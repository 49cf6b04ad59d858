/** How every command begins and ends: flags, help, its answer in the form that was asked for, what is wrong, and the exit code. */
import { parseFlags, program, wordOf, type CommandLine, type Flags, type Settings } from '../config.ts';
import { asData, exitCodes, type Speaks, standard } from './output.ts';

/** A problem that ends a command: the line, and whether other flags would help. */
export interface Trouble {
  readonly trouble: string;
  readonly isUsage?: boolean;
}

/** What a command comes to: it is printed in this order. */
export interface CommandAnswer extends Partial<Trouble> {
  /** What could not be told: with any the command ends with 1, whatever else it found. */
  readonly problems?: readonly string[];
  /** The result for programs, as `-o json` and `-o yaml` print it. */
  readonly data?: unknown;
  /** The result for people, and in every other form. */
  readonly text?: string;
  /** A line beside the result. */
  readonly note?: string;
  /** The exit code where nothing is wrong; 0 unless given. */
  readonly code?: number;
}

/** What a command is called with, and where it speaks. */
export interface Called<F extends Flags> {
  readonly settings: Settings<F>;
  readonly operands: readonly string[];
  readonly speaks: Speaks;
  /** Says a line beside the result, at once. */
  readonly warn: (line: string) => void;
}

/** A command to be called with its arguments; `extra` is what tests give in place of the world. */
export type Command<Extra extends readonly unknown[] = []> = (
  args: readonly string[],
  speaks?: Speaks,
  ...extra: Extra
) => Promise<number>;

/** A command: `work` ends with its answer, or with an exit code where all is said. */
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
