/*
 * `node deploy/image-root.ts FOLDER`: the root of an image with nothing in it but this Node and the libraries that it has loaded, at
 * the places where it has found them. There is no shell, no npm and no package manager for anybody to use.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('say where: node deploy/image-root.ts FOLDER');

const { sharedObjects } = process.report.getReport() as { readonly sharedObjects: readonly string[] };
// What the kernel maps into every process is no file.
const libraries = sharedObjects.filter((path) => path.startsWith('/') && path !== process.execPath);
for (const [from, to] of [[process.execPath, '/usr/local/bin/node'] as const, ...libraries.map((path) => [path, path] as const)]) {
  mkdirSync(join(into, dirname(to)), { recursive: true });
  copyFileSync(from, join(into, to));
}
