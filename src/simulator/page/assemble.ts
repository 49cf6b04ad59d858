/**
 * The page is one file of HTML. Its parts lie beside this file, as they are edited: markup, style sheets, and scripts that import each
 * other. The scripts are put one after another, each after those it imports, without the words `import` and `export`: names at their top
 * must therefore differ from each other.
 */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

const folder = new URL('./', import.meta.url);
const read = (path: string | URL) => readFileSync(new URL(path, folder), 'utf8');

const importing = /^import [^;]*? from '([^']+)';\n/gmu;
const exporting = /^export (?=async |function |const |let |class )/gmu;

/** What the page is called in a program that has no files beside it. */
export const pageAsset = 'page.html';

/** The whole page, ready to be served. */
export function assemblePage(): string {
  if (isSea()) return getAsset(pageAsset, 'utf8');
  return read('page.html')
    .replace('<style></style>', () => `<style>\n${styles()}</style>`)
    .replace('<script></script>', () => `<script>\n'use strict';\n${scripts().join('\n')}</script>`);
}

const sheets = ['base', 'layout', 'parts'];

function styles(): string {
  return sheets.map((name) => read(`styles/${name}.css`)).join('');
}

/** The scripts in the order in which they need each other, beginning with what `start.js` needs first. */
function scripts(): readonly string[] {
  const taken = new Set<string>();
  const ordered: string[] = [];
  const take = (url: URL) => {
    if (taken.has(url.href)) return;
    taken.add(url.href);
    const text = read(url);
    for (const [, path = ''] of text.matchAll(importing)) take(new URL(path, url));
    ordered.push(text.replaceAll(importing, '').replaceAll(exporting, ''));
  };
  take(new URL('scripts/start.js', folder));
  return ordered;
}
