import type { Clockwork } from '../clockwork.ts';
import { type BodyFields, optional, queryNumber, text } from '../http/fields.ts';
import { defaultReadings, type Readings, shownReadings } from '../readings.ts';
import type { RequestLog } from '../store/requests.ts';
import type { World } from '../store/store.ts';
import { type ShownCollection, shownCollections, type ShownRow } from './rows.ts';

/** The world for the page, or its changes. */
export interface PageView {
  /** Another value when another world was loaded: everything from before is void. */
  readonly epoch: string;
  readonly revision: number;
  readonly now: number;
  readonly mode: string;
  readonly ledgerSeq: number;
  readonly requestSeq: number;
  /** True when `rows` holds every row, and not only those that changed. */
  readonly complete: boolean;
  readonly rows: Readonly<Record<string, readonly ShownRow[]>>;
  readonly removed: Readonly<Record<string, readonly string[]>>;
  /** The readings that are not as they are by default. */
  readonly readings: Readonly<Record<string, unknown>>;
}

type Rows = Pick<PageView, 'complete' | 'rows' | 'removed'>;

const mostWatched = 100;
const longestWatch = 8000;

/**
 * The world for the page. `epoch` and `after` say what the page has already; `watch` names the configurations that it shows, because
 * their readiness changes by time alone.
 */
export function viewOf(clockwork: Clockwork, requests: RequestLog, query: BodyFields): PageView {
  // A transaction without changes: it stands at this moment, also when nothing has happened for a while.
  return clockwork.transact(undefined, (world) => view(clockwork, world, requests, query)).result;
}

function view({ store, mode }: Clockwork, world: World, requests: RequestLog, query: BodyFields): PageView {
  const after = optional(query, 'after', queryNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  const epoch = optional(query, 'epoch', text());
  const watch = optional(query, 'watch', text({ min: 0, max: longestWatch }))?.split(',', mostWatched) ?? [];
  const { recent } = store;
  const changed = after === undefined || epoch !== recent.epoch ? undefined : recent.after(after);
  const rows = changed === undefined ? everything(world) : changes(world, changed, watch);
  return {
    epoch: recent.epoch,
    revision: recent.seq,
    now: world.now,
    mode,
    ledgerSeq: store.ledger.lastSeq,
    requestSeq: requests.log.lastSeq,
    ...rows,
    readings: changedReadings(world.readings),
  };
}

function everything(world: World): Rows {
  const rows = shownCollections.map(({ name, all }) => [name, all(world)] as const);
  return { complete: true, rows: Object.fromEntries(rows), removed: {} };
}

function changes(
  world: World,
  changed: readonly { readonly collection: string; readonly id: string }[],
  watch: readonly string[],
): Rows {
  const ids = new Map<string, Set<string>>([['configurations', new Set(watch)]]);
  for (const { collection, id } of changed) {
    const known = ids.get(collection);
    if (known === undefined) ids.set(collection, new Set([id]));
    else known.add(id);
  }
  const parts = shownCollections.flatMap((shown) => {
    const touched = ids.get(shown.name);
    return touched === undefined || touched.size === 0 ? [] : [{ name: shown.name, ...look(world, shown, touched) }];
  });
  return {
    complete: false,
    rows: Object.fromEntries(parts.map(({ name, rows }) => [name, rows])),
    removed: Object.fromEntries(parts.map(({ name, removed }) => [name, removed])),
  };
}

function look(world: World, { one }: ShownCollection, ids: ReadonlySet<string>) {
  const rows: ShownRow[] = [];
  const removed: string[] = [];
  for (const id of ids) {
    const row = one(world, id);
    if (row === undefined) removed.push(id);
    else rows.push(row);
  }
  return { rows, removed };
}

function changedReadings(readings: Readings): PageView['readings'] {
  const before = shownReadings(defaultReadings());
  return Object.fromEntries(Object.entries(shownReadings(readings)).filter(([name, value]) => before[name] !== value));
}
