import { expect, it } from 'vitest';
import { CopiedRepository } from './copied-repository.ts';

/*
 * "Add a field" and "Add a kind in an afternoon" of CONTRIBUTING.md, followed word by word in a copy of the repository: each line goes
 * where the page says, files are written, commands are run. In the end the copy must compile.
 */

/** Puts a text after the first line that contains a word, or in its place. */
function placed(text: string, { where, line, put }: Readonly<Record<'where' | 'line' | 'put', string>>): string {
  const lines = text.split('\n');
  const at = lines.findIndex((one) => one.includes(line));
  if (at === -1) throw new Error(`no line has: ${line}`);
  return lines.toSpliced(where === 'after' ? at + 1 : at, where === 'after' ? 0 : 1, put.trimEnd()).join('\n');
}

/** Adds an import, and the name it imports to the list at the end. */
function withLine(text: string, line: string): string {
  const [, name = ''] = /\{ (\w+) \}/u.exec(line) ?? [];
  return `${line}${text.replace(/\n\];\n$/u, `\n  ${name},\n];\n`)}`;
}

it('a field and a kind are added as CONTRIBUTING.md says', () => {
  const copy = CopiedRepository.make();
  const touched = new Set<string>();

  const ofField = copy.follow('Add a field', (note, put) => {
    const [, path = '', where = '', line = ''] = /^(\S+), (after|in the place of) the line of (.+)$/u.exec(note) ?? [];
    copy.write(path, placed(copy.read(path), { where, line, put }));
    touched.add(path);
  });
  const ofKind = copy.follow('Add a kind in an afternoon', (note, text) => {
    if (note !== 'a line of src/kinds/index.ts') copy.write(note, text);
    else copy.write('src/kinds/index.ts', withLine(copy.read('src/kinds/index.ts'), text));
  });

  expect(ofField[0]).toContain('wrote: crds/contactpoints.yaml');
  expect(ofField[0]).toContain('wrote: docs/kinds/contact-point.md');
  expect(ofField[2]).toMatch(/Tests +\d+ passed/u);
  // A person touches few files for a field.
  expect(touched.size).toBeLessThanOrEqual(5);
  expect(ofKind[0]).toContain('wrote: crds/mailinglists.yaml');
  expect(ofKind[0]).toContain('wrote: docs/kinds/mailing-list.md');
  expect(ofKind[1]).toContain('1 passed');
  copy.types();
}, 600_000);
