import { describe, expect, it } from 'vitest';
import { groupId } from '../../../src/engine/ports.ts';
import { withGroups } from '../../../src/hosting/mirror/polled-list.ts';

interface Item {
  readonly id: string;
  readonly owner?: string;
}

const read = { groupOf: ({ owner }: Item) => owner };

function snapshot(...items: readonly Item[]): ReadonlyMap<string, Item> {
  return new Map(items.map((item) => [item.id, item]));
}

describe('the groups of a list', () => {
  it.each([
    { because: 'an item came', before: snapshot(), after: snapshot({ id: 'a', owner: 'x' }), groups: ['x'] },
    { because: 'an item went', before: snapshot({ id: 'a', owner: 'x' }), after: snapshot(), groups: ['x'] },
    {
      because: 'an item moved',
      before: snapshot({ id: 'a', owner: 'x' }),
      after: snapshot({ id: 'a', owner: 'y' }),
      groups: ['x', 'y'],
    },
    { because: 'an item belongs to nothing', before: snapshot(), after: snapshot({ id: 'a' }), groups: [] },
  ])('change when $because', ({ before, after, groups }) => {
    const changed = withGroups(new Set(['a']), read, [before, after]);

    expect([...changed].toSorted()).toEqual(['a', ...groups.map(groupId)].toSorted());
  });

  it('stay as they are when nothing changed', () => {
    const changed = withGroups(new Set(), read, [snapshot({ id: 'a', owner: 'x' }), snapshot({ id: 'a', owner: 'x' })]);

    expect(changed.size).toBe(0);
  });
});
