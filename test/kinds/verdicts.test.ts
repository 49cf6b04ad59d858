import { describe, expect, it } from 'vitest';
import { identities } from '../../src/kinds/schema/index.ts';
import { verdicts } from '../scenarios/invalid/index.ts';

/** The scenarios ask the API server about the same table: both must say the same. */
describe.each(verdicts)('our own parse of a $kind', ({ kind, accepted, refused, changes }) => {
  const parse = (spec: unknown) =>
    identities.find((identity) => identity.kind === kind)?.spec.safeParse(JSON.parse(JSON.stringify(spec)));

  it.each([...accepted, ...changes.map(({ because, from }) => ({ because, spec: from }))])(
    'accepts: $because',
    ({ spec }) => {
      expect(parse(spec)?.error).toBeUndefined();
    },
  );

  it.each(refused)('refuses: $because', ({ spec }) => {
    expect(parse(spec)?.success).toBe(false);
  });
});

describe('the table of verdicts', () => {
  it('has every kind', () => {
    expect(verdicts.map(({ kind }) => kind).toSorted()).toEqual(identities.map(({ kind }) => kind).toSorted());
  });
});
