import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readFile } from 'node:fs/promises';
import { environmentWith } from '../../../src/config.ts';
import { clusterAt, type ClusterAccess } from '../../../src/sandbox/cluster.ts';
import { manifestsOf } from '../../../src/sandbox/manifests.ts';

/** The folder in which Go keeps a module of one of our folders of engines: it has the definitions of their kinds. */
export async function moduleOf(folder: string, module: string): Promise<string> {
  const options = {
    cwd: join(import.meta.dirname, folder),
    env: environmentWith({ GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local', GOWORK: 'off' }),
  };
  const { stdout } = await promisify(execFile)('go', ['list', '-m', '-f', '{{.Dir}}', module], options);
  return stdout.trim();
}

/** Has the definitions in these files served by a cluster. */
export async function define(plane: ClusterAccess, paths: readonly string[]): Promise<void> {
  const texts = await Promise.all(paths.map(async (path) => [path, await readFile(path, 'utf8')] as const));
  const manifests = manifestsOf(new Map(texts));
  const cluster = clusterAt(plane);
  for (const manifest of manifests) await cluster.apply(manifest);
  await cluster.established(manifests.map(({ metadata }) => metadata.name));
  await cluster.close();
}
