import { describe, expect, it } from 'vitest';
import { begun, doubted, isInDoubt, notDone } from '../../../src/engine/kind/planner/compare.ts';

const known = { generation: 3, prints: { a: 'v1:a', b: 'v1:b' } };

describe('what a call carries', () => {
  it('is in doubt while it is under way, and nothing else is', () => {
    const { prints = {} } = begun(known, ['a', 'new']) ?? {};

    const inDoubt = Object.keys(prints).filter((field) => isInDoubt(prints[field]));
    expect(inDoubt).toEqual(['a', 'new']);
  });

  it('is known as before when the call was not carried out', () => {
    expect(notDone(begun(known, ['a', 'new']))).toEqual(known);
    expect(notDone(begun(undefined, []))).toBeUndefined();
  });

  it.each([
    ['that nobody will know the end of', doubted(known, ['a'])],
    ['whose answer was lost', begun(known, ['a'])],
    ['whose answer was lost twice', begun(begun(known, ['a']), ['a'])],
    ['that will never be known', { ...known, prints: { ...known.prints, a: '?v1:a' } }],
    ['among several', { ...known, prints: { ...known.prints, a: '?' } }],
  ])('stays in doubt after a call %s when another one is not carried out', (_what, before) => {
    for (const fields of [['a'], ['b'], []]) {
      const { prints = {} } = notDone(begun(before, fields)) ?? {};

      expect([isInDoubt(prints['a']), prints['b']]).toEqual([true, 'v1:b']);
    }
  });
});
