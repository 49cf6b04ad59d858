import { describe, expect, it } from 'vitest';
import { groupId } from '../../src/engine/ports.ts';
import { withGroups } from '../../src/hosting/mirror/items.ts';

interface Item {
  readonly id: string;
  readonly owner?: string;
}

const read = { groupOf: ({ owner }: Item) => owner };

function walk(...items: readonly Item[]): ReadonlyMap<string, Item> {
  return new Map(items.map((item) => [item.id, item]));
}

describe('the groups of a walk', () => {
  it.each([
    { because: 'an item came', before: walk(), after: walk({ id: 'a', owner: 'x' }), groups: ['x'] },
    { because: 'an item went', before: walk({ id: 'a', owner: 'x' }), after: walk(), groups: ['x'] },
    {
      because: 'an item moved',
      before: walk({ id: 'a', owner: 'x' }),
      after: walk({ id: 'a', owner: 'y' }),
      groups: ['x', 'y'],
    },
    { because: 'an item belongs to nothing', before: walk(), after: walk({ id: 'a' }), groups: [] },
  ])('change when $because', ({ before, after, groups }) => {
    const changed = withGroups(new Set(['a']), read, [before, after]);

    expect([...changed].toSorted()).toEqual(['a', ...groups.map(groupId)].toSorted());
  });

  it('stay as they are when nothing changed', () => {
    const changed = withGroups(new Set(), read, [walk({ id: 'a', owner: 'x' }), walk({ id: 'a', owner: 'x' })]);

    expect(changed.size).toBe(0);
  });
});
