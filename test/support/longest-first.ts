import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The scenarios that take longest, the longest first: one that begins last has the others wait for it at the end. */
const longest = [
  'golden-path',
  'late-changes',
  'sandbox',
  'control-plane-loss',
  'combined-faults',
  'a-region-is-down',
  'two-operators',
  'cost',
  'permissions',
  'killed-mid-create',
  'gitops',
  'kube-faults',
  'second-cluster',
  'everyday-life',
  'gitops-requests',
];

/** Where no earlier run has told how long each file takes, the scenarios that are known to take longest come first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const at = project.name === 'scenarios' ? longest.indexOf(basename(moduleId, '.test.ts')) : 0;
  return at < 0 ? longest.length : at;
}
