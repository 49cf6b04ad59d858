import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { inject } from 'vitest';
import { poll } from '../../../src/sandbox/poll.ts';
import { inTime } from '../../../src/base/time.ts';
import { realClock } from '../../../src/cli/machine.ts';
import { waiting } from './kubernetes.ts';

/** The program as a process of its own. */
export interface Running {
  readonly pid: number;
  /** Everything it has printed. */
  readonly output: () => string;
  /** Its exit code once it has ended; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** What it had printed when it ended although nobody had sent it a signal to end; undefined while it has not. */
  readonly gaveUp: () => string | undefined;
  /** Ends it, whatever state it is in. */
  readonly end: () => Promise<void>;
}

/** What the program is run with: its compiled code is kept beside the bundle, and goes when that goes. */
export function keepingCompiled(): Readonly<Record<string, string>> {
  return { NODE_COMPILE_CACHE: join(inject('prepared').program, '..', '..', 'compiled') };
}

/** Starts `apphosting ARGS…`, away from whatever cluster the environment names. */
export function startProgram(args: readonly string[]): Running {
  const { KUBECONFIG: _none, ...rest } = process.env;
  const child = spawn(process.execPath, [inject('prepared').program, ...args], {
    env: { ...rest, ...keepingCompiled() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  let isSignalled = false;
  let gaveUp: string | undefined;
  const ended = once(child, 'close').then(([code]: (number | null)[]) => {
    if (!isSignalled) gaveUp = printed;
    return code ?? null;
  });
  const signal = (which: NodeJS.Signals) => {
    // One that is only held may still end by itself.
    if (which !== 'SIGSTOP' && which !== 'SIGCONT') isSignalled = true;
    child.kill(which);
  };
  return {
    pid: child.pid ?? 0,
    output: () => printed,
    ended,
    signal,
    gaveUp: () => gaveUp,
    end: async () => {
      signal('SIGCONT');
      signal('SIGTERM');
      if ((await inTime(realClock, 10_000, ended)) === undefined) signal('SIGKILL');
      await ended;
    },
  };
}

/** Waits until what a program printed matches, and returns the match. */
export async function printed(running: Running, pattern: RegExp): Promise<RegExpExecArray> {
  let over = false;
  void running.ended.then(() => (over = true));
  const look = async () => pattern.exec(running.output()) ?? undefined;
  const found = await poll(look, { ...waiting, everyMs: 25, over: () => over });
  if (found === undefined) throw new Error(`it does not print ${String(pattern)}, but:\n${running.output()}`);
  return found;
}
