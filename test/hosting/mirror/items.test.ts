import { sameJson, Secret } from '../../../src/base/json.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { merged } from '../../../src/hosting/mirror/polled-list.ts';

interface Item {
  readonly id: string;
  readonly name?: string | undefined;
  readonly checkedAt?: string;
  readonly tags?: readonly string[];
}

function byId(...items: readonly Item[]): Map<string, Item> {
  return new Map(items.map((item) => [item.id, item]));
}

describe('equality of items', () => {
  it.each([
    { a: { x: 1 }, b: { x: 1 }, equal: true, because: 'they say the same' },
    { a: { x: undefined }, b: {}, equal: true, because: 'an undefined field is a missing one' },
    { a: {}, b: { x: undefined }, equal: true, because: 'either way round' },
    { a: { x: null }, b: {}, equal: false, because: 'null means something of its own' },
    { a: [1, 2], b: [2, 1], equal: false, because: 'order counts in lists' },
    { a: [], b: {}, equal: false, because: 'a list is no object' },
    { a: [1], b: [1, undefined], equal: false, because: 'lists have a length' },
    { a: Number.NaN, b: Number.NaN, equal: true, because: 'NaN is NaN' },
    { a: new Secret('a'), b: new Secret('a'), equal: true, because: 'secrets are compared by value' },
    { a: new Secret('a'), b: new Secret('b'), equal: false, because: 'secrets are compared by value' },
    { a: new Secret('a'), b: 'a', equal: false, because: 'a secret is not its text' },
  ])('is $equal because $because', ({ a, b, equal }) => {
    expect(sameJson(a, b)).toBe(equal);
    expect(sameJson(b, a)).toBe(equal);
  });

  it('holds for any value and its copy, and notices any difference', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(sameJson(a, structuredClone(a))).toBe(true);
        expect(sameJson(a, b)).toBe(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)));
      }),
    );
  });
});

/** The sameJson value with its keys in order, so that text tells equality. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', ...value.map(sorted)];
  if (typeof value === 'number') return Object.is(value, -0) ? 'minus zero' : value;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ['object', ...entries.map(([name, inner]) => [name, sorted(inner)])];
}

describe('a list taken over', () => {
  it('changes everything that the first one holds', () => {
    const { changed } = merged(undefined, byId({ id: 'a' }, { id: 'b' }), []);

    expect([...changed]).toEqual(['a', 'b']);
  });

  it('keeps the items of an equal list, in whatever order it came', () => {
    const before = merged(undefined, byId({ id: 'a', name: 'x' }, { id: 'b' }), []).items;

    const { items, changed } = merged(before, byId({ id: 'b' }, { id: 'a', name: 'x' }), []);

    expect([...items.values()].every((item) => item === before.get(item.id))).toBe(true);
    expect(changed.size).toBe(0);
  });

  it('names what came, went and changed, and keeps the identity of the rest', () => {
    const before = merged(undefined, byId({ id: 'stays' }, { id: 'goes' }, { id: 'changes', name: 'x' }), []).items;

    const { items, changed } = merged(before, byId({ id: 'stays' }, { id: 'changes', name: 'y' }, { id: 'comes' }), []);

    expect([...changed].toSorted()).toEqual(['changes', 'comes', 'goes']);
    expect(items.get('stays')).toBe(before.get('stays'));
    expect([...items.keys()]).toEqual(['stays', 'changes', 'comes']);
  });

  it('shows the newest of a moving field, and wakes nobody for it', () => {
    const before = merged(undefined, byId({ id: 'a', checkedAt: '1' }), ['checkedAt']).items;

    const { items, changed } = merged(before, byId({ id: 'a', checkedAt: '2' }), ['checkedAt']);

    expect(items.get('a')?.checkedAt).toBe('2');
    expect(changed.size).toBe(0);
  });
});
