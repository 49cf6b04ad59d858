import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the repository. */
export const root = join(import.meta.dirname, '..', '..');

/** The files of the repository, also those that are not committed yet; by path from its root. */
export function filesUnder(...folders: readonly string[]): ReadonlyMap<string, string> {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...folders], {
    cwd: root,
    encoding: 'utf8',
  });
  const paths = listed.split('\n').filter((path) => path !== '' && existsSync(join(root, path)));
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** The program's own files, by path below `src`. */
export function sources(): ReadonlyMap<string, string> {
  return new Map(
    [...filesUnder('src')]
      .filter(([path]) => path.endsWith('.ts'))
      .map(([path, text]) => [path.slice('src/'.length), text]),
  );
}
