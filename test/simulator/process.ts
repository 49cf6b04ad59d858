import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';

/** A simulator in a process of its own. */
export interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly port: number;
  /** Everything on stdout so far. */
  readonly output: () => string;
  readonly end: (signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL') => Promise<number | null>;
}

/** How a simulator that did not start ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(args: readonly string[]) {
  const child = spawn(execPath, ['src/main.ts', 'simulator', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()));
  return { child, texts };
}

/** Starts one on a free port and waits until it listens. */
export async function running(...args: readonly string[]): Promise<Running> {
  const { child, texts } = launch(['--listen', '127.0.0.1:0', ...args]);
  const exited = once(child, 'exit');
  while (!texts.stdout.includes('\n')) {
    const outcome = await Promise.race([once(child.stdout, 'data').then(() => 'said'), exited.then(() => 'ended')]);
    if (outcome === 'ended') throw new Error(`the simulator did not start: ${texts.stderr}`);
  }
  const url = texts.stdout.trim().split(' ').at(-1) ?? '';
  const end = async (signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL') => {
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
  return { child, url, port: Number(new URL(url).port), output: () => texts.stdout, end };
}

/** Starts one that is expected to give up. */
export async function ended(...args: readonly string[]): Promise<Ended> {
  const { child, texts } = launch(args);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...texts };
}
