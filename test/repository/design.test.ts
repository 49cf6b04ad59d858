import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, linksIn, rowsOf } from '../support/documents.ts';
import { filesUnder } from './files.ts';

const ofFolder = (folder: string) =>
  [...filesUnder(folder)].flatMap(([path, text]) =>
    path.endsWith('.md') ? [[posix.basename(path), text] as const] : [],
  );
const pagesIn = (folder: string) =>
  ofFolder(folder)
    .filter(([name]) => name !== 'README.md')
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
const indexOf = (folder: string) => new Map(ofFolder(folder)).get('README.md') ?? '';

/** Files that a page names and that are nowhere in the repository. */
function missingFiles(page: string, paths: readonly string[]): readonly string[] {
  const named = [...page.matchAll(/`([\w./-]+\.ts)`/gu)].map(([, file = '']) => file);
  return named.filter((file) => !paths.some((path) => path === file || path.endsWith(`/${file}`)));
}

/** Files and folders that a page names, in code as well; what an import names is looked for from its folder on. */
function pathsIn(page: string): readonly string[] {
  const files = [...page.matchAll(/[\w./-]+\.ts\b/gu)].map(([file]) => file.replace(/^(?:\.\.?\/)+/u, ''));
  const folders = [...page.matchAll(/(?<![\w./-])(?:src|test)\/[\w./-]*\w/gu)].map(([folder]) => folder);
  return [...new Set([...files, ...folders])];
}

/** Those that are neither in the repository nor made by what the page says. */
function gonePaths(page: string, paths: readonly string[]): readonly string[] {
  const made = [...page.matchAll(/<!-- trial: (\S+) -->/gu)].map(([, path = '']) => path);
  const isAt = (path: string, named: string) => `/${path}`.endsWith(`/${named}`) || path.startsWith(`${named}/`);
  return pathsIn(page).filter((named) => ![...paths, ...made].some((path) => isAt(path, named)));
}

/** Rules that code points to and that are nowhere: `docs/design/page.md`, or a heading of it. */
function missingRules(code: string, pages: ReadonlyMap<string, string>): readonly string[] {
  const named = [...code.matchAll(/docs\/design\/([\w-]+\.md)(?:#([\w-]+))?/gu)];
  return named.flatMap(([whole, name = '', heading]) => {
    const page = pages.get(name);
    const isThere = page !== undefined && (heading === undefined || anchorsOf(page).includes(heading));
    return isThere ? [] : [whole];
  });
}

describe('docs/design', () => {
  const paths = [...filesUnder('src', 'test', 'bench', 'deploy', 'vitest.config.ts').keys()];

  it.each(pagesIn('docs/design'))('%s names only files that are there', (_name, page) => {
    expect(missingFiles(page, paths)).toEqual([]);
  });

  it.each(['docs/architecture.md', 'CONTRIBUTING.md'])('and %s name only files and folders that are there', (name) => {
    const page = filesUnder(name).get(name) ?? '';

    expect(pathsIn(page).length).toBeGreaterThan(30);
    expect(gonePaths(page, paths)).toEqual([]);
  });

  it('would not leave a path unnoticed, but for files that the page makes', () => {
    const page = `<!-- trial: test/a/made.ts --> test/a/made.ts test/a/ \`test/b\`, '../a/here.ts' './gone.ts' of/here.ts`;

    expect(gonePaths(page, ['test/a/here.ts'])).toEqual(['gone.ts', 'of/here.ts', 'test/b']);
  });

  it('would not name others unnoticed', () => {
    expect(missingFiles('see `gone.ts` and `a/here.ts`, not `ere.ts`', ['src/a/here.ts'])).toEqual([
      'gone.ts',
      'ere.ts',
    ]);
  });

  it('has every rule that code points to', () => {
    const pages = new Map(pagesIn('docs/design'));
    const code = [...filesUnder('src', 'test')].filter(([path]) => path !== 'test/repository/design.test.ts');

    expect(code.flatMap(([path, text]) => missingRules(text, pages).map((rule) => `${path}: ${rule}`))).toEqual([]);
  });

  it('would not be pointed to in vain unnoticed', () => {
    const code = 'docs/design/a.md docs/design/a.md#one docs/design/a.md#two docs/design/b.md';

    expect(missingRules(code, new Map([['a.md', '## One']]))).toEqual(['docs/design/a.md#two', 'docs/design/b.md']);
  });

  it('lists every page', () => {
    expect(linksIn(indexOf('docs/design'))).toEqual(
      expect.arrayContaining(pagesIn('docs/design').map(([name]) => name)),
    );
  });
});

describe('docs/decisions', () => {
  const records = pagesIn('docs/decisions');

  it.each(records)('%s has a number, a status and a date', (name, text) => {
    expect(text).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `, 'u'));
    expect(text).toMatch(/^Status: (?:accepted|superseded\n\nSuperseded by: \[\d+\]\(\S+\))/mu);
    expect(text).toMatch(/^Date: \d{4}-\d\d-\d\d$/mu);
  });

  it('are all in the index, with title, status and date', () => {
    const rows = rowsOf(indexOf('docs/decisions'), 'No\\.').map(([number, title = '', status = '', date]) => [
      number,
      title,
      status.split(' ', 1)[0],
      date,
    ]);
    const lineOf = (text: string, start: string) => new RegExp(`^${start} (\\S+)`, 'mu').exec(text)?.[1];
    const expected = records.map(([name, text]) => {
      const [, number, title] = /^# (\d+)\. (.+)$/mu.exec(text) ?? [];
      return [number, `[${title}](${name})`, lineOf(text, 'Status:'), lineOf(text, 'Date:')];
    });

    expect(rows).toEqual(expected);
  });
});
