import { NotRun } from './support/report.ts';

/**
 * The releases whose definitions the present ones must not fall behind: the newest two, because the newest is what is being
 * checked when its own commit is. Before the first one nothing is promised, and there is nothing to compare with.
 */
export function releasesBefore(tags: readonly string[], changelog: string): readonly string[] {
  if (tags.length > 0) return tags.slice(0, 2);
  const [, released] = /^## \[?v?(\d+\.\d+\.\d+)/mu.exec(changelog) ?? [];
  if (released !== undefined)
    throw new Error(`CHANGELOG.md has ${released}, and this clone has no tag v*: git fetch --tags`);
  throw new NotRun('there is no release yet (no tag v*), and nothing is promised of the definitions before');
}
