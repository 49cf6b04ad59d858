import { type AreaAnswer, type AreaCall, ok } from './area.ts';
import { type Collection, keysOf } from '../store/collection.ts';
import type { Readings } from '../store/readings.ts';
import { RequestRefusal } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** Formats a date for a response; returns undefined if there is no date. */
export function date(world: World, ms: number): string;
export function date(world: World, ms: number | undefined): string | undefined;
export function date(world: World, ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  const iso = new Date(ms).toISOString();
  return world.readings['dates.form'] === 'seconds' ? `${iso.slice(0, 19)}Z` : iso;
}

/**
 * Returns the error for a request that breaks a business rule. The simulator option `rejection.status` sets the status, because the API
 * documentation gives none.
 */
export function rejected(world: World, message: string, kept: Readonly<Record<string, unknown>> = {}): RequestRefusal {
  return new RequestRefusal(Number(world.readings['rejection.status']), message, kept);
}

/** Refuses the request with the message `reason`; does nothing if `reason` is undefined. */
export function rejectIf(world: World, reason: string | undefined): void {
  if (reason !== undefined) throw rejected(world, reason);
}

/**
 * Fails if a name is already in use but must be unique. `others` lists the objects that have the name. The simulator
 * options `names.apps`, `names.contactPoints` and `names.alerts` decide whether names must be unique.
 */
export function requireFree(world: World, kind: keyof typeof named, others: readonly object[]): void {
  if (world.readings[`names.${kind}`] === 'repeatable' || others.length === 0) return;
  throw rejected(world, `${named[kind]} with this name already exists`);
}

const named = { apps: 'an app', contactPoints: 'a contact point', alerts: 'an alert of this environment' } as const;

/** Formats a single object for a response: alone, or as a field of another object if the simulator option `get.wrapping` is `wrapped`. */
export function single(world: World, name: string, value: unknown): unknown {
  return world.readings['get.wrapping'] === 'wrapped' ? { [name]: value } : value;
}

/**
 * Returns the answer to PATCH /contact-point or PATCH /alert. The simulator option `patch.response` decides whether it contains the changed
 * object, only a message, or nothing.
 */
export function patched(world: World, message: string, changed: object): AreaAnswer {
  const bodies = { object: { message, ...changed }, messageOnly: { message }, empty: undefined };
  return ok(bodies[world.readings['patch.response']]);
}

interface Listable {
  readonly createdAt: number;
}

/**
 * Lists the objects that have the given key in an index, for example the apps of one account. The simulator option `lists.order` decides
 * their order. The simulator option `lists.lagMs` or a `staleList` fault makes the list show an older state.
 */
export function listed<T extends Listable>(
  call: AreaCall,
  collection: Collection<T>,
  index: string,
  key: string,
): readonly T[] {
  const { world } = call;
  const lagMs = call.staleListMs ?? world.readings['lists.lagMs'];
  const filed = collection.indexes[index];
  if (filed === undefined) throw new Error(`${collection.name} has no index "${index}"`);
  const rows =
    lagMs === 0
      ? world.of(collection).where(index, key)
      : world.asOf(collection, world.now - lagMs).filter((row) => keysOf(filed, row).includes(key));
  return ordered(world, rows, collection.id);
}

/**
 * Sorts objects by creation time, or shuffles them if the simulator option `lists.order` is `shuffled`. The shuffled order is the same in
 * every response.
 */
function ordered<T extends Listable>(world: World, rows: readonly T[], idOf: (row: T) => string): readonly T[] {
  if (world.readings['lists.order'] === 'created') return rows.toSorted((a, b) => a.createdAt - b.createdAt);
  const keyed = rows.map((row) => ({ row, key: world.hash('order', idOf(row)) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  return keyed.map(({ row }) => row);
}

/** Returns a function that copies only the given fields of an object; `names` lists the fields, separated by commas. */
export function only(names: string): (from: object) => Readonly<Record<string, unknown>> {
  const kept = names.split(',');
  return (from) => Object.fromEntries(Object.entries(from).filter(([name]) => kept.includes(name)));
}

/**
 * Returns the `nextCursor` field of a page of a list. On the last page, the simulator option `cursor.end` decides whether the field is
 * absent, null or empty.
 */
export function nextCursor(world: World, cursor: string | undefined): { readonly nextCursor?: string | null } {
  if (cursor !== undefined) return { nextCursor: cursor };
  const end = world.readings['cursor.end'];
  if (end === 'absent') return {};
  return { nextCursor: end === 'null' ? null : '' };
}

/**
 * Formats a body as JSON. Simulator options may add an unknown field to each object (`fields.extra`) or show absent fields as null
 * (`fields.nulls`).
 */
export function bodyText(readings: Readings, body: unknown): string {
  const extra = readings['fields.extra'] === 'on';
  const nulls = readings['fields.nulls'] === 'on';
  return JSON.stringify(extra || nulls ? decorated(body, extra, nulls) : body);
}

function decorated(value: unknown, extra: boolean, nulls: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => decorated(item, extra, nulls));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, item]) => nulls || item !== undefined)
    .map(([key, item]) => [key, item === undefined ? null : decorated(item, extra, nulls)]);
  if (extra) entries.push(['notInTheText', { note: 'clients must ignore unknown fields' }]);
  return Object.fromEntries(entries);
}

const codes: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'notFound',
  405: 'methodNotAllowed',
  413: 'tooLarge',
  429: 'tooManyRequests',
};

/** Returns the body of an error and its content type, in the form that the simulator option `errors.body` sets. */
export function errorBody(readings: Readings, { status, message, kept }: RequestRefusal) {
  const form = readings['errors.body'];
  const isBare = Object.keys(kept).length === 0;
  if (form === 'text' && isBare) return { type: 'text/plain; charset=utf-8', text: message };
  if (form === 'empty' && isBare) return { type: 'application/json', text: '' };
  const nested = { error: { message, code: codes[status] ?? 'rejected' } };
  const forms = { error: { error: message }, message: { message }, nested, text: {}, empty: {} };
  return { type: 'application/json', text: bodyText(readings, { ...forms[form], ...kept }) };
}
