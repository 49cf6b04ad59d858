import { describe, expect, it } from 'vitest';
import { reported, slowest, tellFailures, type Reported } from './reported.ts';

describe('reported', () => {
  const fine: Reported = {
    passed: 5,
    skipped: 3,
    failures: [],
    times: [{ file: 'a.test.ts', test: 'a is b', state: 'passed', ms: 12 }],
  };
  const failure = { file: 'a.test.ts', test: 'b is c', why: 'b is not c' };
  const withoutPlace = (why: string) => ({ file: '(the run itself)', test: '(outside of a test)', why });

  it.each([
    { report: fine, isFailed: false, errors: 'a warning', failures: [], because: 'it passed' },
    {
      report: { ...fine, failures: [failure] },
      isFailed: true,
      errors: 'b is not c',
      failures: [failure],
      because: 'it says what failed',
    },
    {
      report: fine,
      isFailed: true,
      errors: '\n\u001b[31mno config\u001b[39m\n',
      failures: [withoutPlace('no config')],
      because: 'it failed, and no test did',
    },
    {
      report: fine,
      isFailed: true,
      errors: 'No test files found\n⎯⎯⎯ Unhandled Error ⎯⎯⎯\nError: no bundle\n',
      failures: [withoutPlace('Error: no bundle')],
      because: 'what goes before its tests failed',
    },
    {
      report: fine,
      isFailed: true,
      errors: '',
      failures: [withoutPlace('it failed without a word')],
      because: 'nobody knows',
    },
  ])('gives the failures of a run: $because', ({ report, isFailed, errors, failures }) => {
    expect(reported(JSON.stringify(report), { isFailed, errors })).toEqual({ ...report, failures });
  });

  it('finds nothing passed where there is no report', () => {
    const failures = [withoutPlace('out of memory')];

    expect(reported(undefined, { isFailed: true, errors: 'out of memory' })).toEqual({
      passed: 0,
      skipped: 0,
      failures,
      times: [],
    });
  });
});

describe('slowest', () => {
  it('names the tests that took longest, the longest first', () => {
    const times = [3, 1, 2].map((ms) => ({
      file: 'test/a.test.ts',
      test: `takes ${ms}`,
      state: 'passed' as const,
      ms,
    }));

    expect(slowest(times, 2).map(({ test }) => test)).toEqual(['takes 3', 'takes 2']);
  });
});

describe('tellFailures', () => {
  it('tells where and the first lines of why', () => {
    const why = ['at /repo/node_modules/x.js', ...Array.from({ length: 40 }, (_, at) => `line ${at}`)].join('\n');

    const lines = tellFailures([{ file: 'test/a.test.ts', test: 'a is b', why }]).split('\n');

    expect(lines.slice(0, 2)).toEqual(['  test/a.test.ts > a is b', '    line 0']);
    expect(lines.at(-2)).toBe('    …');
    expect(lines).toHaveLength(15);
  });
});
