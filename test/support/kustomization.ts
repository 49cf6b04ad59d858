import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** The folder of our overlays and components. */
export const kustomize = join(import.meta.dirname, '..', '..', 'deploy', 'kustomize');

/** An overlay of somebody's own: on one of ours, with some of our components, and whatever else it says. */
export interface Own {
  readonly overlay: string;
  readonly components?: readonly string[];
  readonly says?: object;
}

/** Calls with the folder of a kustomization, and removes it afterwards; Kustomize wants paths relative to it. */
export async function withKustomization<Result>(
  { overlay, components = [], says }: Own,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const path = (folder: string, ...to: readonly string[]) => relative(folder, join(kustomize, ...to));
  return withFolder(
    (folder) => ({
      'kustomization.yaml': {
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        resources: [path(folder, 'overlays', overlay)],
        components: components.map((name) => path(folder, 'components', name)),
        ...says,
      },
    }),
    use,
  );
}

/** Calls with a folder of these files, and removes it afterwards; what is not text is written as JSON, which is YAML. */
export async function withFolder<Result>(
  files: (folder: string) => Readonly<Record<string, string | object>>,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'kustomization-')));
  try {
    for (const [name, content] of Object.entries(files(folder))) {
      await mkdir(join(folder, name, '..'), { recursive: true });
      await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    }
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
