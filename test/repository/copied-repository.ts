import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { onTestFinished } from 'vitest';
import { blocksOf } from '../support/documents.ts';
import { filesUnder, root } from './files.ts';

/** A section of CONTRIBUTING.md, followed word by word in a copy of the repository on the same dependencies. */
export class CopiedRepository {
  readonly #copy: string;

  private constructor(copy: string) {
    this.#copy = copy;
  }

  /** Copies the repository until the test is over. */
  static make(): CopiedRepository {
    const copy = mkdtempSync(join(tmpdir(), 'copied-repository-'));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    for (const path of filesUnder('.').keys()) cpSync(join(root, path), join(copy, path));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    return new CopiedRepository(copy);
  }

  /** Runs a program of the repository; throws with what it printed when it fails. */
  run(command: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: this.#copy,
      encoding: 'utf8',
      // Compiled code of a copy is of use to nobody else: it is kept in there, and goes with it.
      env: { ...process.env, NO_COLOR: '1', NODE_COMPILE_CACHE: join(this.#copy, 'compiled.tmp') },
    });
    if (status !== 0) throw new Error(`${basename(command)} ${args.join(' ')} failed:\n${stdout}${stderr}`);
    return stdout;
  }

  /** Runs a program of the dependencies. */
  bin(name: string, ...args: readonly string[]): string {
    return this.run(join(root, 'node_modules', '.bin', name), ...args);
  }

  /** Compiles it; what the last check of the repository itself has found is not looked at again. */
  types(): string {
    const found = 'types.tmp';
    if (existsSync(join(root, found))) cpSync(join(root, found), join(this.#copy, found));
    // Behind their link the dependencies would be other files than those that were looked at.
    return this.bin('tsc', '--singleThreaded', '--incremental', '--tsBuildInfoFile', found, '--preserveSymlinks');
  }

  read(path: string): string {
    return readFileSync(join(this.#copy, path), 'utf8');
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.#copy, path)), { recursive: true });
    writeFileSync(join(this.#copy, path), text);
  }

  /** Follows the blocks under a heading: `place` puts a text where the note above it says; returns the commands, which are not run. */
  follow(title: string, place: (note: string, text: string) => void): readonly string[] {
    const [, section = ''] = this.read('CONTRIBUTING.md').split(new RegExp(`^##+ ${title}$`, 'mu'));
    return blocksOf(section.split(/^##+ /mu)[0] ?? '').flatMap(({ language, text, note }) => {
      if (language === 'sh') return text.trim().split('\n');
      if (note !== undefined) place(note, text);
      return [];
    });
  }

  /** Runs the program behind a command that the page names, without what npm would look after; returns what it printed. */
  command(line: string): string {
    if (line === 'npm run generate') return this.run(process.execPath, 'src/cli/reference/generate.ts');
    if (line === 'npm run format') return this.run(process.execPath, join(root, 'node_modules', '.bin', 'oxfmt'));
    if (line === 'npx tsc --noEmit -p .') return this.types();
    const [program, ...args] = line.split(' ');
    if (program !== 'npx' || args[0] !== 'vitest') return `unknown: ${line}`;
    return this.run(process.execPath, join(root, 'node_modules', '.bin', 'vitest'), ...args.slice(1));
  }
}
