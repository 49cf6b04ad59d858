import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { blocksOf } from '../support/documents.ts';
import { filesUnder, root } from '../repository/files.ts';

/*
 * "Add a kind in an afternoon" of CONTRIBUTING.md, followed word by word in a copy of the repository: its files are written, its
 * line is added, its commands are run. In the end the copy must compile.
 */

/** A copy of the repository on the same dependencies. */
function copyOfRepository(): string {
  const copy = mkdtempSync(join(tmpdir(), 'adding-a-kind-'));
  onTestFinished(() => rmSync(copy, { recursive: true }));
  for (const path of filesUnder('.').keys()) cpSync(join(root, path), join(copy, path));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Adds an import, and the name it imports to the list at the end. */
function withLine(text: string, line: string): string {
  const [, name = ''] = /\{ (\w+) \}/u.exec(line) ?? [];
  return `${line}${text.replace(/\n\];\n$/u, `\n  ${name},\n];\n`)}`;
}

it('a kind is added as CONTRIBUTING.md says', () => {
  const copy = copyOfRepository();
  const bin = (name: string) => join(root, 'node_modules', '.bin', name);
  const run = (command: string, ...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: copy,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    });
    if (status !== 0) throw new Error(`${basename(command)} ${args.join(' ')} failed:\n${stdout}${stderr}`);
    return stdout;
  };
  // The programs behind the commands that the page names, without what npm would look after.
  const commands: Readonly<Record<string, () => string>> = {
    'npm run generate': () => run(process.execPath, 'src/crd/generate.ts'),
    'npx vitest run --project unit test/kinds/mailing-list.test.ts': () =>
      run(process.execPath, bin('vitest'), 'run', '--project', 'unit', 'test/kinds/mailing-list.test.ts'),
  };
  const [, section = ''] = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split(
    /^## Add a kind in an afternoon$/mu,
  );
  const printed: string[] = [];

  for (const { language, text, note } of blocksOf(section.split(/^## /mu)[0] ?? '')) {
    if (language === 'sh')
      for (const line of text.trim().split('\n')) printed.push(commands[line]?.() ?? `unknown: ${line}`);
    else if (note === 'a line of src/kinds/index.ts') {
      const list = join(copy, 'src/kinds/index.ts');
      writeFileSync(list, withLine(readFileSync(list, 'utf8'), text));
    } else if (note !== undefined) {
      mkdirSync(dirname(join(copy, note)), { recursive: true });
      writeFileSync(join(copy, note), text);
    }
  }

  expect(printed[0]).toContain('wrote: crds/mailinglists.yaml');
  expect(printed[0]).toContain('wrote: docs/kinds/mailing-list.md');
  expect(printed[1]).toContain('1 passed');
  expect(run(bin('tsc'))).toBe('');
}, 600_000);
