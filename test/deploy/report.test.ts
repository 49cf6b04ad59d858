import { describe, expect, it } from 'vitest';
import { NotRun, runChecks } from './support/report.ts';

const fine = () => Promise.resolve([]);

describe('runChecks', () => {
  it('counts what is wrong and what breaks as failures, and goes on', async () => {
    const checks = {
      wrong: () => Promise.resolve(['a is not b']),
      broken: () => Promise.reject(new Error('no')),
      fine,
    };

    const printed: string[] = [];
    const tally = await runChecks(checks, [], (text) => printed.push(text));

    const failures = ['FAILED   wrong\n  a is not b\n', 'FAILED   broken\n  no\n'];
    expect(tally).toEqual({ passed: 1, failed: 2, told: failures.join('') });
    expect(printed).toEqual([...failures, 'passed   fine\n']);
  });

  it('does not count what cannot be checked here, and says once why', async () => {
    const absent = () => Promise.reject(new NotRun('there is no Go'));

    expect(await runChecks({ one: absent, two: absent, fine }, [], () => {})).toEqual({
      passed: 1,
      failed: 0,
      note: 'not run: there is no Go',
    });
  });

  it('runs only what is asked for', async () => {
    expect(await runChecks({ 'the chart': fine, 'the alerts': fine }, ['alerts'], () => {})).toEqual({
      passed: 1,
      failed: 0,
    });
  });
});
