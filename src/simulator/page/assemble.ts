/**
 * Joins the parts of the page into one HTML file. The parts are files in this folder: markup, style sheets, and scripts that import each
 * other. The scripts are joined without `import` and `export`, each after those that it imports, so no two scripts may declare the same
 * name at top level.
 */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

const folder = new URL('./', import.meta.url);
const read = (path: string | URL) => readFileSync(new URL(path, folder), 'utf8');

const importing = /^import [^;]*? from '([^']+)';\n/gmu;
const exporting = /^export (?=async |function |const |let |class )/gmu;

/** The name of the asset in a bundled program that holds the whole page. */
export const pageAsset = 'page.html';

/** Makes the whole page as one HTML text. */
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

/** Lists the scripts, each after those that it imports; `start.js` comes last. */
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
