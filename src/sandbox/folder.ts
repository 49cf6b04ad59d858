import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './cannot-start.ts';

/**
 * Makes a folder and the ones above it, for this user only. Node's own recursive mkdir never returns below a folder
 * that answers ENOENT to every mkdir, such as /proc.
 */
export async function makeFolder(dir: string): Promise<void> {
  const isThere = await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isThere) return;
  const above = dirname(dir);
  if (above !== dir) await makeFolder(above);
  try {
    await mkdir(dir, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await stat(dir)).isDirectory()) throw error;
  }
}
