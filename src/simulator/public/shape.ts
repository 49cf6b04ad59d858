import { type AreaAnswer, type AreaCall, ok } from '../area.ts';
import { type Collection, keysOf } from '../store/collection.ts';
import type { Readings } from '../readings.ts';
import { RequestRefusal } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** A date as responses carry it; a moment that has not come is undefined. */
export function date(world: World, ms: number): string;
export function date(world: World, ms: number | undefined): string | undefined;
export function date(world: World, ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  const iso = new Date(ms).toISOString();
  return world.readings['dates.form'] === 'seconds' ? `${iso.slice(0, 19)}Z` : iso;
}

/** A refusal by a business rule, with the status of the reading: the interface does not show it. */
export function rejected(world: World, message: string, kept: Readonly<Record<string, unknown>> = {}): RequestRefusal {
  return new RequestRefusal(Number(world.readings['rejection.status']), message, kept);
}

/** A single object, bare or under its name. */
export function single(world: World, name: string, value: unknown): unknown {
  return world.readings['get.wrapping'] === 'wrapped' ? { [name]: value } : value;
}

/** The answer to a change, as much of it as the readings say. */
export function patched(
  world: World,
  whole: { readonly message: string; readonly [name: string]: unknown },
): AreaAnswer {
  const bodies = { object: whole, messageOnly: { message: whole.message }, empty: undefined };
  return ok(bodies[world.readings['patch.response']]);
}

interface Listable {
  readonly createdAt: number;
}

/** The rows under a key as a list shows them: possibly an older state, in the order that the readings choose. */
export function listed<T extends Listable>(
  call: Pick<AreaCall, 'world' | 'staleListMs'>,
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

/** Rows in the order of creation or, when the readings say so, in another that stays the same from call to call. */
function ordered<T extends Listable>(world: World, rows: readonly T[], idOf: (row: T) => string): readonly T[] {
  if (world.readings['lists.order'] === 'created') return rows.toSorted((a, b) => a.createdAt - b.createdAt);
  const keyed = rows.map((row) => ({ row, key: world.hash('order', idOf(row)) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  return keyed.map(({ row }) => row);
}

/** The field that leads to the next page; undefined as cursor means that this was the last one. */
export function nextCursor(world: World, cursor: string | undefined): { readonly nextCursor?: string | null } {
  if (cursor !== undefined) return { nextCursor: cursor };
  const end = world.readings['cursor.end'];
  if (end === 'absent') return {};
  return { nextCursor: end === 'null' ? null : '' };
}

/** The text of a JSON body under the readings about fields. */
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
  if (extra) entries.push(['notInTheText', { note: 'clients ignore what they do not know' }]);
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

/** The body of an error in the form of the readings: text, its content type, or nothing. */
export function errorBody(
  readings: Readings,
  refusal: RequestRefusal,
): { readonly type: string; readonly text: string } {
  const json = (body: unknown) => ({ type: 'application/json', text: bodyText(readings, body) });
  const { message, kept } = refusal;
  switch (readings['errors.body']) {
    case 'error':
      return json({ error: message, ...kept });
    case 'message':
      return json({ message, ...kept });
    case 'nested':
      return json({ error: { message, code: codes[refusal.status] ?? 'rejected' }, ...kept });
    case 'text':
      return Object.keys(kept).length > 0 ? json(kept) : { type: 'text/plain; charset=utf-8', text: message };
    case 'empty':
      return Object.keys(kept).length > 0 ? json(kept) : { type: 'application/json', text: '' };
  }
}
