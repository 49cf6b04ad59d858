import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { kustomize, withKustomization } from '../../support/kustomization.ts';
import { binaries } from './chart.ts';
import { runProgram } from './programs.ts';
import { isClusterWide, objectsIn, type Rendered } from './rendered.ts';

const foldersIn = async (name: string) => (await readdir(join(kustomize, name))).toSorted();

/** What of each overlay with all components is not where the operator is, with and without a namespace of one's own. */
export async function strays(): Promise<readonly string[]> {
  const components = await foldersIn('components');
  const wrong: string[] = [];
  for (const overlay of await foldersIn('overlays'))
    for (const namespace of [undefined, 'team-a']) {
      const own = { overlay, components, says: namespace === undefined ? {} : { namespace } };
      const found = await withKustomization(own, async (folder) => straysIn(await built(folder), namespace));
      wrong.push(...found.map((line) => `${overlay} in ${namespace ?? 'no namespace of its own'}: ${line}`));
    }
  return wrong;
}

/** The objects that Kustomize makes of a folder. */
export async function built(folder: string): Promise<readonly Rendered[]> {
  const { kubectl } = await binaries();
  const { code, stdout, stderr } = await runProgram(kubectl, ['kustomize', folder]);
  if (code !== 0) throw new Error(stderr);
  return [...objectsIn(stdout).values()];
}

/** Objects and subjects that are elsewhere than the operator, which is to be in the namespace, if one is given. */
export function straysIn(objects: readonly Rendered[], wanted?: string): readonly string[] {
  const home = wanted ?? objects.find(({ kind }) => kind === 'Deployment')?.metadata.namespace ?? '(nowhere)';
  return objects.flatMap((object) => {
    const { subjects = [] } = object as { readonly subjects?: readonly { readonly namespace?: string }[] };
    const places = [
      ...(isClusterWide(object) ? [] : [object.metadata.namespace]),
      ...subjects.map(({ namespace }) => namespace),
    ];
    return places
      .filter((place) => place !== home)
      .map((place) => `${object.kind} ${object.metadata.name} is in ${place ?? 'the default namespace'}, not ${home}`);
  });
}
