import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';

/** A repository whose folder `hosting` holds what a team wants. */
export interface GitFolder {
  readonly url: string;
  /** The folder holds these and nothing else from now on. */
  readonly commit: (manifests: readonly object[]) => Promise<void>;
  readonly remove: () => Promise<void>;
}

/** Makes an empty repository. */
export async function gitFolder(): Promise<GitFolder> {
  const dir = await mkdtemp(join(tmpdir(), 'gitops-'));
  const git = (...args: readonly string[]) =>
    promisify(execFile)('git', ['-C', dir, '-c', 'user.name=team', '-c', 'user.email=team@example.com', ...args]);
  await git('init', '--quiet', '--initial-branch=main');
  let count = 0;
  return {
    url: `file://${dir}`,
    commit: async (manifests) => {
      await mkdir(join(dir, 'hosting'), { recursive: true });
      await writeFile(join(dir, 'hosting', 'all.yaml'), manifests.map((one) => stringify(one)).join('---\n'));
      await writeFile(join(dir, 'hosting', 'kustomization.yaml'), stringify({ resources: ['all.yaml'] }));
      await git('add', '--all');
      await git('commit', '--quiet', '--allow-empty', '--message', `Change ${(count += 1)}`);
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
