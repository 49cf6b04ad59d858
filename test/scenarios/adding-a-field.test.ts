import { expect, it } from 'vitest';
import { CopiedRepository } from './support/copied-repository.ts';

/*
 * "Add a field" of CONTRIBUTING.md, followed word by word in a copy of the repository: each line goes where the page says, its
 * commands are run. In the end the copy must compile, and a person has touched few files.
 */

/** Puts a text after the first line that contains a word, or in its place. */
function placed(text: string, { where, line, put }: Readonly<Record<'where' | 'line' | 'put', string>>): string {
  const lines = text.split('\n');
  const at = lines.findIndex((one) => one.includes(line));
  if (at === -1) throw new Error(`no line has: ${line}`);
  return lines.toSpliced(where === 'after' ? at + 1 : at, where === 'after' ? 0 : 1, put.trimEnd()).join('\n');
}

it('a field is added as CONTRIBUTING.md says', () => {
  const copy = CopiedRepository.make();
  const touched = new Set<string>();

  const printed = copy.follow('Add a field', (note, put) => {
    const [, path = '', where = '', line = ''] = /^(\S+), (after|in the place of) the line of (.+)$/u.exec(note) ?? [];
    copy.write(path, placed(copy.read(path), { where, line, put }));
    touched.add(path);
  });

  expect(printed[0]).toContain('wrote: crds/contactpoints.yaml');
  expect(printed[0]).toContain('wrote: docs/kinds/contact-point.md');
  expect(printed[1]).toMatch(/Tests +\d+ passed/u);
  expect(copy.bin('tsc')).toBe('');
  expect(touched.size).toBeLessThanOrEqual(8);
}, 600_000);
