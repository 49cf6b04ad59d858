// Serves the lists of disaster readiness in pages: sources, configurations and points. The readings decide which fields of an
// item are shown.
import { maySee, memberOf } from '../../accounts/access.ts';
import { type AreaAnswer, type AreaCall, ok } from '../../area.ts';
import { onlyFields, optional, queryNumber, required, text } from '../../http/fields.ts';
import { environments } from '../../environments/environment.ts';
import { forbidden, invalid, notFound } from '../../http/refusal.ts';
import type { MembershipRecord } from '../../accounts/records.ts';
import type { Readings } from '../../readings.ts';
import { listed, nextCursor } from '../../public/shape.ts';
import type { World } from '../../store/store.ts';
import { configurationItem, type Item, pointItem, sourceItem } from './items.ts';
import type { Configuration } from '../model.ts';
import { hash, type SelectablePoint, selectablePoints } from '../evidence.ts';
import { assembled, configurations, disksOf, recoveryPoints, type StoredConfiguration } from '../rows.ts';

const DEFAULT_LIMIT = 50;

/** Lists the environments of an account as sources of protection. */
export function sources(call: AreaCall): AreaAnswer {
  const { world } = call;
  const membership = asked(call);
  const rows = listed(call, environments, 'account', membership.accountId);
  const visible = rows.filter(({ appEnvId }) => maySee(world, membership, appEnvId));
  const page = pageOf(call, visible, (row) => placeInList(world, row.createdAt, row.appEnvId));
  const protections = new Map(rowsShown(call, membership).map((row) => [row.sourceAppEnvId, row]));
  const items = page.things.map((row) => {
    const protection = protections.get(row.appEnvId);
    return sourceItem(row, protection && withPoints(call, protection), disksOf(world, row.appEnvId), world);
  });
  const minimal = world.readings['dr.disclosed'] === 'minimal';
  return ok({ items: minimal ? items.map(minimalSource) : items, ...nextCursor(world, page.next) });
}

/** Lists the protections of an account with their current readiness. */
export function protections(call: AreaCall): AreaAnswer {
  const { world } = call;
  const membership = asked(call);
  const page = pageOf(call, rowsShown(call, membership), (row) =>
    placeInList(world, row.createdAt, row.configurationId),
  );
  const items = page.things.map((row) => {
    const whole = configurationItem(withPoints(call, row), disksOf(world, row.sourceAppEnvId), world);
    return disclosed(whole, world.readings);
  });
  return ok({ items, ...nextCursor(world, page.next) });
}

/** Lists the recovery points that an activation may name; their order means nothing. */
export function points(call: AreaCall): AreaAnswer {
  const { world } = call;
  const membership = asked(call);
  const configurationId = required(call.query, 'configurationId', text());
  const configuration = shownOf(call, membership.accountId, configurationId);
  if (!maySee(world, membership, configuration.sourceAppEnvId)) {
    throw forbidden('you have no access to this environment');
  }
  const page = pageOf(call, selectablePoints(configuration), (point) => placeOfPoint(world, point));
  const items = page.things.map((point) => pointItem(configuration, point, world));
  return ok({ generation: configuration.generation, items, ...nextCursor(world, page.next) });
}

/** Finds the caller's membership in the account that the query names. */
function asked(call: AreaCall): MembershipRecord {
  return memberOf(call, required(call.query, 'accountId', text()));
}

/** Returns the page that follows a cursor, and the cursor of the next page if there is one. */
function pageOf<Thing>(call: AreaCall, things: readonly Thing[], placeOf: (thing: Thing) => PagePlace) {
  onlyFields(call.query, 'query', ['accountId', 'configurationId', 'after', 'limit']);
  const limit = optional(call.query, 'limit', queryNumber({ min: 1, max: 100 })) ?? DEFAULT_LIMIT;
  const cursor = optional(call.query, 'after', text());
  const after = cursor === undefined ? undefined : placeIn(cursor);
  const ordered = things
    .map((thing) => ({ thing, place: placeOf(thing) }))
    .filter(({ place }) => after === undefined || compare(place, after) > 0)
    .toSorted((one, other) => compare(one.place, other.place));
  const page = ordered.slice(0, limit);
  const last = page.at(-1);
  const more = ordered.length > page.length && last !== undefined;
  return { things: page.map(({ thing }) => thing), next: more ? cursorOf(last.place) : undefined };
}

function placeInList(world: World, createdAt: number, id: string): PagePlace {
  return world.readings['lists.order'] === 'created' ? [createdAt, id] : shuffledPlace(id);
}

function placeOfPoint(world: World, { sequence, pointId }: SelectablePoint): PagePlace {
  return world.readings['points.order'] === 'chronological' ? [sequence, pointId] : shuffledPlace(pointId);
}

function rowsShown(call: AreaCall, membership: MembershipRecord): readonly StoredConfiguration[] {
  const rows = listed(call, configurations, 'account', membership.accountId);
  return rows.filter(({ sourceAppEnvId }) => maySee(call.world, membership, sourceAppEnvId));
}

function withPoints(call: AreaCall, row: StoredConfiguration): Configuration {
  const points = listed(call, recoveryPoints, 'configuration', row.configurationId);
  const inOrder = points.toSorted((one, other) => one.sequence - other.sequence);
  return assembled(row, inOrder);
}

function shownOf(call: AreaCall, accountId: string, configurationId: string): Configuration {
  const current = call.world.of(configurations).get(configurationId);
  if (current?.accountId !== accountId) throw notFound('configuration not found');
  const rows = listed(call, configurations, 'account', accountId);
  return withPoints(call, rows.find((each) => each.configurationId === configurationId) ?? current);
}

/** The place of an item in the order of a list: by number, then by text. A cursor is such a place, so it survives changes of the list. */
type PagePlace = readonly [number, string];

/** Makes a place that stays the same from request to request and says nothing about the time of creation. */
function shuffledPlace(id: string): PagePlace {
  return [0, hash(id)];
}

function compare([number, text]: PagePlace, [otherNumber, otherText]: PagePlace): number {
  if (number !== otherNumber) return number - otherNumber;
  if (text === otherText) return 0;
  return text < otherText ? -1 : 1;
}

function cursorOf(place: PagePlace): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function placeIn(cursor: string): PagePlace {
  try {
    const [number, text, ...more] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof number === 'number' && typeof text === 'string' && more.length === 0) return [number, text];
  } catch {
    // A text that does not decode to a JSON list is no cursor.
  }
  throw invalid('after is not a cursor of this list');
}

const SOURCE = (
  'sourceAppEnvId appId appName environmentName region eligible volumes unsupportedReasons eligibleDestinations ' +
  'suggestedSettings'
).split(' ');

const CONFIGURATION =
  'configurationId sourceAppEnvId generation settings readiness activities validationScheduleEstablished'.split(' ');

const READINESS = ['state', 'warnings'];
const VOLUME = ['name', 'eligible'];
const ACTIVITY = ['operationId', 'kind', 'phase', 'startedAt'];

/** The only fields of an operation that the interface names. */
const NAMED = ['cutoffAt', 'validationCleanup'];

/** Removes the fields of a configuration that the readings do not disclose. */
function disclosed(configuration: Item, readings: Readings): Item {
  const shown = readings['dr.disclosed'] === 'minimal' ? minimalConfiguration(configuration) : configuration;
  switch (readings['dr.operations']) {
    case 'full':
      return shown;
    case 'withoutIds':
      return withOperations(shown, (operation) => ({ ...operation, operationId: undefined }));
    case 'asNamed':
      return withOperations(shown, (operation) => only(NAMED, operation));
  }
}

function withOperations(configuration: Item, show: (operation: object) => Item): Item {
  const { activeOperation, activities } = configuration as { activeOperation?: object; activities: readonly object[] };
  return {
    ...configuration,
    ...(activeOperation && { activeOperation: show(activeOperation) }),
    activities: activities.map(show),
  };
}

/** Removes the optional fields of a source. */
function minimalSource(source: Item): Item {
  return { ...only(SOURCE, source), volumes: eachOnly(VOLUME, source['volumes']) };
}

/** Removes the optional fields of a configuration. */
function minimalConfiguration(configuration: Item): Item {
  return {
    ...only(CONFIGURATION, configuration),
    readiness: only(READINESS, configuration['readiness']),
    activities: eachOnly(ACTIVITY, configuration['activities']),
  };
}

function only(names: readonly string[], value: unknown): Item {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

function eachOnly(names: readonly string[], values: unknown): readonly Item[] {
  return Array.isArray(values) ? values.map((value) => only(names, value)) : [];
}
