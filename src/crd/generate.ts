/** `npm run generate` writes what is generated; with `--check` it only says which files are not fresh. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { identities } from '../kinds/identities.ts';
import { outputs, wholeFolders, type ReadFile } from './outputs.ts';

/** The files under `root` that are not as they would be generated. */
export function staleFiles(root: string): readonly string[] {
  const read = readerOf(root);
  const fresh = outputs(identities, read);
  const changed = [...fresh].filter(([path, content]) => read(path) !== content).map(([path]) => path);
  return [...changed, ...strangers(root, fresh)].toSorted();
}

function readerOf(root: string): ReadFile {
  return (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined);
}

/** Files in generated folders that nothing generates any more. */
function strangers(root: string, fresh: ReadonlyMap<string, string>): readonly string[] {
  return wholeFolders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => !fresh.has(path));
}

/** Writes everything that is not fresh under `root`; returns what was written or removed. */
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
