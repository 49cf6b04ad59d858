import { describe, expect, it } from 'vitest';
import { begun, doubted, isInDoubt, notDone } from '../../../src/engine/kind/planner/compare.ts';

const known = { generation: 3, fingerprints: { a: 'v1:a', b: 'v1:b' } };

describe('what a call carries', () => {
  it('is in doubt while it is under way, and nothing else is', () => {
    const { fingerprints = {} } = begun(known, ['a', 'new']) ?? {};

    const inDoubt = Object.keys(fingerprints).filter((field) => isInDoubt(fingerprints[field]));
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
    ['that will never be known', { ...known, fingerprints: { ...known.fingerprints, a: '?v1:a' } }],
    ['among several', { ...known, fingerprints: { ...known.fingerprints, a: '?' } }],
  ])('stays in doubt after a call %s when another one is not carried out', (_what, before) => {
    for (const fields of [['a'], ['b'], []]) {
      const { fingerprints = {} } = notDone(begun(before, fields)) ?? {};

      expect([isInDoubt(fingerprints['a']), fingerprints['b']]).toEqual([true, 'v1:b']);
    }
  });
});
