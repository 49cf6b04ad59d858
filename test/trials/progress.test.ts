import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDir } from '../support/temporary.ts';
import { added, empty, isGood, notOf, told, writerTo } from './progress.ts';

const calm = { wrong: [], plans: 10, deaths: 2, transitions: 30, faults: ['answer lost: POST /contact-point'] };

describe('a long programme', () => {
  it('adds up what its batches tried, each type of fault once', () => {
    const once = added(empty('abc1234', 7), { family: 'ContactPoint', seed: 7 }, calm, 100);
    const twice = added(once, { family: 'ContactPoint', seed: 8 }, calm, 100);

    expect(told(twice).split('\n')).toEqual([
      '2 batches, 20 plans of faults, 4 deaths, 60 transitions, 1 types of faults; lost, doubled or leaked: 0',
      'commit abc1234, seed 7',
    ]);
  });

  it('is good where something was tried and all of it held', () => {
    const tried = added(empty('abc1234', 7), { family: 'ContactPoint', seed: 7 }, calm, 100);
    const engines = [{ name: 'Flux prunes', ms: 1 }];
    const leftOut = { name: 'Argo CD could not be had', why: 'no Redis', isLeftOut: true, ms: 0 };

    expect(isGood({ ...tried, engines: [...engines, leftOut] })).toBe(true);
    expect(isGood({ ...tried, engines: [...engines, { name: 'Flux ends', why: 'it did not', ms: 1 }] })).toBe(false);
    expect(isGood({ ...tried, failures: [{ family: 'whole', seed: 1, wrong: ['lost'] }] })).toBe(false);
    expect(isGood({ ...empty('abc1234', 7), engines })).toBe(false);
    expect(told(empty('abc1234', 7))).toBe('no batch was tried\ncommit abc1234, seed 7');
  });

  it('goes on from what was written down only on its own commit and with its own seed', () => {
    const written = empty('abc1234', 7);

    expect(notOf(written, { commit: 'abc1234', seed: 7 })).toBeUndefined();
    expect(notOf(written, { commit: 'abc1234', seed: 8 })).toContain('commit abc1234 and seed 7');
    expect(notOf(written, { commit: 'def5678', seed: 7 })).toContain('commit abc1234 and seed 7');
  });

  it('is written down whole though several batches end at once', async () => {
    const path = join(await temporaryDir(), 'kept', 'progress.json');
    const write = writerTo(path);
    const steps = Array.from({ length: 20 }, (_, batches) => ({ ...empty('abc1234', 7), batches }));

    await Promise.all(steps.map((progress) => write(progress)));

    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(steps.at(-1));
  });

  it('names the one command that repeats each finding', () => {
    const found = { ...calm, wrong: ['create: the service holds 2 instead of 1\nand more'] };

    const progress = added(empty('abc1234', 7), { family: 'ContactPoint', seed: 9 }, found, 100);

    expect(told(progress).split('\n')).toEqual([
      '1 batches, 10 plans of faults, 2 deaths, 30 transitions, 1 types of faults; 1 batches found something',
      'commit abc1234, seed 7',
      '',
      'npm run trials -- --only ContactPoint:9',
      '  create: the service holds 2 instead of 1',
    ]);
  });

  it('tells of each trial with an engine, and how to repeat the one that failed', () => {
    const progress = {
      ...empty('abc1234', 7),
      engines: [
        { name: 'Argo CD prunes', ms: 12_345 },
        { name: 'Argo CD ends', why: 'it did not\nat all', ms: 1_000 },
        { name: 'Flux could not be had', isLeftOut: true, ms: 0 },
      ],
    };

    expect(told(progress).split('\n').slice(2)).toEqual([
      '',
      'trials with real engines: 1 held, 1 failed, 1 not run',
      '  held       Argo CD prunes (12 s)',
      '  FAILED     Argo CD ends (1 s)',
      '  not run    Flux could not be had',
      '',
      'npm run trials -- --only "engines:Argo CD ends"',
      '  it did not',
    ]);
  });
});
