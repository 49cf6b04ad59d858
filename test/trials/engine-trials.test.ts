import { describe, expect, it } from 'vitest';
import { trialsOf } from './engine-trials.ts';
import { empty, told } from './progress.ts';

const file = 'test/trials/engines/flux.test.ts';
const prunes = { file, test: 'Flux > prunes', state: 'passed', ms: 2_000 } as const;
const ends = { file, test: 'Flux > with the operator > ends', state: 'failed', ms: 1_000 } as const;
const missing = { file, test: 'could not be had: redis-server', state: 'skipped', ms: 0 } as const;
const calm = { passed: 1, skipped: 0, failures: [] };

describe('what came of the trials with engines', () => {
  it('is told of each, and names the words that run one alone', () => {
    const failures = [{ file, test: ends.test, why: 'it did not' }];

    const engines = trialsOf({ ...calm, failures, times: [prunes, ends, missing] });

    expect(
      told({ ...empty('abc1234', 7), engines })
        .split('\n')
        .slice(3),
    ).toEqual([
      'trials with real engines: 1 held, 1 failed, 1 not run',
      '  held       Flux > prunes (2 s)',
      '  FAILED     Flux > with the operator > ends (1 s)',
      '  not run    could not be had: redis-server',
      '',
      'npm run trials -- --only "engines:Flux > with the operator > ends"',
      '  it did not',
    ]);
  });

  it.each([
    ['a hook', { file, test: 'Flux > (a hook)', why: 'no Redis' }],
    ['an error that nobody handled', { file: '(the run itself)', test: '(outside of a test)', why: 'no Redis' }],
  ])('is a failure where only %s failed, which runs all of them again', (_what, failure) => {
    const engines = trialsOf({ ...calm, failures: [failure], times: [prunes] });

    expect(
      told({ ...empty('abc1234', 7), engines })
        .split('\n')
        .slice(3),
    ).toEqual([
      'trials with real engines: 1 held, 1 failed, 0 not run',
      '  held       Flux > prunes (2 s)',
      `  FAILED     ${failure.file} > ${failure.test} (0 s)`,
      '',
      'npm run trials -- --only engines',
      '  no Redis',
    ]);
  });

  it('is a failure where a trial was under way when its process ended', () => {
    expect(trialsOf({ ...calm, times: [{ ...prunes, state: 'pending' }] })).toMatchObject([
      { name: 'Flux > prunes', why: 'it did not come to its end' },
    ]);
  });

  it('says nothing of trials that were not asked for, and is a failure where none was', () => {
    const other = { ...ends, state: 'skipped' } as const;

    expect(trialsOf({ ...calm, times: [prunes, other, missing] }, 'prunes').map(({ name }) => name)).toEqual([
      'Flux > prunes',
      'could not be had: redis-server',
    ]);
    expect(trialsOf({ ...calm, times: [other] }, 'nothing')).toMatchObject([{ why: 'no trial was run' }]);
  });
});
