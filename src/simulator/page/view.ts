import { accounts, credentials, memberships, regions, tokens } from '../service/accounts/records.ts';
import { alerts, metrics } from '../service/alerts/alert.ts';
import { apps } from '../service/apps/app.ts';
import type { Clockwork } from '../service/clockwork.ts';
import { contactPoints } from '../service/contact-points/contact-point.ts';
import type { Operation, Standby } from '../service/disaster/model.ts';
import { busyOperation } from '../service/disaster/operations.ts';
import { readinessAt } from '../service/disaster/readiness.ts';
import { assembled, configurations, recoveryPoints, type StoredConfiguration } from '../service/disaster/rows.ts';
import { caughtUp } from '../service/disaster/copies.ts';
import { contents, type Environment, environments } from '../service/environments/environment.ts';
import { type BodyFields, optional, queryNumber, text } from '../http/fields.ts';
import { faults, effectName } from '../service/faults.ts';
import { only } from '../service/shape.ts';
import { defaultReadings, type Readings } from '../store/readings.ts';
import type { Collection } from '../store/collection.ts';
import type { ChangedRow } from '../store/recent.ts';
import type { World } from '../store/store.ts';

/**
 * Returns the simulator's data for the web page. `epoch` and `after` say which state the page already has. The
 * configurations in `watch` are always sent, because their readiness changes with time.
 */
export function viewOf({ store, mode, requests }: Clockwork, world: World, query: BodyFields): object {
  const after = optional(query, 'after', queryNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  const epoch = optional(query, 'epoch', text());
  const watch = optional(query, 'watch', text({ min: 0 }))?.split(',') ?? [];
  const { recent } = store;
  const changed = after === undefined || epoch !== recent.epoch ? undefined : recent.after(after);
  return {
    // If `epoch` differs from the value that the web page has, all data was replaced, and the page must discard its data.
    epoch: recent.epoch,
    revision: recent.seq,
    now: world.now,
    mode,
    ledgerSeq: store.ledger.lastSeq,
    requestSeq: requests.log.lastSeq,
    // True if `rows` contains all objects; false if it contains only objects that changed since the state that the web
    // page already has.
    complete: changed === undefined,
    ...(changed === undefined ? everything(world) : changes(world, changed, watch)),
    // The simulator options that differ from their defaults.
    readings: changedReadings(world.readings),
  };
}

function everything(world: World) {
  const rows = shownCollections.map(({ name, rows: shownRows }) => [name, shownRows(world)] as const);
  return { rows: Object.fromEntries(rows), removed: {} };
}

function changes(world: World, changed: readonly ChangedRow[], watch: readonly string[]) {
  const byCollection = Map.groupBy(changed, ({ collection }) => collection);
  const rows: Record<string, readonly ShownRow[]> = {};
  const removed: Record<string, readonly string[]> = {};
  for (const { name, rows: shownRows } of shownCollections) {
    const touched = (byCollection.get(name) ?? []).map(({ id }) => id);
    const ids = [...new Set(name === 'configurations' ? [...watch, ...touched] : touched)];
    if (ids.length === 0) continue;
    const left = shownRows(world, ids);
    const leftIds = new Set(left.map(({ id }) => id));
    rows[name] = left;
    removed[name] = ids.filter((id) => !leftIds.has(id));
  }
  return { rows, removed };
}

function changedReadings(readings: Readings): object {
  const before: Readonly<Record<string, unknown>> = defaultReadings();
  return Object.fromEntries(Object.entries(readings).filter(([name, value]) => before[name] !== value));
}

type ShownFields = Readonly<Record<string, unknown>>;

/** A stored object as the web page gets it: with an `id` field, and without secrets other than API tokens. */
type ShownRow = ShownFields & { readonly id: string };

/** Returns a function that reads the objects of a collection for the web page: all of them, or those of the given ids that still exist. */
function shown<T extends object>(collection: Collection<T>, show: (row: T, world: World) => ShownFields) {
  const rows = (world: World, ids?: readonly string[]): readonly ShownRow[] => {
    const all = world.of(collection);
    const wanted = ids === undefined ? all.all() : ids.flatMap((id) => all.get(id) ?? []);
    return wanted.map((row) => ({ id: collection.id(row), ...show(row, world) }));
  };
  return { name: collection.name, rows };
}

const appFields = only('accountId,name,image,useImage,port,sandboxTermination,deletionStarted,createdAt,updatedAt');
const environmentFields = only(
  'accountId,appId,name,cliEnvName,region,gitBranch,status,deployed,resources,volumes,preventDestroy,pendingChanges,updatedAt',
);
const alertFields = only(
  'accountId,appEnvId,name,description,metric,operator,threshold,duration,aggregation,queryRange,enabled,contactPointIds,createdAt',
);

/**
 * The collections and fields that the web page gets. Never add the config of contact points or the values of environment variables, because
 * they are secret. Tokens are included: they are invented, and the page needs them for its requests.
 */
const shownCollections = [
  shown(accounts, only('name,memberEnvAccess,sandboxEntitlement')),
  shown(tokens, only('kind,scopes,currentAccountId')),
  shown(memberships, only('accountId,token,role,permissions,allowedAppEnvIds')),
  shown(credentials, only('accountId,kind')),
  shown(regions, only('up,supports')),
  shown(apps, ({ dockerPreset, ...app }) => ({ ...appFields(app), preset: dockerPreset })),
  shown(environments, shownEnvironment),
  shown(contactPoints, ({ dashboardDeployments, ...point }) => ({
    ...only('accountId,name,type,updatedAt')(point),
    regions: dashboardDeployments.map(({ region }) => region),
  })),
  shown(alerts, ({ liveState, lastKnownState, ...alert }) => ({
    ...alertFields(alert),
    state: liveState,
    knownState: lastKnownState,
  })),
  shown(metrics, only('appEnvId,metric,value,pods')),
  shown(configurations, shownConfiguration),
  shown(faults, ({ match: { bodyContains, ...match }, effect }) => ({
    ...match,
    readsBody: bodyContains !== undefined,
    effect: effectName(effect),
    status: effect.status ?? effect.commitThen?.status,
  })),
];

function shownEnvironment(environment: Environment, world: World): ShownFields {
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

const configurationFields = only('accountId,generation,createdAt,pointsTaken,nextSnapshotAt,nextValidationAt');
const settingFields = only('mode,snapshotIntervalMs,validationIntervalMs,rpoTargetMs');
const toldFields = only('hold,failSteps,nextValidation');
const operationFields = only('operationId,kind,phase,startedAt,endedAt,outcome,failedSteps,check');

const mostPoints = 60;
const mostOperations = 16;

/** Formats a protection for the web page, with its current readiness and the data for its timeline. */
function shownConfiguration(row: StoredConfiguration, world: World): ShownFields {
  const points = world.of(recoveryPoints).where('configuration', row.configurationId);
  const configuration = assembled(row, points);
  const { settings, source, standby, told, activationResult } = configuration;
  return {
    ...configurationFields(row),
    ...settingFields(settings),
    ...toldFields(told),
    appEnvId: row.sourceAppEnvId,
    appName: source.appName,
    envName: source.environmentName,
    region: source.region,
    destination: settings.destinationRegion,
    readiness: readinessAt(configuration, world.now),
    busy: busyOperation(configuration)?.operationId,
    operations: configuration.operations.slice(-mostOperations).map(shownOperation),
    standby: standby === undefined ? undefined : shownStandby(standby),
    points: configuration.points.slice(-mostPoints).map(({ cutoffAt }) => cutoffAt),
    fenced: row.fencedAt !== undefined,
    recovered: activationResult?.targetAppEnvId,
  };
}

function shownOperation(operation: Operation): ShownFields {
  return { ...operationFields(operation), target: operation.pinned?.target.envName };
}

function shownStandby(standby: Standby) {
  const { shape, reason, backlog, lastApplySeconds, firstCopyDone } = standby;
  return { shape, reason, waiting: backlog.length, lastApplySeconds, firstCopyDone, caughtUp: caughtUp(standby) };
}
