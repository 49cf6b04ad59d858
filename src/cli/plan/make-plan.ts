/** Makes a plan from the manifests, the accounts of the service and, if given, the state of the cluster. */
import { itemsRead, type AccountReader } from '../account/reader.ts';
import type { Finding, Plan } from './model.ts';
import { databasePresetsOf } from '../../hosting/requests.ts';
import type { AnyKind } from '../../engine/kind/contract/define.ts';
import { appEnvironment } from '../../kinds/app-environment/app-environment.ts';
import { disasterProtection } from '../../kinds/disaster-protection/disaster-protection.ts';
import { memberAccess } from '../../kinds/member-access/member-access.ts';
import { partsOfKey, type ParsedObject } from '../../engine/objects/stored.ts';
import { keyInWords, type ObjectsRead } from '../cluster/objects.ts';
import { notQuiet, rehearse, type Played } from './rehearsal.ts';
import { foldedByAccount, rowsOf, stalledOf, type Known } from './rows.ts';
import { withoutEndpoint } from './service-in-memory.ts';
import { isIdUnknown, permissive, presumed, specOf, standInAccounts, type Scene, type Sorted } from './scenes.ts';

/** The input from which a plan is made. */
export interface PlanInput {
  readonly name: string;
  /** The path from which the manifests were read. Messages show it. */
  readonly from: string;
  /** The manifests that the user wants to apply. */
  readonly wanted: Sorted;
  /** The manifests as they were before the change. Set only if the flag `--base` is given. */
  readonly base?: Sorted | undefined;
  /**
   * The objects in the cluster, and the reasons why other objects could not be read. Undefined if no cluster is read.
   */
  readonly live?: ObjectsRead | undefined;
  readonly readers: readonly AccountReader[];
  readonly requestsPerSecond: number;
  /** The only resources to report, as `Kind/name`; all resources if empty. */
  readonly only?: readonly string[];
}

/**
 * Makes a plan: the calls that applying the manifests would send to the service, and the problems that a person should
 * know about first.
 */
export async function makePlan(input: PlanInput): Promise<Plan> {
  const { wanted, base, live, readers, from, only = [] } = input;
  const cast = castOf(input);
  const objects = [...(cast.before?.objects ?? []), ...cast.after.objects];
  const findings: Finding[] = [
    ...wanted.findings,
    ...(base?.findings ?? []).map((one) => ({ ...one, incomplete: true, message: `in --base: ${one.message}` })),
    ...strangers(only, objects),
    ...(live?.problems ?? []).map((message) => incomplete('ReadFailed', message)),
  ];
  const isEmpty = wanted.scene.objects.length === 0 && (base?.scene.objects.length ?? 0) === 0;
  if (isEmpty && wanted.findings.length === 0) {
    const none = `none of the ${wanted.others} resources is of the API group apphosting.dev`;
    const why = wanted.others === 0 ? 'the manifests contain no resources' : none;
    const message = `${from}: ${why}`;
    return planOf(input, { findings: [incomplete('NoResources', message)] });
  }
  findings.push(...unreadAccounts(cast.after, readers));
  const played = await rehearse(cast.before, cast.after, readers);
  const silent = readers.flatMap(nothingReadOf);
  if (silent.length > 0) return planOf(input, { findings: [...findings, ...silent] });
  const known: Known = {
    objects,
    places: wanted.places,
    // If the earlier spec of a resource is known, the old values of the fields that the service hides are known too,
    // because the spec contains them.
    hiddenKnown: new Set((cast.before?.objects ?? []).map(({ key }) => key)),
    liveKnown: new Set((live?.objects ?? []).map(({ key }) => key)),
    whyDeleted: `the resource is in --base, but not in ${from}`,
    appName: (appId) => appNameIn(readers, appId),
    isDatabase: (preset) => isDatabaseIn(readers, preset),
  };
  const isListed = ({ kind, name }: { readonly kind?: string | undefined; readonly name?: string | undefined }) =>
    only.length === 0 || only.includes(`${kind}/${name}`);
  findings.push(
    ...stalledOf(played, known).filter(isListed),
    ...played.failures.map((message) => incomplete('ReadFailed', message)),
    ...(played.isQuiet ? [] : [incomplete('NotQuiet', notQuiet)]),
  );
  const { rows, drift } = rowsOf(played, known);
  return planOf(input, {
    rows: foldedByAccount(rows.filter(isListed), known),
    drift: drift.filter(isListed),
    findings,
    notes: [...cast.notes, ...boundByName(played, known)],
  });
}

/** Makes a finding that says why the plan is incomplete. */
function incomplete(code: Finding['code'], message: string): Finding {
  return { code, incomplete: true, message };
}

/** Reports the resources that `--only` names but no manifest defines. */
function strangers(only: readonly string[], objects: readonly ParsedObject[]): readonly Finding[] {
  const known = new Set(objects.map(({ key }) => keyInWords(key)));
  const unknown = only.filter((one) => !known.has(one));
  return unknown.map((one) => incomplete('NoResources', `--only ${one}: no manifest defines this resource`));
}

/**
 * Reports an account if some reads of it failed and no read of it succeeded. Reads of public catalogs do not count,
 * because they say nothing about the account; such a read is recognised by its address, which has no query.
 */
export function nothingReadOf(reader: AccountReader): readonly Finding[] {
  const ofAccount = reader.readings().filter(([address]) => address.includes('?'));
  const readings = ofAccount.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, reading]) => reading);
  const [first] = readings;
  if (first?.is !== 'failed' || readings.some(({ is }) => is === 'answered')) return [];
  const account = `account ${reader.accountId} at ${reader.endpoint}`;
  return [incomplete('ReadFailed', `${account} cannot be read: ${withoutEndpoint(first.message)}`)];
}

/** Collects two sets of objects: those that exist before the planned change, and those that exist after it. */
function castOf({ wanted, base, live, readers: [reader] }: PlanInput) {
  type Objects = readonly ParsedObject[];
  const withAccounts = (objects: Objects, others: Objects = []) => {
    const standIns = reader === undefined ? [] : standInAccounts([...objects, ...others], reader.accountId);
    return [...objects, ...standIns];
  };
  if (live === undefined && base === undefined) {
    // No cluster was read, so the id of an object in the service is only known if a spec gives the id. Assume that any
    // other resource manages the object of the same name.
    const objects = permissive(presumed(withAccounts(wanted.scene.objects)));
    return { before: undefined, after: { ...wanted.scene, objects }, notes: notesOf(objects, wanted) };
  }
  const permitted = live === undefined ? permissive : (objects: Objects) => objects;
  const liveByKey = byKey(live?.objects ?? []);
  const baseObjects = (base?.scene.objects ?? []).map((one) => liveByKey.get(one.key) ?? one);
  const baseKeys = byKey(baseObjects);
  const others = (live?.objects ?? []).filter(({ key }) => !baseKeys.has(key));
  const before = permitted(presumed(withAccounts([...baseObjects, ...others], wanted.scene.objects)));
  const beforeByKey = byKey(before);
  // The engine first runs with the objects before the change, then with the objects after it. The plan adds `adoption:
  // ByName` to some specs for the first run. Add it for the second run too, so that the two specs differ only where the
  // manifests do.
  const after = wanted.scene.objects.flatMap((one) => {
    const known = beforeByKey.get(one.key);
    return known !== undefined && isIdUnknown(known) ? presumed([one]) : [one];
  });
  const wantedKeys = byKey(after);
  const kept = before.filter(({ kind, key }) => {
    const isUsed = kind.life === 'account' && after.length > 0;
    return !wantedKeys.has(key) && (!baseKeys.has(key) || isUsed);
  });
  const materials = new Map([...(base?.scene.materials ?? []), ...wanted.scene.materials]);
  return {
    before: { objects: before, materials: (base ?? wanted).scene.materials },
    after: { objects: permitted([...after, ...kept]), materials },
    notes: notesOf(before, wanted),
  };
}

function byKey(objects: readonly ParsedObject[]): ReadonlyMap<string, ParsedObject> {
  return new Map(objects.map((one) => [one.key, one]));
}

function notesOf(objects: readonly ParsedObject[], wanted: Sorted): readonly string[] {
  const isOurs = ({ key, object }: ParsedObject) => wanted.places.has(key) || object.status !== undefined;
  const standIns = objects.filter((one) => one.kind.life === 'account' && !isOurs(one));
  return standIns.map(
    (one) =>
      `the manifests do not contain ${keyInWords(one.key)}: the plan assumes that it is account ${String(specOf(one)['externalId'])} of the service`,
  );
}

/** Writes a note with the number of resources whose object in the service was found only by its name. */
function boundByName(played: Played, { objects }: Known): readonly string[] {
  const free = new Set(objects.filter(isIdUnknown).map(({ key }) => key));
  const count = played.objects.filter(({ kind, key, status: { memory } }) => {
    const isAdopted = memory.ownership === 'Adopted' || memory.ownership === 'Presumed';
    return !nameless.has(kind) && free.has(key) && isAdopted;
  }).length;
  if (count === 0) return [];
  const without = count === 1 ? 'resource has' : 'resources have';
  return [
    `${count} ${without} no id: the plan uses the object of the service that has the same name; with --context, the plan reads the ids from the cluster`,
  ];
}

/** The kinds whose objects have no name of their own in the service. */
const nameless: ReadonlySet<AnyKind> = new Set([appEnvironment, memberAccess, disasterProtection]);

/** Reports accounts for which there is neither a credential nor a snapshot. */
function unreadAccounts({ objects }: Scene, readers: readonly AccountReader[]): readonly Finding[] {
  const known = new Set(readers.map(({ accountId }) => accountId));
  return objects.flatMap((one): Finding[] => {
    const accountId = specOf(one)['externalId'];
    if (one.kind.life !== 'account' || typeof accountId !== 'string' || known.has(accountId)) return [];
    const message = `there is neither a credential nor a snapshot for account ${accountId}; accounts that the plan reads: ${[...known].join(', ') || 'none'}`;
    return [{ ...incomplete('NoCredential', message), ...partsOfKey(one.key) }];
  });
}

function appNameIn(readers: readonly AccountReader[], appId: unknown): string | undefined {
  const apps = readers.flatMap((reader) => itemsRead(reader, '/apps', 'apps'));
  const name = apps.find((app) => app['appId'] === appId)?.['name'];
  return typeof name === 'string' ? name : undefined;
}

function isDatabaseIn(readers: readonly AccountReader[], preset: unknown): boolean {
  const { first, items } = databasePresetsOf();
  const answers = readers.flatMap((reader) => reader.readings()).filter(([address]) => address === first.path);
  const presets = answers.flatMap(([, reading]) => (reading.is === 'answered' ? (items(reading.body) ?? []) : []));
  return presets.some(({ name }) => name === preset);
}

function planOf({ name, wanted, readers, requestsPerSecond }: PlanInput, found: Partial<Plan>): Plan {
  const { rows = [], drift = [], findings = [], notes = [] } = found;
  const readings = readers.flatMap((reader) => reader.readings());
  const total = rows.filter(({ action }) => action !== 'unknown').length;
  const counts: Record<string, number> = {};
  for (const { action } of rows) counts[action] = (counts[action] ?? 0) + 1;
  return {
    format: 'apphosting-plan',
    version: 1,
    name,
    accounts: readers.map(({ accountId, endpoint, asOfMs }) => {
      return { accountId, endpoint, asOf: new Date(asOfMs).toISOString().replace(/:\d\d\.\d+Z$/, ':00Z') };
    }),
    complete: findings.every((finding) => !finding.incomplete),
    rows,
    drift,
    findings,
    notes: [...wanted.notes, ...notes],
    counts,
    reads: { asked: readings.length, answered: readings.filter(([, { is }]) => is === 'answered').length },
    calls: { total, requestsPerSecond, seconds: Math.ceil(total / requestsPerSecond) },
  };
}
