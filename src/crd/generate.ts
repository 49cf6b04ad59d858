/** `npm run generate` writes all generated files; with `--check` it only lists those whose content is out of date. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { identities } from '../kinds/identities.ts';
import { outputs, wholeFolders, type ReadFile } from './outputs.ts';

/** Lists the files under `root` that `npm run generate` would write or remove. */
export function staleFiles(root: string): readonly string[] {
  const read = readerOf(root);
  const fresh = outputs(identities, read);
  const changed = [...fresh].filter(([path, content]) => read(path) !== content).map(([path]) => path);
  return [...changed, ...strangers(root, fresh)].toSorted();
}

function readerOf(root: string): ReadFile {
  return (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined);
}

/** Lists files that stand in generated folders, although the generator does not make them any more. */
function strangers(root: string, fresh: ReadonlyMap<string, string>): readonly string[] {
  return wholeFolders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => !fresh.has(path));
}

/** Writes every generated file that is out of date, and removes leftover ones; returns their paths. */
export function generate(root: string): readonly string[] {
  const stale = staleFiles(root);
  const fresh = outputs(identities, readerOf(root));
  for (const path of stale) {
    const content = fresh.get(path);
    if (content === undefined) rmSync(join(root, path));
    else {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
  }
  return stale;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..', '..');
  const checking = process.argv.includes('--check');
  const paths = checking ? staleFiles(root) : generate(root);
  for (const path of paths) process.stdout.write(`${checking ? 'not fresh' : 'wrote'}: ${path}\n`);
  if (checking && paths.length > 0) {
    process.stdout.write('run `npm run generate` and commit what it writes\n');
    process.exitCode = 1;
  }
}
