import { spawn } from 'node:child_process';

/** What a program printed, and how it ended. */
export interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a program is run. */
export interface Conditions {
  readonly input?: string;
  readonly cwd?: string;
  readonly limitMs?: number;
}

/** Runs a program to its end, or to the limit. */
export async function runProgram(command: string, args: readonly string[], conditions: Conditions = {}) {
  const { input = '', cwd, limitMs = 120_000 } = conditions;
  const { promise, resolve, reject } = Promise.withResolvers<Printed>();
  const child = spawn(command, args, { cwd, timeout: limitMs, killSignal: 'SIGKILL', stdio: ['pipe', 'pipe', 'pipe'] });
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (printed.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (printed.stderr += String(chunk)));
  child.once('error', reject);
  child.once('close', (code) => resolve({ code: code ?? 1, ...printed }));
  // A program that reads nothing may end before we have written.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return promise;
}
