import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, mkdirSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CannotStart, reasonOf } from '../cannot-start.ts';
import { poll } from '../poll.ts';
import { inTime } from '../../base/time.ts';
import { realClock } from '../../cli/machine.ts';

/** How to run a program until it is stopped, and how to check whether the program is up. */
export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The environment variables of the program; if undefined, the program gets those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The file to which the output of the program is appended. */
  readonly logPath: string;
  readonly isUp: () => Promise<boolean>;
  readonly upWithinMs: number;
  /** The time, in milliseconds, that the program may take to end before it is killed. */
  readonly graceMs: number;
}

/** How a process ended: with an exit code or by a signal. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const killMs = 10_000;

/** Runs a program, which can be stopped and started again. Reports when the program ends by itself. */
export class Daemon {
  readonly #program: Program;
  readonly #onEndedByItself: (ending: Ending) => void;
  #child: ChildProcess | undefined;
  #ended: Promise<Ending> = Promise.resolve({ code: null, signal: null });
  #ending: Promise<void> = Promise.resolve();
  #logFrom = 0;

  constructor(program: Program, onEndedByItself: (ending: Ending) => void = () => {}) {
    this.#program = program;
    this.#onEndedByItself = onEndedByItself;
  }

  /**
   * The process id of the program; undefined if the program was not started, is being ended, or has ended by itself after
   * it was up.
   */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the program and waits until it is up. If the start fails, throws `CannotStart` with the end of the program's log. If
   * the signal is aborted, ends the program.
   */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#child !== undefined) return;
    const { name, isUp, upWithinMs } = this.#program;
    const child = await this.#spawn();
    let ending: Ending | undefined;
    const ended = this.#ended.then((how) => (ending = how));
    const up = async () => ((await isUp()) ? true : undefined);
    const over = () => ending !== undefined || signal?.aborted === true;
    const came = await poll(up, { everyMs: 50, deadlineMs: upWithinMs, over });
    if (came === true && ending === undefined) {
      void ended.then((how) => {
        if (this.#child !== child) return;
        this.#child = undefined;
        this.#onEndedByItself(how);
      });
      return;
    }
    if (signal?.aborted === true) {
      await this.stop();
      throw signal.reason;
    }
    const late = `${name} did not come up within ${upWithinMs / 1000} s`;
    const why = ending === undefined ? late : `${name} ended (${described(ending)})`;
    await this.kill();
    throw new CannotStart(why + (await this.#lastWords()));
  }

  /** Ends the program with SIGTERM, and with SIGKILL after its grace period. Returns when the program has ended. */
  async stop(): Promise<void> {
    await this.#end(async (child) => {
      child.kill('SIGTERM');
      if ((await inTime(realClock, this.#program.graceMs, this.#ended)) === undefined) await killed(child, this.#ended);
    });
  }

  /** Kills the program at once, as a crash would. */
  async kill(): Promise<void> {
    await this.#end((child) => killed(child, this.#ended));
  }

  /** Ends the child process; if the process is ending already, only waits for its end. */
  async #end(how: (child: ChildProcess) => Promise<void>): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) this.#ending = how(child);
    await this.#ending;
  }

  async #spawn(): Promise<ChildProcess> {
    const { name, command, args, env, logPath } = this.#program;
    mkdirSync(dirname(logPath), { recursive: true });
    const log = openSync(logPath, 'a', 0o600);
    this.#logFrom = fstatSync(log).size;
    // Start the program in a process group of its own, so that Ctrl-C reaches only the sandbox, which then ends the
    // programs in the right order.
    const child = spawn(command, args, { detached: true, stdio: ['ignore', log, log], env });
    closeSync(log);
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    try {
      await once(child, 'spawn');
    } catch (error) {
      this.#child = undefined;
      throw new CannotStart(`${name} cannot be started: ${reasonOf(error)}`);
    }
    return child;
  }

  async #lastWords(): Promise<string> {
    const text = (await readFile(this.#program.logPath, 'utf8').catch(() => '')).slice(this.#logFrom);
    const { logPath } = this.#program;
    if (text === '') return `; nothing new could be read from its log ${logPath}`;
    const lines = text.trimEnd().split('\n').slice(-8).join('\n  ');
    return `; the log ${logPath} ends with:\n  ${lines}`;
  }
}

/** Describes how a process ended: its exit code or its signal. */
export function described({ code, signal }: Ending): string {
  return signal === null ? `exit code ${code}` : signal;
}

async function killed(child: ChildProcess, ended: Promise<Ending>): Promise<void> {
  child.kill('SIGKILL');
  if ((await inTime(realClock, killMs, ended)) === undefined) throw new Error(`process ${child.pid} cannot be killed`);
}
