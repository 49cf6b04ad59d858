/**
 * Joins the parts of the simulator's web page into one HTML file. The parts are files in this folder: markup, style sheets, and scripts
 * that import each other. The scripts are concatenated without `import` and `export`, each after those that it imports. So two scripts must
 * not declare the same name at top level.
 */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

const folder = new URL('./', import.meta.url);
const read = (path: string | URL) => readFileSync(new URL(path, folder), 'utf8');

const importing = /^import [^;]*? from '([^']+)';\n/gmu;
const exporting = /^export (?=async |function |const |let |class )/gmu;

/** The name of the asset that contains the whole web page when the program is bundled as a single executable. */
export const pageAsset = 'page.html';

/** Returns the whole web page as HTML. */
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

/** Lists the scripts of the web page, each after those that it imports; `start.js` comes last. */
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
