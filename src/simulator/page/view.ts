import type { Clockwork } from '../clockwork.ts';
import { type BodyFields, optional, queryNumber, text } from '../http/fields.ts';
import { defaultReadings, type Readings, shownReadings } from '../readings.ts';
import type { RequestLog } from '../store/requests.ts';
import type { World } from '../store/store.ts';
import type { ChangedRow } from '../store/recent.ts';
import { shownCollections, type ShownRow } from './rows.ts';

const mostWatched = 100;
const longestWatch = 8000;

/**
 * The world for the page. `epoch` and `after` say what the page has already; `watch` names the configurations that it shows, because
 * their readiness changes by time alone.
 */
export function viewOf(clockwork: Clockwork, requests: RequestLog, query: BodyFields): object {
  // A transaction without changes: it stands at this moment, also when nothing has happened for a while.
  return clockwork.transact(undefined, (world) => view(clockwork, world, requests, query)).result;
}

function view({ store, mode }: Clockwork, world: World, requests: RequestLog, query: BodyFields): object {
  const after = optional(query, 'after', queryNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  const epoch = optional(query, 'epoch', text());
  const watch = optional(query, 'watch', text({ min: 0, max: longestWatch }))?.split(',', mostWatched) ?? [];
  const { recent } = store;
  const changed = after === undefined || epoch !== recent.epoch ? undefined : recent.after(after);
  return {
    // Another value when another world was loaded: everything from before is void.
    epoch: recent.epoch,
    revision: recent.seq,
    now: world.now,
    mode,
    ledgerSeq: store.ledger.lastSeq,
    requestSeq: requests.log.lastSeq,
    // True when `rows` holds every row, and not only those that changed.
    complete: changed === undefined,
    ...(changed === undefined ? everything(world) : changes(world, changed, watch)),
    // The readings that are not as they are by default.
    readings: changedReadings(world.readings),
  };
}

function everything(world: World) {
  const rows = shownCollections.map(({ name, all }) => [name, all(world)] as const);
  return { rows: Object.fromEntries(rows), removed: {} };
}

function changes(world: World, changed: readonly ChangedRow[], watch: readonly string[]) {
  const byCollection = Map.groupBy(changed, ({ collection }) => collection);
  const rows: Record<string, readonly ShownRow[]> = {};
  const removed: Record<string, readonly string[]> = {};
  for (const { name, one } of shownCollections) {
    const touched = (byCollection.get(name) ?? []).map(({ id }) => id);
    const ids = [...new Set(name === 'configurations' ? [...watch, ...touched] : touched)];
    if (ids.length === 0) continue;
    rows[name] = ids.flatMap((id) => one(world, id) ?? []);
    removed[name] = ids.filter((id) => one(world, id) === undefined);
  }
  return { rows, removed };
}

function changedReadings(readings: Readings): object {
  const before = shownReadings(defaultReadings());
  return Object.fromEntries(Object.entries(shownReadings(readings)).filter(([name, value]) => before[name] !== value));
}
