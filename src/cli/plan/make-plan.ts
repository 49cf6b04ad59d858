/** Makes a plan from documents, the state of the cluster if given, and one account of the service. */
import type { Actor, Scene } from './scene.ts';
import { isRecord } from '../../base/json.ts';
import { itemsRead, type AccountReader } from '../account/reader.ts';
import type { Documents } from '../documents/load.ts';
import type { Finding, Plan, PlanRow } from './model.ts';
import { databasePresetsOf } from '../../hosting/requests.ts';
import { rehearse, type Played } from './rehearsal.ts';
import { foldedByAccount, rowsOf, stalledOf, type Known } from './rows.ts';
import { withoutEndpoint } from './service-in-memory.ts';
import {
  keyOfActor,
  mergedValues,
  permissive,
  presumed,
  sortDocuments,
  standInAccounts,
  type Sorted,
} from './scenes.ts';

/** What a plan is made of. */
export interface PlanInput {
  readonly name: string;
  /** What stands in the documents that shall be applied. */
  readonly documents: Documents;
  /** The documents before the change; undefined if not given. */
  readonly base: Documents | undefined;
  /** The state of the namespaces in the cluster; undefined if no cluster is read. */
  readonly live: readonly Actor[] | undefined;
  /** Why the cluster could not be read whole. */
  readonly liveProblems: readonly string[];
  readonly readers: readonly AccountReader[];
  readonly namespace: string;
  readonly requestsPerSecond: number;
  /** Only these resources are printed, as `Kind/name`. */
  readonly only: readonly string[];
  /** How the documents are called in messages. */
  readonly from: string;
}

/** Makes the plan. */
export async function makePlan(input: PlanInput): Promise<Plan> {
  const wanted = sortDocuments(input.documents, input.namespace);
  const base = input.base === undefined ? undefined : sortDocuments(input.base, input.namespace);
  const [reader] = input.readers;
  const cast = castOf(input, wanted, base, reader?.accountId);
  const findings: Finding[] = [
    ...wanted.findings,
    ...(base?.findings ?? []).map((finding) => ({
      ...finding,
      message: `in --base: ${finding.message}`,
      incomplete: true,
    })),
    ...strangers(input.only, [...cast.after.actors, ...(cast.before?.actors ?? [])]),
    ...input.liveProblems.map((message): Finding => ({ code: 'ReadFailed', incomplete: true, message })),
  ];
  const isEmpty = wanted.scene.actors.length === 0 && (base?.scene.actors.length ?? 0) === 0;
  if (isEmpty && wanted.findings.length === 0) {
    const message =
      wanted.others === 0
        ? `${input.from}: there is nothing in it`
        : `${input.from}: none of its ${wanted.others} resources is of apphosting.dev`;
    return planOf(input, [], [], [{ code: 'NoResources', incomplete: true, message }]);
  }
  findings.push(...unreadAccounts(cast.after, input.readers));
  const played = await rehearse({ before: cast.before, after: cast.after, readers: input.readers });
  const known: Known = {
    actors: [...(cast.before?.actors ?? []), ...cast.after.actors],
    places: wanted.places,
    hiddenKnown: hiddenKnownOf(cast.before),
    liveKnown: new Set((input.live ?? []).map(keyOfActor)),
    whyDeleted: `in --base, not in ${input.from}`,
    appName: (appId) => appNameIn(input.readers, appId),
    isDatabase: (preset) => isDatabaseIn(input.readers, preset),
  };
  const silent = input.readers.flatMap(nothingReadOf);
  if (silent.length > 0) return planOf(input, [], [], [...findings, ...silent]);
  const failures = played.failures.map(({ message }): Finding => ({ code: 'ReadFailed', incomplete: true, message }));
  const isListed = (row: { readonly kind?: string | undefined; readonly name?: string | undefined }) =>
    input.only.length === 0 || input.only.includes(`${row.kind}/${row.name}`);
  const { rows, drift } = rowsOf(played, known);
  const told = [
    ...findings,
    ...stalledOf(played, known).filter(isListed),
    ...unique(failures),
    ...(played.isQuiet ? [] : [notQuiet]),
  ];
  const notes = [...cast.notes, ...boundByName(played, known)];
  return planOf(input, foldedByAccount(rows.filter(isListed), known), drift.filter(isListed), told, notes);
}

/** Resources that only shall be told of, and that are not there. */
function strangers(only: readonly string[], actors: readonly Actor[]): readonly Finding[] {
  const known = new Set(actors.map(({ kind, name }) => `${kind}/${name}`));
  return only
    .filter((one) => !known.has(one))
    .map((one) => ({ code: 'NoResources', incomplete: true, message: `--only ${one}: no document has it` }));
}

/** An account of which no read was answered, catalogs for everybody aside: then nothing can be said of its resources. */
export function nothingReadOf(reader: AccountReader): readonly Finding[] {
  const ofAccount = reader.readings().filter(([address]) => address.includes('?'));
  const readings = ofAccount.map(([, reading]) => reading);
  const [first] = readings;
  if (first?.is !== 'failed' || readings.some(({ is }) => is === 'answered')) return [];
  const message = `account ${reader.accountId} at ${reader.endpoint} cannot be read: ${withoutEndpoint(first.message)}`;
  return [{ code: 'ReadFailed', incomplete: true, message }];
}

const notQuiet: Finding = {
  code: 'NotQuiet',
  incomplete: true,
  message: 'after six hours of the clock of the plan something still goes on',
};

function unique(findings: readonly Finding[]): readonly Finding[] {
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()];
}

interface Cast {
  readonly before: Scene | undefined;
  readonly after: Scene;
  readonly notes: readonly string[];
}

/** The objects before and after the change. */
function castOf(input: PlanInput, wanted: Sorted, base: Sorted | undefined, accountId: string | undefined): Cast {
  const { live } = input;
  const withAccounts = (actors: readonly Actor[], others: readonly Actor[]) => {
    const standIns = accountId === undefined ? [] : standInAccounts([...actors, ...others], accountId);
    return [...actors, ...standIns];
  };
  if (live === undefined && base === undefined) {
    // Without a cluster, an object of the service with a resource's name counts as its own.
    const actors = permissive(presumed(withAccounts(wanted.scene.actors, [])));
    return { before: undefined, after: { ...wanted.scene, actors }, notes: notesOf(actors, wanted) };
  }
  const liveByKey = new Map((live ?? []).map((actor) => [keyOfActor(actor), actor]));
  const baseActors = (base?.scene.actors ?? []).map((actor) => liveByKey.get(keyOfActor(actor)) ?? actor);
  const baseKeys = new Set(baseActors.map(keyOfActor));
  const wantedKeys = new Set(wanted.scene.actors.map(keyOfActor));
  const others = (live ?? []).filter((actor) => !baseKeys.has(keyOfActor(actor)));
  const before = permissiveWhere(
    live === undefined,
    presumed(withAccounts([...baseActors, ...others], wanted.scene.actors)),
  );
  const beforeByKey = new Map(before.map((actor) => [keyOfActor(actor), actor]));
  const after = wanted.scene.actors.map((actor) => {
    // A resource that may bind by name before the change may do so after it.
    const known = beforeByKey.get(keyOfActor(actor));
    return known?.presumed === true ? (presumed([actor])[0] ?? actor) : actor;
  });
  const kept = before.filter((actor) => {
    const key = keyOfActor(actor);
    return !wantedKeys.has(key) && (!baseKeys.has(key) || isAccountStillUsed(actor, after));
  });
  const secrets = mergedValues(base?.scene.secrets ?? new Map(), wanted.scene.secrets);
  const configMaps = mergedValues(base?.scene.configMaps ?? new Map(), wanted.scene.configMaps);
  return {
    before: {
      actors: before,
      secrets: base?.scene.secrets ?? wanted.scene.secrets,
      configMaps: base?.scene.configMaps ?? wanted.scene.configMaps,
    },
    after: { actors: permissiveWhere(live === undefined, [...after, ...kept]), secrets, configMaps },
    notes: notesOf(before, wanted),
  };
}

function isAccountStillUsed(actor: Actor, after: readonly Actor[]): boolean {
  return actor.kind.endsWith('HostingAccount') && after.length > 0;
}

function permissiveWhere(isFree: boolean, actors: readonly Actor[]): readonly Actor[] {
  return isFree ? permissive(actors) : actors;
}

function notesOf(actors: readonly Actor[], wanted: Sorted): readonly string[] {
  const isOurs = (actor: Actor) => wanted.places.has(keyOfActor(actor)) || actor.live !== undefined;
  const standIns = actors.filter((actor) => actor.kind.endsWith('HostingAccount') && !isOurs(actor));
  return standIns.map(
    ({ kind, name, spec }) =>
      `${kind}/${name} is not among the documents: it is taken to be account ${String(spec['externalId'])}`,
  );
}

/** Objects of the service that count as a resource's own by their name. */
function boundByName({ objects }: Played, { actors }: Known): readonly string[] {
  const free = new Set(actors.filter(({ presumed: isFree }) => isFree === true).map(keyOfActor));
  const count = objects.filter(({ kind, metadata: { namespace = '', name }, status }) => {
    const isNamed = kind !== 'AppEnvironment' && kind !== 'MemberAccess' && kind !== 'DisasterProtection';
    return isNamed && free.has(`${kind}/${namespace}/${name}`) && isAdopted(status);
  }).length;
  if (count === 0) return [];
  const words = count === 1 ? 'resource names' : 'resources name';
  return [`${count} ${words} no id: what has the name in the service is taken for theirs; --context tells for sure`];
}

function isAdopted(status: unknown): boolean {
  const internal = isRecord(status) ? status['internal'] : undefined;
  return isRecord(internal) && (internal['ownership'] === 'Adopted' || internal['ownership'] === 'Presumed');
}

/** Accounts that no credential and no snapshot is there for. */
function unreadAccounts({ actors }: Scene, readers: readonly AccountReader[]): readonly Finding[] {
  const known = new Set(readers.map(({ accountId }) => accountId));
  return actors.flatMap(({ kind, namespace, name, spec }): Finding[] => {
    const accountId = spec['externalId'];
    if (!kind.endsWith('HostingAccount') || typeof accountId !== 'string' || known.has(accountId)) return [];
    const message = `account ${accountId} is not read: ${readers.length === 0 ? 'nothing is' : `only ${[...known].join(', ')} is`}`;
    return [{ code: 'NoCredential', incomplete: true, message, kind, namespace, name }];
  });
}

/** The hidden fields of resources that existed before are known from the documents. */
function hiddenKnownOf(before: Scene | undefined): ReadonlySet<string> {
  return new Set((before?.actors ?? []).map(keyOfActor));
}

function appNameIn(readers: readonly AccountReader[], appId: unknown): string | undefined {
  const apps = readers.flatMap((reader) => itemsRead(reader, '/apps', 'apps'));
  const name = apps.find((app) => app['appId'] === appId)?.['name'];
  return typeof name === 'string' ? name : undefined;
}

function isDatabaseIn(readers: readonly AccountReader[], preset: unknown): boolean {
  const { first, items } = databasePresetsOf();
  return readers.some((reader) =>
    reader.readings().some(([address, reading]) => {
      const shown = address === first.path && reading.is === 'answered' ? items(reading.body) : undefined;
      return shown?.some(({ name }) => name === preset) === true;
    }),
  );
}

function planOf(
  input: PlanInput,
  rows: readonly PlanRow[],
  drift: readonly PlanRow[],
  findings: readonly Finding[],
  notes: readonly string[] = [],
): Plan {
  const { requestsPerSecond } = input;
  const readings = input.readers.flatMap((reader) => reader.readings());
  const total = rows.filter(({ action }) => action !== 'unknown').length;
  const counts: Record<string, number> = {};
  for (const { action } of rows) counts[action] = (counts[action] ?? 0) + 1;
  return {
    format: 'apphosting-plan',
    version: 1,
    name: input.name,
    accounts: input.readers.map(({ accountId, endpoint, asOfMs }) => {
      return { accountId, endpoint, asOf: new Date(asOfMs).toISOString().replace(/:\d\d\.\d+Z$/, ':00Z') };
    }),
    complete: findings.every(({ incomplete }) => !incomplete),
    rows: [...rows],
    drift: [...drift],
    findings: [...findings],
    notes: [...input.documents.notes, ...notes],
    counts,
    reads: { asked: readings.length, answered: readings.filter(([, { is }]) => is === 'answered').length },
    calls: { total, requestsPerSecond, seconds: Math.ceil(total / requestsPerSecond) },
  };
}
