import { alerts } from '../alerts/alert.ts';
import { metrics } from '../alerts/metrics.ts';
import { apps } from '../apps/app.ts';
import type { Collection } from '../store/collection.ts';
import { contactPoints } from '../contact-points/contact-point.ts';
import { configurations } from '../disaster/rows.ts';
import { environments } from '../environments/environment.ts';
import { faults, nameOf } from '../public/faults.ts';
import { accounts, memberships, regions } from '../accounts/records.ts';
import type { World } from '../store/store.ts';
import { shownConfiguration } from './recovery.ts';

/** A row as the page shows it: `id`, and nothing that is a secret. */
export interface ShownRow {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** One collection as the page sees it. */
export interface ShownCollection {
  readonly name: string;
  readonly all: (world: World) => readonly ShownRow[];
  readonly one: (world: World, id: string) => ShownRow | undefined;
}

function shown<T extends object>(
  collection: Collection<T>,
  show: (row: T, world: World) => Readonly<Record<string, unknown>>,
): ShownCollection {
  const withId = (row: T, world: World): ShownRow => ({ id: collection.id(row), ...show(row, world) });
  return {
    name: collection.name,
    all: (world) =>
      world
        .of(collection)
        .all()
        .map((row) => withId(row, world)),
    one: (world, id) => {
      const row = world.of(collection).get(id);
      return row === undefined ? undefined : withId(row, world);
    },
  };
}

const shownTokenLength = 4;
const mostPods = 100;

/**
 * Everything that the page shows. A field is here because it was put on this list: configs of contact points, values of variables and
 * tokens never are.
 */
export const shownCollections: readonly ShownCollection[] = [
  shown(accounts, ({ name }) => ({ name })),
  shown(memberships, ({ accountId, token, role, permissions, allowedAppEnvIds }) => ({
    accountId,
    token: token.slice(0, shownTokenLength),
    role,
    permissions,
    restrictedTo: allowedAppEnvIds.length,
  })),
  shown(regions, ({ up, supports }) => ({ up, supports })),
  shown(apps, ({ accountId, name, dockerPreset, createdAt }) => ({ accountId, name, preset: dockerPreset, createdAt })),
  shown(environments, ({ accountId, appId, name, cliEnvName, region, status, deployed, versions, ...rest }) => ({
    accountId,
    appId,
    name,
    cliEnvName,
    region,
    status,
    deployed,
    versions,
    volumes: rest.volumes,
    pendingChanges: rest.pendingChanges.length,
  })),
  shown(contactPoints, ({ accountId, name, type, dashboardDeployments }) => ({
    accountId,
    name,
    type,
    regions: dashboardDeployments.map(({ region }) => region),
  })),
  shown(alerts, (alert) => ({
    accountId: alert.accountId,
    appEnvId: alert.appEnvId,
    name: alert.name,
    metric: alert.metric,
    operator: alert.operator,
    threshold: alert.threshold,
    duration: alert.duration,
    aggregation: alert.aggregation,
    enabled: alert.enabled,
    state: alert.liveState,
    knownState: alert.lastKnownState,
    contactPointIds: alert.contactPointIds,
    createdAt: alert.createdAt,
  })),
  shown(metrics, ({ appEnvId, metric, value, pods }) => ({ appEnvId, metric, value, pods: pods.slice(0, mostPods) })),
  shown(configurations, shownConfiguration),
  shown(faults, ({ match, effect }) => ({
    method: match.method,
    path: match.path,
    readsBody: match.bodyContains !== undefined,
    skip: match.skip,
    count: match.count,
    effect: nameOf(effect),
    status: effect.status ?? effect.commitThen?.status,
  })),
];
