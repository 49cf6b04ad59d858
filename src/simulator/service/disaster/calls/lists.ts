// Serves the three lists of disaster readiness page by page: sources, configurations and recovery points. The simulator options
// `dr.disclosed` and `dr.operations` decide which fields an item has.
import { maySee, memberOf } from '../../accounts/access.ts';
import type { MembershipRecord } from '../../accounts/records.ts';
import { type AreaAnswer, type AreaCall, ok } from '../../area.ts';
import { onlyFields, optional, queryNumber, type Reads, required, text } from '../../../http/fields.ts';
import { environments } from '../../environments/environment.ts';
import { forbidden, invalid, notFound } from '../../../http/refusal.ts';
import { listed, nextCursor, only } from '../../shape.ts';
import type { World } from '../../../store/store.ts';
import { configurationItem, pointItem, sourceItem } from './items.ts';
import type { Configuration } from '../model.ts';
import { hash, selectablePoints } from '../copies.ts';
import { assembled, configurations, recoveryPoints, type StoredConfiguration } from '../rows.ts';

const DEFAULT_LIMIT = 50;

/** Handles GET /disaster-readiness/sources, which lists the environments of an account and says whether each of them can be protected. */
export function sources(call: AreaCall): AreaAnswer {
  const { world } = call;
  const membership = asked(call);
  const rows = listed(call, environments, 'account', membership.accountId);
  const visible = rows.filter(({ appEnvId }) => maySee(world, membership, appEnvId));
  const isInOrder = world.readings['lists.order'] === 'created';
  const page = pageOf(call, `sources ${membership.accountId}`, visible, (row) =>
    placeInList(isInOrder, row.createdAt, row.appEnvId),
  );
  const protections = new Map(rowsShown(call, membership).map((row) => [row.sourceAppEnvId, row]));
  const items = page.things.map((row) => {
    const protection = protections.get(row.appEnvId);
    return disclosedSource(world, sourceItem(world, row, protection && withPoints(call, protection)));
  });
  return ok({ items, ...nextCursor(world, page.next) });
}

/** Handles GET /disaster-readiness/configurations, which lists the protections of an account with their current readiness. */
export function protections(call: AreaCall): AreaAnswer {
  const { world } = call;
  const membership = asked(call);
  const rows = rowsShown(call, membership);
  const isInOrder = world.readings['lists.order'] === 'created';
  const page = pageOf(call, `configurations ${membership.accountId}`, rows, (row) =>
    placeInList(isInOrder, row.createdAt, row.configurationId),
  );
  const items = page.things.map((row) => disclosed(world, configurationItem(world, withPoints(call, row))));
  return ok({ items, ...nextCursor(world, page.next) });
}

/**
 * Handles GET /disaster-readiness/points, which lists usable recovery points; clients must not rely on the order.
 */
export function points(call: AreaCall): AreaAnswer {
  const { world } = call;
  const membership = asked(call);
  const configurationId = required(call.query, 'configurationId', text());
  const configuration = shownOf(call, membership.accountId, configurationId);
  if (!maySee(world, membership, configuration.sourceAppEnvId)) {
    throw forbidden('you have no access to this environment');
  }
  const isInOrder = world.readings['points.order'] === 'chronological';
  const page = pageOf(call, `points ${configurationId}`, selectablePoints(configuration), (point) =>
    placeInList(isInOrder, point.sequence, point.pointId),
  );
  const items = page.things.map((point) => pointItem(world, configuration, point));
  return ok({ generation: configuration.generation, items, ...nextCursor(world, page.next) });
}

/** Reads the accountId from the query of a request, and returns the caller's membership in this account; fails if there is none. */
function asked(call: AreaCall): MembershipRecord {
  return memberOf(call, required(call.query, 'accountId', text()));
}

/** Returns the page of a list that follows the cursor `after`, and the cursor of the next page if there is one. */
function pageOf<Thing>(call: AreaCall, list: string, things: readonly Thing[], placeOf: (thing: Thing) => string) {
  onlyFields(call.query, 'query', ['accountId', 'configurationId', 'after', 'limit']);
  const limit = optional(call.query, 'limit', queryNumber({ min: 1, max: 100 })) ?? DEFAULT_LIMIT;
  const after = optional(call.query, 'after', cursorOf(list)) ?? '';
  const ordered = things
    .map((thing) => ({ thing, place: placeOf(thing) }))
    .filter(({ place }) => place > after)
    .toSorted((one, other) => (one.place < other.place ? -1 : 1));
  const page = ordered.slice(0, limit);
  const last = ordered.length > page.length ? page.at(-1) : undefined;
  return { things: page.map(({ thing }) => thing), next: last && cursorAt(list, last.place) };
}

/**
 * Makes a cursor from the sort key of the last item on a page. Unlike a position in the list, this key stays valid when
 * the list changes. The cursor contains a checksum, so that it works only for its own list.
 */
function cursorAt(list: string, place: string): string {
  return Buffer.from(`${hash(`${list} ${place}`).slice(0, 8)} ${place}`).toString('base64url');
}

/** Validates a cursor and returns the sort key in it; refuses a cursor that was not made for the list `list`. */
function cursorOf(list: string): Reads<string> {
  return (value, name) => {
    const given = text()(value, name);
    const place = Buffer.from(given, 'base64url').toString().slice('12345678 '.length);
    if (given !== cursorAt(list, place)) throw invalid(`${name} is not a cursor of this list`);
    return place;
  };
}

/**
 * Returns the sort key of an item in a list. If the list is to be sorted, the key is a number, such as the time of creation, followed by
 * the id. Otherwise the key is a hash of the id: the order is then shuffled, but the same in every request.
 */
function placeInList(isInOrder: boolean, number: number, id: string): string {
  return `${String(isInOrder ? number : 0).padStart(16, '0')} ${isInOrder ? id : hash(id)}`;
}

function rowsShown(call: AreaCall, membership: MembershipRecord): readonly StoredConfiguration[] {
  const rows = listed(call, configurations, 'account', membership.accountId);
  return rows.filter(({ sourceAppEnvId }) => maySee(call.world, membership, sourceAppEnvId));
}

function withPoints(call: AreaCall, row: StoredConfiguration): Configuration {
  return assembled(row, listed(call, recoveryPoints, 'configuration', row.configurationId));
}

function shownOf(call: AreaCall, accountId: string, configurationId: string): Configuration {
  const current = call.world.of(configurations).get(configurationId);
  if (current?.accountId !== accountId) throw notFound('configuration not found');
  const rows = listed(call, configurations, 'account', accountId);
  return withPoints(call, rows.find((each) => each.configurationId === configurationId) ?? current);
}

const minimalSource = only(
  'sourceAppEnvId,appId,appName,environmentName,region,eligible,volumes,unsupportedReasons,eligibleDestinations,suggestedSettings',
);
const minimalVolume = only('name,eligible');
const minimalConfiguration = only(
  'configurationId,sourceAppEnvId,generation,settings,readiness,activities,validationScheduleEstablished',
);
const minimalReadiness = only('state,warnings');
const minimalActivity = only('operationId,kind,phase,startedAt');

/** Selects the fields `cutoffAt` and `validationCleanup` of an operation, the only two whose names the API documentation gives. */
const asNamed = only('cutoffAt,validationCleanup');

/** Removes the optional fields of a source if the simulator option `dr.disclosed` is `minimal`. */
function disclosedSource(world: World, source: ReturnType<typeof sourceItem>): object {
  if (world.readings['dr.disclosed'] === 'all') return source;
  return minimalSource({ ...source, volumes: source.volumes.map(minimalVolume) });
}

/** Removes the fields of a configuration that the simulator options `dr.disclosed` and `dr.operations` hide. */
function disclosed({ readings }: World, configuration: ReturnType<typeof configurationItem>): object {
  const { activeOperation, activities, readiness } = configuration;
  const ways = {
    full: (operation: object) => operation,
    withoutIds: (operation: object) => ({ ...operation, operationId: undefined }),
    asNamed,
  };
  const shown = ways[readings['dr.operations']];
  if (readings['dr.disclosed'] === 'minimal') {
    const minimal = activities.map((operation) => shown(minimalActivity(operation)));
    return minimalConfiguration({ ...configuration, readiness: minimalReadiness(readiness), activities: minimal });
  }
  return {
    ...configuration,
    activeOperation: activeOperation && shown(activeOperation),
    activities: activities.map(shown),
  };
}
