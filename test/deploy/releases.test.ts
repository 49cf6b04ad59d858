import { describe, expect, it } from 'vitest';
import { releasesBefore } from './releases.ts';
import { NotRun } from './support/report.ts';

describe('definitions are compared with', () => {
  it('the newest two releases, since the commit of the newest is that release itself', () => {
    expect(releasesBefore(['v0.3.0', 'v0.2.0', 'v0.1.0'], '')).toEqual(['v0.3.0', 'v0.2.0']);
    expect(releasesBefore(['v0.1.0'], '## 0.1.0\n')).toEqual(['v0.1.0']);
  });

  it('nothing before the first one, and that is said and no success', () => {
    expect(() => releasesBefore([], '# Changelog\n\n## Unreleased\n')).toThrow(NotRun);
  });

  it('something once there was one, also in a clone that has no tags', () => {
    const compare = () => releasesBefore([], '## Unreleased\n\n## 0.1.0 (2026-12-01)\n');

    expect(compare).toThrow('git fetch --tags');
    expect(compare).not.toThrow(NotRun);
  });
});
