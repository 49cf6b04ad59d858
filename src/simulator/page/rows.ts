import { alerts } from '../alerts/alert.ts';
import { metrics } from '../alerts/metrics.ts';
import { apps } from '../apps/app.ts';
import type { Collection } from '../store/collection.ts';
import { contactPoints } from '../contact-points/contact-point.ts';
import { configurations } from '../disaster/rows.ts';
import { contents, type Environment, environments } from '../environments/environment.ts';
import { faults, nameOf } from '../public/faults.ts';
import { accounts, credentials, memberships, regions, tokens } from '../accounts/records.ts';
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

const mostPods = 100;

/**
 * Everything that the page shows. A field is here because it was put on this list: configs of contact points and values of variables
 * never are. A token is made up here and is its own name: the page sends requests with it.
 */
export const shownCollections: readonly ShownCollection[] = [
  shown(accounts, ({ name, memberEnvAccess, sandboxEntitlement }) => ({ name, memberEnvAccess, sandboxEntitlement })),
  shown(tokens, ({ kind, scopes, currentAccountId }) => ({ kind, scopes, currentAccountId })),
  shown(memberships, ({ accountId, token, role, permissions, allowedAppEnvIds }) => ({
    accountId,
    token,
    role,
    permissions,
    allowedAppEnvIds,
  })),
  shown(credentials, ({ accountId, kind }) => ({ accountId, kind })),
  shown(regions, ({ up, supports }) => ({ up, supports })),
  shown(apps, (app) => ({
    accountId: app.accountId,
    name: app.name,
    preset: app.dockerPreset,
    image: app.image,
    useImage: app.useImage,
    port: app.port,
    sandboxTermination: app.sandboxTermination,
    deletionStarted: app.deletionStarted,
    createdAt: app.createdAt,
    updatedAt: app.updatedAt,
  })),
  shown(environments, shownEnvironment),
  shown(contactPoints, ({ accountId, name, type, dashboardDeployments, updatedAt }) => ({
    accountId,
    name,
    type,
    regions: dashboardDeployments.map(({ region }) => region),
    updatedAt,
  })),
  shown(alerts, (alert) => ({
    accountId: alert.accountId,
    appEnvId: alert.appEnvId,
    name: alert.name,
    description: alert.description,
    metric: alert.metric,
    operator: alert.operator,
    threshold: alert.threshold,
    duration: alert.duration,
    aggregation: alert.aggregation,
    queryRange: alert.queryRange,
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

function shownEnvironment(environment: Environment, world: World): Readonly<Record<string, unknown>> {
  const { currentContentId, pendingChanges, envVars, startupConfig } = environment;
  const content = currentContentId === undefined ? undefined : world.of(contents).get(currentContentId);
  return {
    accountId: environment.accountId,
    appId: environment.appId,
    name: environment.name,
    cliEnvName: environment.cliEnvName,
    region: environment.region,
    gitBranch: environment.gitBranch,
    status: environment.status,
    deployed: environment.deployed,
    image: content?.image,
    version: content?.version,
    resources: environment.resources,
    volumes: environment.volumes,
    preventDestroy: environment.preventDestroy,
    variables: Object.keys(envVars),
    startup: startupConfig === undefined ? undefined : Object.keys(startupConfig),
    pendingChanges,
    updatedAt: environment.updatedAt,
  };
}
