import { expect, it } from 'vitest';
import { CopiedRepository } from './support/copied-repository.ts';

/*
 * "Add a kind in an afternoon" of CONTRIBUTING.md, followed word by word in a copy of the repository: its files are written, its
 * line is added, its commands are run. In the end the copy must compile.
 */

/** Adds an import, and the name it imports to the list at the end. */
function withLine(text: string, line: string): string {
  const [, name = ''] = /\{ (\w+) \}/u.exec(line) ?? [];
  return `${line}${text.replace(/\n\];\n$/u, `\n  ${name},\n];\n`)}`;
}

it('a kind is added as CONTRIBUTING.md says', () => {
  const copy = CopiedRepository.make();

  const printed = copy.follow('Add a kind in an afternoon', (note, text) => {
    if (note !== 'a line of src/kinds/index.ts') copy.write(note, text);
    else copy.write('src/kinds/index.ts', withLine(copy.read('src/kinds/index.ts'), text));
  });

  expect(printed[0]).toContain('wrote: crds/mailinglists.yaml');
  expect(printed[0]).toContain('wrote: docs/kinds/mailing-list.md');
  expect(printed[1]).toContain('1 passed');
  expect(copy.bin('tsc')).toBe('');
}, 600_000);
