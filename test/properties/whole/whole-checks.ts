/** What must hold of the whole once nothing goes wrong any more; each finding is one sentence. */
import type { Condition } from '../../../src/engine/kind/contract/step.ts';
import type { KubeObject } from '../../../src/engine/ports.ts';
import { flawsOf } from '../../support/memory/status-checker.ts';
import { componentApps, differencesOfAccess, differencesOfSolution, doubled, liesOfSolution } from './whole-access.ts';
import type { WholeLife } from './whole-life.ts';
import { subjects } from './whole-subjects.ts';

type Row = Readonly<Record<string, unknown>>;
type Service = Readonly<Record<string, readonly Row[]>>;

/** Ends that only people can change; each is checked to be true where the service shows it. */
const truthful: ReadonlySet<string> = new Set([
  'AlreadyExists',
  'Ambiguous',
  'Claimed',
  'NotFound',
  'ObjectGone',
  'Contested',
  'AdoptionNotAllowed',
  'DeployInDoubt',
  'UpgradeInDoubt',
  'InstallationIdUnknown',
]);

/** Everything that is wrong. */
export async function findings(life: WholeLife): Promise<readonly string[]> {
  const { collections } = (await life.world.control('GET', '/world')) as { collections: Service };
  const objects = subjects.flatMap(({ kind, name, within }) => life.world.get(kind, name, within) ?? []);
  return [
    ...objects.flatMap((object) => ofObject(object, objects, collections, life.isRewound)),
    ...doubled(collections),
    ...(await leftBehind(life, objects, collections)),
    ...ofOthers(life, collections),
    ...life.leaks.map((where) => `a secret stands in ${where}`),
    ...(await ofLogsAndMetrics(life)),
  ];
}

/** What wrote anything within the last hour; nothing should, but each alert the time at which its state was seen. */
export async function hourOfRest(life: WholeLife): Promise<readonly string[]> {
  const { world } = life;
  const [sent, calls, commits] = [world.sent.length, world.kube.calls.length, (await changes(life)).length];
  await world.run(3_600_000);
  const writing = world.kube.calls.slice(calls).filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
  const timed = new Set<string>();
  const unexpected = writing.filter(({ verb, plural, namespace, name }) => {
    const alert = `${namespace}/${name}`;
    if (verb !== 'replaceStatus' || plural !== 'metricalerts' || timed.has(alert)) return true;
    timed.add(alert);
    return false;
  });
  const later = world.sent.slice(sent).filter(({ path }) => !path.endsWith('/alert/refresh'));
  // What cannot be deleted yet is tried again at times.
  const blocked = subjects.filter(({ kind, name, within }) => isBlocked(world.get(kind, name, within))).length;
  const retries = later.filter(({ method }) => method === 'DELETE').length;
  return [
    ...(retries <= 8 * blocked
      ? []
      : [`${retries} deletions are tried within an hour for ${blocked} that are blocked`]),
    ...later.filter(({ method }) => method !== 'DELETE').map(({ method, path }) => `at rest it sent ${method} ${path}`),
    ...unexpected.map(({ verb, plural, name }) => `at rest it wrote ${verb} ${plural} ${name}`),
    ...((await changes(life)).length === commits ? [] : ['the service changed at rest']),
  ];
}

function isBlocked(object: KubeObject | undefined): boolean {
  return object !== undefined && conditionsOf(object).some(({ reason }) => reason === 'DeletionBlocked');
}

async function changes(life: WholeLife): Promise<readonly { kind: string; id: string }[]> {
  return (await life.world.ledger()).filter(({ kind }) => kind !== 'alert.refreshed' && kind !== 'alert.stateChanged');
}

function conditionsOf(object: KubeObject): readonly Condition[] {
  return ((object.status ?? {}) as { conditions?: readonly Condition[] }).conditions ?? [];
}

function ofObject(
  object: KubeObject,
  all: readonly KubeObject[],
  service: Service,
  isRewound: boolean,
): readonly string[] {
  const where = `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
  const flaws = flawsOf(object).map((flaw) => `${where}: ${flaw}`);
  const ready = conditionsOf(object).find(({ type }) => type === 'Ready');
  const stalled = conditionsOf(object).some(({ type, status }) => type === 'Stalled' && status === 'True');
  if (ready === undefined) return flaws;
  const said = `${where} says ${ready.status}/${ready.reason}: ${ready.message}`;
  if (ready.observedGeneration !== object.metadata.generation) return [...flaws, `${said}, of an older generation`];
  if (object.metadata.deletionTimestamp !== undefined) {
    return ready.reason === 'DeletionBlocked' && isUsed(object, service)
      ? flaws
      : [...flaws, `${said}, and does not go`];
  }
  if (ready.status === 'True')
    return [...flaws, ...differences(object, service, isRewound).map((text) => `${said}, but ${text}`)];
  if (ready.reason === 'ReferenceNotReady' && lacksReference(object, all)) return flaws;
  if (lacksDelivery(object, all, service)) return flaws;
  if (stalled && truthful.has(ready.reason)) {
    return [...flaws, ...lies(object, ready, all, service).map((text) => `${said}, but ${text}`)];
  }
  return [...flaws, said];
}

function idOf(object: KubeObject): string | undefined {
  return (object.status as { externalId?: string } | undefined)?.externalId;
}

const places: Readonly<Record<string, readonly [string, string]>> = {
  ContactPoint: ['contactPoints', 'contactPointId'],
  MetricAlert: ['alerts', 'alertId'],
  HostedApp: ['apps', 'appId'],
};

function rowOf(object: KubeObject, service: Service): Row | undefined {
  const [collection, field] = places[object.kind] ?? [];
  if (collection === undefined || field === undefined) return undefined;
  return service[collection]?.find((row) => row[field] === idOf(object));
}

/** Where what is called equal differs. */
function differences(object: KubeObject, service: Service, isRewound: boolean): readonly string[] {
  const ready = conditionsOf(object).find(({ type }) => type === 'Ready');
  const spec = object.spec as Row & { lifecycle?: Row };
  if (
    (ready?.reason === 'Observed' || ready?.reason === 'DriftReported') &&
    (spec.lifecycle?.['managementPolicy'] === 'Observe' || spec.lifecycle?.['drift'] === 'Report')
  )
    return [];
  if (object.kind === 'MemberAccess') return differencesOfAccess(object, service);
  if (object.kind === 'SolutionInstallation') return differencesOfSolution(object, service, isRewound);
  if (places[object.kind] === undefined) return [];
  const row = rowOf(object, service);
  if (row === undefined) return [`${idOf(object)} is not in the service`];
  const fields =
    { ContactPoint: ['name'], MetricAlert: ['threshold', 'enabled'], HostedApp: ['port'] }[object.kind] ?? [];
  return fields.flatMap((field) =>
    spec[field] === undefined || spec[field] === row[field] ? [] : [`${field} is ${String(row[field])} in the service`],
  );
}

/** Where a stall claims what is not so. */
function lies(
  object: KubeObject,
  condition: Condition,
  all: readonly KubeObject[],
  service: Service,
): readonly string[] {
  const { reason, message } = condition;
  if (object.kind === 'SolutionInstallation')
    return liesOfSolution(condition, (object.spec as { appName: string }).appName, service);
  const { externalId } = object.spec as { externalId?: string };
  const bound = new Set(all.flatMap((other) => idOf(other) ?? []));
  const [collection, field] = places[object.kind] ?? [];
  const ids = new Set((service[collection ?? ''] ?? []).map((row) => String(row[field ?? ''])));
  switch (reason) {
    case 'AlreadyExists':
    case 'Ambiguous': {
      const free = [...ids].filter((id) => !bound.has(id));
      return free.some((id) => message.includes(id)) ? [] : ['none of what it names is there and free'];
    }
    case 'NotFound':
      return ids.has(externalId ?? '') ? [`${externalId} is there`] : [];
    case 'ObjectGone':
      return ids.has(idOf(object) ?? '') ? [`${idOf(object)} is there`] : [];
    case 'Claimed':
      return all.some((other) => message.includes(`${other.kind} ${other.metadata.namespace}/${other.metadata.name}`))
        ? []
        : ['its owner is not there'];
    default:
      return [];
  }
}

function lacksReference(object: KubeObject, all: readonly KubeObject[]): boolean {
  const { contactPointRefs = [] } = object.spec as { contactPointRefs?: readonly { name?: string }[] };
  return contactPointRefs.some(({ name }) => {
    const found = all.find(
      ({ kind, metadata }) =>
        kind === 'ContactPoint' && metadata.name === name && metadata.namespace === object.metadata.namespace,
    );
    return found === undefined || idOf(found) === undefined;
  });
}

/** An alert whose contact point somebody deleted in the service cannot be made; its resource may have reasons to stay without. */
function lacksDelivery(object: KubeObject, all: readonly KubeObject[], service: Service): boolean {
  const { contactPointRefs = [] } = object.spec as { contactPointRefs?: readonly { name?: string }[] };
  const alive = new Set((service['contactPoints'] ?? []).map(({ contactPointId }) => contactPointId));
  return contactPointRefs.some(({ name }) => {
    const found = all.find(
      ({ kind, metadata }) =>
        kind === 'ContactPoint' && metadata.name === name && metadata.namespace === object.metadata.namespace,
    );
    return found !== undefined && !alive.has(idOf(found));
  });
}

/** A contact point that alerts of the service use cannot be deleted. */
function isUsed(object: KubeObject, service: Service): boolean {
  const id = idOf(object);
  return (
    object.kind === 'ContactPoint' && (service['alerts'] ?? []).some((row) => JSON.stringify(row).includes(`"${id}"`))
  );
}

/** What the operator made and no resource has any more must have been told of. */
async function leftBehind(
  life: WholeLife,
  objects: readonly KubeObject[],
  service: Service,
): Promise<readonly string[]> {
  if (life.isRewound) return [];
  const bound = new Set(objects.flatMap((object) => idOf(object) ?? []));
  const told = [...life.said].join('\n');
  const made = await changes(life);
  const found: string[] = [];
  const ofSolutions = componentApps(service);
  for (const [collection, field] of Object.values(places)) {
    const alive = new Set((service[collection] ?? []).map((row) => String(row[field])));
    const ids = made.filter(({ kind, id }) => kind.endsWith('.created') && alive.has(id)).map(({ id }) => id);
    for (const id of ids.filter((one) => !ofSolutions.has(one))) {
      if (!bound.has(id) && !life.theirs.has(id) && !told.includes(id))
        found.push(`${id} was made and is left behind without a word`);
    }
  }
  return found;
}

/** What people made by hand and nobody adopted is as they left it. */
function ofOthers(life: WholeLife, service: Service): readonly string[] {
  return [...life.foreign].flatMap(([id, left]) => {
    if (left === undefined || life.bound.has(id)) return [];
    const row = service['contactPoints']?.find(({ contactPointId }) => contactPointId === id);
    if (row === undefined) return [`${id} of somebody else is gone`];
    return row['name'] === left.name ? [] : [`${id} of somebody else is called ${String(row['name'])} now`];
  });
}

/** Mistakes of our own in the logs, and secrets. */
async function ofLogsAndMetrics(life: WholeLife): Promise<readonly string[]> {
  const lines = life.processes.flatMap(({ trace }) => trace.lines);
  const bugs = lines.filter((line) => line.startsWith('error') && !/KubeError|DeadlineError/.test(line));
  const metrics = await Promise.all(life.processes.map(async (one) => (await one.metrics?.text()) ?? ''));
  const leaks = [...lines, ...metrics].filter((line) => line.includes('planted-') || line.includes('demo-admin'));
  return [
    ...bugs.slice(0, 2).map((line) => `the log has ${line.slice(0, 700)}`),
    ...leaks.slice(0, 1).map(() => 'a secret stands in the log or in a metric'),
  ];
}
