import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest in each project, the longest first: one that begins last has everybody wait for it at the end. */
const longest: Readonly<Record<string, readonly string[]>> = {
  lives: [
    'standing',
    'contributing',
    'whole-recovery',
    'whole',
    'interleavings',
    'page-in-browser',
    'no-cluster',
    'lost-sight',
    'suspicions',
    'ends',
    'truth',
  ],
  scenarios: [
    'sandbox-kept',
    'control-plane-loss',
    'combined-faults',
    'permissions',
    'spoiled-answers',
    'installing',
    'run',
    'a-region-is-down',
    'killed-mid-create',
    'crds',
    'gitops',
    'kube-faults',
    'gitops-requests',
    'golden-path',
    'importing',
  ],
};

/** Has these begin before the others of their project. By itself vitest knows in a fresh checkout no more than the sizes of the files. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return Object.entries(longest).reduce((order, [project, names]) => broughtForward(order, project, names), sorted);
  }
}

function broughtForward(
  files: TestSpecification[],
  projectName: string,
  names: readonly string[],
): TestSpecification[] {
  const at = files.findIndex(({ project }) => project.name === projectName);
  if (at < 0) return files;
  const called = (name: string) =>
    files.filter(({ project, moduleId }) => project.name === projectName && basename(moduleId, '.test.ts') === name);
  const first = names.flatMap(called);
  return files.filter((file) => !first.includes(file)).toSpliced(at, 0, ...first);
}
