import { describe, expect, it } from 'vitest';
import { nearest } from '../../../src/kinds/shared/nearest.ts';
import { typed } from '../../../src/kinds/hosted-app/fields.ts';

const presets = ['CUSTOM', 'NEXT_JS', 'POSTGRESQL', 'FUNCTION', 'JOB'];

describe('nearest', () => {
  it.each([
    ['NEXTJS', 'NEXT_JS'],
    ['postgres', 'POSTGRESQL'],
    ['FUNCTIONS', 'FUNCTION'],
    ['SOMETHING_ELSE', undefined],
    ['', undefined],
  ])('of %s is %s', (word, found) => {
    expect(nearest(word, presets)).toBe(found);
  });

  it('of nothing is nothing', () => {
    expect(nearest('CUSTOM', [])).toBeUndefined();
  });
});

describe('a value without a shown type', () => {
  it.each([
    ['12', 12],
    ['true', true],
    ['false', false],
    ['1.5', '1.5'],
    ['-1', '-1'],
    ['12345678901234567890', '12345678901234567890'],
    ['on', 'on'],
  ])('%s is sent as %j', (text, value) => {
    expect(typed(text)).toBe(value);
  });
});
