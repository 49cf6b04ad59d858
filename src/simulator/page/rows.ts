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

/** Keeps only the fields with these names. */
function only(names: string): (row: object) => Readonly<Record<string, unknown>> {
  const kept = names.split(' ');
  return (row) => Object.fromEntries(Object.entries(row).filter(([name]) => kept.includes(name)));
}

const appFields = only('accountId name image useImage port sandboxTermination deletionStarted createdAt updatedAt');
const environmentFields = only(
  'accountId appId name cliEnvName region gitBranch status deployed resources volumes preventDestroy pendingChanges updatedAt',
);
const alertFields = only(
  'accountId appEnvId name description metric operator threshold duration aggregation queryRange enabled contactPointIds createdAt',
);

/**
 * Everything that the page shows. A field is here because it was put on this list: configs of contact points and values of variables
 * never are. A token is made up here and is its own name: the page sends requests with it.
 */
export const shownCollections: readonly ShownCollection[] = [
  shown(accounts, only('name memberEnvAccess sandboxEntitlement')),
  shown(tokens, only('kind scopes currentAccountId')),
  shown(memberships, only('accountId token role permissions allowedAppEnvIds')),
  shown(credentials, only('accountId kind')),
  shown(regions, only('up supports')),
  shown(apps, ({ dockerPreset, ...app }) => ({ ...appFields(app), preset: dockerPreset })),
  shown(environments, shownEnvironment),
  shown(contactPoints, ({ dashboardDeployments, ...point }) => ({
    ...only('accountId name type updatedAt')(point),
    regions: dashboardDeployments.map(({ region }) => region),
  })),
  shown(alerts, ({ liveState, lastKnownState, ...alert }) => ({
    ...alertFields(alert),
    state: liveState,
    knownState: lastKnownState,
  })),
  shown(metrics, ({ appEnvId, metric, value, pods }) => ({ appEnvId, metric, value, pods: pods.slice(0, mostPods) })),
  shown(configurations, shownConfiguration),
  shown(faults, ({ match: { bodyContains, ...match }, effect }) => ({
    ...match,
    readsBody: bodyContains !== undefined,
    effect: nameOf(effect),
    status: effect.status ?? effect.commitThen?.status,
  })),
];

function shownEnvironment(environment: Environment, world: World): Readonly<Record<string, unknown>> {
  const { currentContentId, envVars, startupConfig } = environment;
  const content = currentContentId === undefined ? undefined : world.of(contents).get(currentContentId);
  return {
    ...environmentFields(environment),
    image: content?.image,
    version: content?.version,
    variables: Object.keys(envVars),
    startup: startupConfig === undefined ? undefined : Object.keys(startupConfig),
  };
}
