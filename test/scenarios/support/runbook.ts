import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { inject } from 'vitest';
import { poll } from '../../../src/sandbox/poll.ts';
import { inTime } from '../../../src/base/time.ts';
import { realClock } from '../../../src/cli/machine.ts';
import { sharedKubernetes, waiting } from './kubernetes.ts';
import { keepingCompiled } from './running.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** A block of commands of a runbook, and what the page says that they show. */
export interface Block {
  /** The heading above it. */
  readonly heading: string;
  readonly commands: string;
  readonly shows: readonly string[];
}

/** The blocks of commands of a runbook, in their order. */
export async function blocksOf(runbook: string): Promise<readonly Block[]> {
  const page = await readFile(join(root, 'docs', 'runbooks', runbook), 'utf8');
  const blocks: Block[] = [];
  let heading = '';
  for (const [, title, language, text = ''] of page.matchAll(/^## (.+)$|^```(\w+)\n([^]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else if (language === 'sh') blocks.push({ heading, commands: text, shows: [] });
    else if (language === 'text') blocks.push({ ...taken(blocks, runbook), shows: text.trimEnd().split('\n') });
    else throw new Error(`${runbook} has a block of "${String(language)}": nobody can run that`);
  }
  return blocks;
}

function taken(blocks: Block[], runbook: string): Block {
  const last = blocks.pop();
  if (last === undefined) throw new Error(`${runbook} shows something before there is a command`);
  return last;
}

/** Which lines of a page are not in what was printed, in their order; numbers, ids and times may be others. */
export function missing(shows: readonly string[], printed: string): readonly string[] {
  const lines = printed.split('\n').map(likeness);
  let from = 0;
  return shows.filter((line) => {
    const at = lines.indexOf(likeness(line), from);
    if (at >= 0) from = at + 1;
    return at < 0;
  });
}

/** A line without what differs each time: every word with a digit in it. */
function likeness(line: string): string {
  return line
    .replaceAll(/[\w.:-]*\d[\w.:-]*/g, '#')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** A person at a shell with the two programs that a runbook asks for. */
export class Shell {
  readonly #folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  /** Everything that was typed and printed. */
  transcript = '';

  private constructor(folder: string, environment: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** A shell in this folder, with `kubectl` and `apphosting` on its PATH and this kubeconfig. */
  static async open(folder: string, kubeconfig: string): Promise<Shell> {
    const bin = join(folder, 'bin');
    await mkdir(bin, { recursive: true });
    const { binaries, kubeconfigPath } = sharedKubernetes();
    const program = `exec "${process.execPath}" "${inject('prepared').program}" "$@"`;
    const programs = { apphosting: program, 'kubectl-apphosting': program, kubectl: `exec "${binaries.kubectl}" "$@"` };
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(join(bin, name), `#!/bin/sh\n${text}\n`);
      await chmod(join(bin, name), 0o755);
    }
    return new Shell(folder, {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: join(dirname(kubeconfigPath), 'run', 'kubectl'),
      ...keepingCompiled(),
    });
  }

  /**
   * Types one block, and fails when a command fails or does not show what the page says. A command that follows something is
   * ended, as a person does, when everything has shown; `meanwhile` is what happens while it does.
   */
  async run(
    commands: string,
    shows: readonly string[] = [],
    meanwhile: (printed: () => string) => Promise<void> = () => Promise.resolve(),
  ): Promise<string> {
    const follows = /\s-w\s*$/.test(commands);
    const child = spawn('sh', ['-eu', '-c', commands], {
      cwd: this.#folder,
      env: this.#environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    const ended = once(child, 'close').then(([code]: (number | null)[]) => ({ code }));
    const allShown = async () => (missing(shows, output).length === 0 ? ('shown' as const) : undefined);
    const end = follows ? poll(allShown, waiting) : inTime(realClock, waiting.deadlineMs, ended);
    const [came] = await Promise.all([Promise.race([ended, end]), meanwhile(() => output)]);
    // The whole group: the shell and what it started.
    if (came === undefined || came === 'shown') process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
    this.transcript += `$ ${commands}${output}`;
    const failed = typeof came === 'object' && (await ended).code !== 0;
    if (failed) throw new Error(`it fails:\n${this.transcript}`);
    const lacking = missing(shows, output);
    if (lacking.length > 0) throw new Error(`it does not show\n${lacking.join('\n')}\nbut:\n${this.transcript}`);
    return output;
  }
}
