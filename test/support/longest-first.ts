import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The scenarios that take longest, the longest first: one that begins last has everybody wait for it at the end. */
const longest = [
  'sandbox',
  'golden-path',
  'control-plane-loss',
  'combined-faults',
  'a-region-is-down',
  'spoiled-answers',
  'cost',
  'permissions',
  'killed-mid-create',
  'gitops',
  'gitops-requests',
  'two-operators',
  'second-cluster',
  'late-changes',
];

/** Has these begin before the other scenarios. By itself vitest knows in a fresh checkout no more than the sizes of the files. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const at = sorted.findIndex(({ project }) => project.name === 'scenarios');
    if (at < 0) return sorted;
    const named = (name: string) =>
      sorted
        .slice(at)
        .filter(({ project, moduleId }) => project.name === 'scenarios' && basename(moduleId, '.test.ts') === name);
    const first = longest.flatMap(named);
    return sorted.filter((file) => !first.includes(file)).toSpliced(at, 0, ...first);
  }
}
