import { describe, expect, it } from 'vitest';
import { reported, slowest, tellFailures } from './reported.ts';

const report = (results: readonly object[]) =>
  JSON.stringify({ numPassedTests: 5, numPendingTests: 1, numTodoTests: 2, testResults: results });

describe('reported', () => {
  it('names each test that failed, and why', () => {
    const text = report([
      {
        name: '/repo/test/a.test.ts',
        status: 'failed',
        assertionResults: [
          { fullName: 'a is b', status: 'failed', duration: 12, failureMessages: ['a is not b'] },
          { fullName: 'b is c', status: 'passed', duration: 34, failureMessages: [] },
        ],
      },
    ]);

    expect(reported(text, '/repo')).toEqual({
      passed: 5,
      skipped: 3,
      failures: [{ file: 'test/a.test.ts', test: 'a is b', why: 'a is not b' }],
      times: [
        { file: 'test/a.test.ts', test: 'a is b', ms: 12 },
        { file: 'test/a.test.ts', test: 'b is c', ms: 34 },
      ],
    });
  });

  it('counts a file that cannot be loaded as a failure', () => {
    const text = report([
      { name: '/repo/test/a.test.ts', status: 'failed', message: 'no such module', assertionResults: [] },
    ]);

    expect(reported(text, '/repo').failures).toEqual([
      { file: 'test/a.test.ts', test: '(the file itself)', why: 'no such module' },
    ]);
  });

  it('says where the error of a hook stands, which no report has', () => {
    const text = report([
      { name: '/repo/test/a.test.ts', status: 'failed', message: '', assertionResults: [{ status: 'skipped' }] },
    ]);

    expect(reported(text, '/repo').failures).toEqual([
      {
        file: 'test/a.test.ts',
        test: '(the file itself)',
        why: 'a hook failed; its error stands in the output of this part',
      },
    ]);
  });

  it('finds nothing passed where there is no report', () => {
    expect(reported(undefined, '/repo')).toEqual({ passed: 0, skipped: 0, failures: [], times: [] });
  });
});

describe('slowest', () => {
  it('names the tests that took longest, the longest first', () => {
    const times = [3, 1, 2].map((ms) => ({ file: 'test/a.test.ts', test: `takes ${ms}`, ms }));

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
