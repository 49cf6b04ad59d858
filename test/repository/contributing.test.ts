import { expect, it } from 'vitest';
import { CopiedRepository } from './copied-repository.ts';

/*
 * "Add a field" and "Add a kind in an afternoon" of CONTRIBUTING.md, followed word by word in a copy of the repository: each line goes
 * where the page says, files are written, commands are run. In the end the copy must compile.
 */

/** Applies a diff without numbers of lines: its parts are separated by empty lines, and the place of each must be there once. */
function changed(text: string, diff: string): string {
  return diff.split(/\n{2,}/u).reduce((whole, part) => {
    const lines = part.trimEnd().split('\n');
    const without = (mark: string) =>
      lines.flatMap((line) => (line.startsWith(mark) ? [] : [line.slice(1)])).join('\n');
    const [before, ...others] = whole.split(`\n${without('+')}\n`);
    if (others.length !== 1) throw new Error(`not there once, but ${others.length} times:\n${without('+')}`);
    return `${before}\n${without('-')}\n${others[0]}`;
  }, text);
}

/** Adds an import, and the name it imports to the list at the end. */
function withLine(text: string, line: string): string {
  const [, name = ''] = /\{ (\w+) \}/u.exec(line) ?? [];
  return `${line}${text.replace(/\n\];\n$/u, `\n  ${name},\n];\n`)}`;
}

it('fields and a kind are added as CONTRIBUTING.md says', () => {
  const copy = CopiedRepository.make();
  const follow = (title: string) => {
    const touched = new Set<string>();
    const commands = copy.follow(title, (path, diff) => {
      copy.write(path, changed(copy.read(path), diff));
      touched.add(path);
    });
    return { touched, commands };
  };

  const setting = follow('A setting of a ContactPoint');
  const beside = follow('A field beside the settings');
  // Both end with the same commands: run once, these try both fields.
  const ofFields = setting.commands.map((line) => copy.command(line));
  const ofKind = copy
    .follow('Add a kind in an afternoon', (note, text) => {
      if (note !== 'a line of src/kinds/index.ts') copy.write(note, text);
      else copy.write('src/kinds/index.ts', withLine(copy.read('src/kinds/index.ts'), text));
    })
    .map((line) => copy.command(line));

  expect(beside.commands).toEqual(setting.commands);
  expect(ofFields[0]).toContain('wrote: crds/contactpoints.yaml');
  expect(ofFields[0]).toContain('wrote: docs/kinds/contact-point.md');
  expect(ofFields[2]).toMatch(/Tests +\d+ passed/u);
  // A person touches few files for a field.
  expect(setting.touched.size).toBeLessThanOrEqual(5);
  expect(beside.touched.size).toBeLessThanOrEqual(8);
  expect(ofKind[0]).toContain('wrote: crds/mailinglists.yaml');
  expect(ofKind[0]).toContain('wrote: docs/kinds/mailing-list.md');
  expect(ofKind[1]).toContain('1 passed');
  copy.types();
}, 600_000);
