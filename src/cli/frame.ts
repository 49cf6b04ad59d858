/** Runs a command: parses its flags, prints its help, result or problem, and chooses the exit code. */
import { parseFlags, program, UsageError, wordOf, type CommandLine, type Flags, type Settings } from '../config.ts';
import { messageOf } from '../base/text.ts';
import type { OpenCluster } from './cluster/open.ts';
import { realTime, type Waiting } from './machine.ts';
import { asData, exitCodes, type Speaks, standard } from './output.ts';

/** The result of a command. Its parts are printed in the order of these fields. */
export interface CommandAnswer {
  /** A line that the command prints to standard error. */
  readonly note?: string;
  /** The things that the command could not find out, one sentence each; if there are any, the exit code is 1. */
  readonly problems?: readonly string[];
  /** The result as data for programs, which `-o json` and `-o yaml` print. */
  readonly data?: unknown;
  /** The result as text for people, printed unless `-o` is json or yaml. */
  readonly text?: string;
  /** The exit code of the command; 0 by default. If `problems` has entries, the exit code is 1 instead. */
  readonly code?: number;
}

/** Things that a command uses besides its arguments, such as the cluster and the clock; tests replace them. */
export interface Outside {
  readonly speaks?: Speaks;
  /** An open cluster, which the command uses instead of the one that the flags choose. */
  readonly cluster?: OpenCluster | undefined;
  readonly time?: Waiting;
}

/** The flags and the argument that a command is called with, and the cluster, clock and streams that it uses. */
export interface Called<F extends Flags> extends Required<Outside> {
  readonly settings: Settings<F>;
  readonly operand: string | undefined;
}

/** A command as a function, which takes the arguments of the command line and returns the exit code. */
export type Command = (args: readonly string[], outside?: Outside) => Promise<number>;

/**
 * Makes a command. `work` does the work of the command. It returns the result to print, or only an exit code if it has
 * already printed everything.
 */
export function command<F extends Flags>(
  line: CommandLine<F>,
  work: (called: Called<F>) => Promise<number | CommandAnswer>,
): Command {
  const name = `${program} ${wordOf(line)}`;
  return async (args, { speaks = standard, cluster, time = realTime } = {}) => {
    const warn = (text: string) => speaks.err(`${name}: ${text}\n`);
    try {
      const parsed = parseFlags(line, args);
      if ('help' in parsed) {
        speaks.out(parsed.help);
        return exitCodes.fine;
      }
      const ended = await work({ ...parsed, speaks, cluster, time });
      const answer: CommandAnswer = typeof ended === 'number' ? { code: ended } : ended;
      const { note, problems = [], data, text = '', code = exitCodes.fine } = answer;
      for (const told of note === undefined ? problems : [note, ...problems]) warn(told);
      const { output } = parsed.settings as { readonly output?: unknown };
      speaks.out((data === undefined ? undefined : await asData(output, data)) ?? text);
      return problems.length === 0 ? code : exitCodes.unknown;
    } catch (error) {
      const message = messageOf(error);
      const isUsage = error instanceof UsageError;
      warn(isUsage ? `${message}; ${name} --help lists the options` : message);
      return isUsage ? exitCodes.usage : exitCodes.unknown;
    }
  };
}
