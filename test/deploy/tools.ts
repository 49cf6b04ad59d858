import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { goBuild, goSettings, whyNotGo } from '../../src/sandbox/binaries/go-build.ts';
import type { Progress } from '../../src/sandbox/binaries/progress.ts';
import { environmentWith } from '../../src/config.ts';
import { NotRun } from './support/report.ts';

/** Programs that are built from a folder of Go sources and versions. */
export interface GoPrograms {
  /** The folder in our cache. */
  readonly name: string;
  readonly source: string;
  /** A package of the folder, which makes one program, or `tool`, which makes a folder of all that its go.mod names. */
  readonly target: '.' | 'tool';
  /** What is built, for whoever waits, and about how long it takes. */
  readonly words: string;
  readonly wholeMs: number;
}

const deployTools: GoPrograms = {
  name: 'deploy-tools',
  source: join(import.meta.dirname, 'tools'),
  target: '.',
  words: 'the tools from their Go modules (about 3 minutes on two cores, once)',
  // Seven minutes leave the rest of the checks five: see docs/design/testing.md.
  wholeMs: 7 * 60_000,
};
const silenceMs = 3 * 60_000;

/** The program of `tools/`. */
export function builtTools(cacheDir: string, progress: Progress): Promise<string> {
  return builtFrom(deployTools, cacheDir, progress);
}

/**
 * Programs that are built once for each state of their sources and versions and kept in our cache. Throws `NotRun` where they
 * cannot be built for want of Go, of a network or of time; what does not compile is an error.
 */
export async function builtFrom(programs: GoPrograms, cacheDir: string, progress: Progress): Promise<string> {
  const { name, source, target, words } = programs;
  const dir = join(cacheDir, name);
  const path = join(dir, `${await digestOf(source)}-${process.platform}-${process.arch}`);
  if (existsSync(path)) return path;
  const obstacle = await whyNotGo();
  if (obstacle !== undefined) throw new NotRun(obstacle);
  await mkdir(dir, { recursive: true });
  const draft = `${path}.${process.pid}`;
  try {
    // Go makes several programs only into a folder.
    const into = target === 'tool' ? `${draft}/` : draft;
    await progress.during(`building ${words}`, (detail) => build(programs, into, detail));
    await rename(draft, path);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return path;
}

async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(folder)).toSorted()) hash.update(name).update(await readFile(join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}

async function build(
  { source, target, wholeMs }: GoPrograms,
  into: string,
  detail: (text: string) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A process group of its own, so that its compilers end with it.
  const child = spawn('go', [...goBuild, '-ldflags', '-s -w', '-o', into, target], {
    cwd: source,
    env: environmentWith(goSettings),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const giveUp = (why: string) => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    reject(new NotRun(why));
  };
  const whole = setTimeout(() => giveUp(`go build took more than ${wholeMs / 60_000} minutes`), wholeMs);
  const silence = setTimeout(() => giveUp(`go build was silent for ${silenceMs / 60_000} minutes`), silenceMs);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    silence.refresh();
    lines.push(line);
    detail(line.startsWith('go: downloading ') ? line.slice('go: '.length) : `${lines.length} packages`);
  });
  child.once('error', reject);
  child.once('close', (code) => (code === 0 ? resolve() : reject(failure(lines))));
  await promise.finally(() => [whole, silence].forEach(clearTimeout));
}

/** What Go says of our own sources is an error; anything else is about getting or building those of others here. */
function failure(lines: readonly string[]): Error {
  const broken = lines.lastIndexOf('# apphosting.dev/test/deploy/tools');
  if (broken !== -1 && lines.length > broken + 1) return new Error(lines.slice(broken, broken + 5).join('\n'));
  return new NotRun(`go build: ${lines.at(-1) ?? 'failed'}`);
}
