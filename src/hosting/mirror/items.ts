/** Items of full lists: frozen, lean, and the same object as long as nothing about them differs. */
import { groupId, type Read } from '../../engine/ports.ts';
import { sameJson, Secret } from '../../base/json.ts';

/** Freezes a value all the way down, with one copy of each short text. */
function settled(value: unknown, texts: Map<string, string>): unknown {
  if (typeof value === 'string') {
    if (value.length > 64) return value;
    const known = texts.get(value);
    if (known === undefined) texts.set(value, value);
    return known ?? value;
  }
  if (typeof value !== 'object' || value === null || value instanceof Secret || Object.isFrozen(value)) return value;
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    const inner = fields[name];
    const kept = settled(inner, texts);
    if (kept !== inner) fields[name] = kept;
  }
  return Object.freeze(value);
}

/** The items after a list, and which of them changed. */
export interface Merged<Item> {
  readonly items: ReadonlyMap<string, Item>;
  /** The ids that came, went, or differ in more than the moving fields. */
  readonly changed: ReadonlySet<string>;
}

/** Takes over the items of a list: what is unchanged keeps its identity, the map itself included. */
export function merged<Item>(
  before: ReadonlyMap<string, Item> | undefined,
  found: ReadonlyMap<string, Item>,
  moving: readonly string[],
): Merged<Item> {
  if (before === found) return { items: found, changed: new Set() };
  const items = new Map<string, Item>();
  const changed = new Set<string>();
  const texts = new Map<string, string>();
  let identical = before !== undefined && before.size === found.size;
  for (const [id, item] of found) {
    const known = before?.get(id);
    if (known !== undefined && sameJson(known, item)) {
      items.set(id, known);
      continue;
    }
    identical = false;
    settled(item, texts);
    items.set(id, item);
    if (known === undefined || !sameJson(known, item, moving)) changed.add(id);
  }
  for (const id of before?.keys() ?? []) if (!found.has(id)) changed.add(id);
  return identical && before !== undefined ? { items: before, changed } : { items, changed };
}

/** The changed ids with the groups that changed items belong to, or belonged to. */
export function withGroups<Item>(
  changed: ReadonlySet<string>,
  read: Pick<Read<Item>, 'groupOf'>,
  snapshots: readonly (ReadonlyMap<string, Item> | undefined)[],
): ReadonlySet<string> {
  if (read.groupOf === undefined || changed.size === 0) return changed;
  const all = new Set(changed);
  for (const id of changed) {
    for (const snapshot of snapshots) {
      const item = snapshot?.get(id);
      const group = item === undefined ? undefined : read.groupOf(item);
      if (group !== undefined) all.add(groupId(group));
    }
  }
  return all;
}
