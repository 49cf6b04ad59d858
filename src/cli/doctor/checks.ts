/**
 * Checks an installation of the operator. A failed read does not stop the other checks: the check that needs the read
 * reports `unknown`. Accounts that cannot be listed are not checked.
 */
import { isRecord, recordsIn, sameJson } from '../../base/json.ts';
import { fewOf } from '../../base/text.ts';
import { manifest } from '../../crd/manifest.ts';
import { annotations } from '../../engine/kind/contract/define.ts';
import type { ParsedObject } from '../../engine/objects/stored.ts';
import { KubeError, type Resource } from '../../engine/ports.ts';
import type { ClusterAction } from '../../kube/client/client.ts';
import { clusterWide, namespaced, ownNamespace, type Role } from '../../crd/rbac.ts';
import { kinds } from '../../kinds/index.ts';
import { leaseResource, leaseSpecOf } from '../../kube/lease.ts';
import { secretResource } from '../../kube/material.ts';
import { secretNameIn, secretText } from '../account/in-cluster.ts';
import { conditionOf, isCurrent, readObjects } from '../cluster/objects.ts';
import { type CommandApi, failureOf, withGroup } from '../cluster/open.ts';
import type { Waiting } from '../machine.ts';
import { operatorName } from '../operator/operator.ts';
import { ageInWords } from '../output.ts';

/** The result of a check: ok, warning, error or unknown. */
export type CheckVerdict = 'ok' | 'warning' | 'error' | 'unknown';

/** What a check has found about one object. */
export interface CheckFinding {
  readonly code: string;
  readonly verdict: CheckVerdict;
  /** The object that was checked, such as a CRD or a resource. */
  readonly object: string;
  readonly message: string;
  readonly remedy?: string;
}

/** The installation of the operator to check, the cluster that it runs in, and which checks to run. */
export interface Patient {
  readonly api: Pick<CommandApi, 'get' | 'list' | 'serverDate' | 'isAllowed'>;
  readonly operatorNamespace: string;
  /** The only namespace whose resources are checked; undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly time: Waiting;
  /** True to run only the checks that make sense before the operator is installed. */
  readonly isBefore: boolean;
}

type Findings = readonly CheckFinding[];
type Say = (verdict: CheckVerdict, message: string, remedy?: string) => Findings;

/** The API resource of CustomResourceDefinitions. */
export const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
export const serviceAccounts: Resource = { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true };
const clockSlackMs = 5_000;
/**
 * A request to reconcile that is older than this and still unhandled counts as a problem. A running operator usually
 * handles a request in seconds.
 */
const silenceMs = 60_000;
/**
 * A check warns if the reads of an account are expected to use at least this share of its request budget. Polls use at
 * most half of the budget: if they need more, lists are read less often than spec.pollSeconds says. The share is a
 * little below one half, because the numbers in status are rounded.
 */
const mostOfBudget = 0.49;

/**
 * A check: its code, the object that it checks, such as `apphosting-system/apphosting-operator`, and the function that
 * runs the check.
 */
type Check = readonly [
  code: string,
  object: string,
  look: (patient: Patient, say: Say) => Findings | Promise<Findings>,
];

/** Runs all checks of an installation, one after the other; a failed check does not stop the others. */
export async function examine(patient: Patient): Promise<Findings> {
  const operator = `${patient.operatorNamespace}/${operatorName}`;
  const early: readonly Check[] = [
    ['Definitions', 'crds', definitionsAre],
    ['Clock', 'clock', clockIs],
  ];
  const installed: readonly Check[] = [
    ['Lease', operator, leaseIs],
    ['OperatorKey', `${operator}-key`, keyIs],
    ['Rights', operator, rightsAre],
    ['Resources', 'resources', resourcesAre],
  ];
  const found: CheckFinding[] = [];
  for (const [code, object, look] of patient.isBefore ? early : [...early, ...installed]) {
    const say = about(code, object);
    found.push(...(await tried(say, () => look(patient, say))));
  }
  return found;
}

/** Runs a check; reports it as unknown if a Kubernetes request fails. */
async function tried(say: Say, look: () => Findings | Promise<Findings>): Promise<Findings> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return say('unknown', error.message);
  }
}

/**
 * Runs a Kubernetes request. If it fails, throws an error whose message names the verb, so that the user sees which
 * permission is missing.
 */
async function reading<T>(verb: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw new KubeError(error.reason, failureOf(error, verb));
  }
}

/**
 * Gets an object. If that fails, throws an error whose message names the request, so that the user sees which
 * permission is missing.
 */
function getting(api: Patient['api'], resource: Resource, namespace: string | undefined, name: string) {
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return reading(`get ${withGroup(resource)}${where}`, () => api.get(resource, namespace, name));
}

/** Makes the function with which a check reports what it has found out about one object. */
function about(code: string, object: string): Say {
  return (verdict, message, remedy) => [{ code, verdict, object, message, ...(remedy !== undefined && { remedy }) }];
}

async function definitionsAre({ api, isBefore }: Patient, say: Say): Promise<Findings> {
  const findings: CheckFinding[] = [];
  let installed = 0;
  for (const identity of kinds) {
    const expected = manifest(identity);
    const { name } = expected.metadata;
    const sayOf = about('Definitions', name);
    const live = await getting(api, definitions, undefined, name);
    const [wanted] = expected.spec.versions;
    const served = recordsIn(live?.spec, 'versions').find((version) => version['name'] === wanted?.name);
    if (live === undefined) {
      const remedy = 'Apply the CRDs: kubectl apply -f crds/';
      if (!isBefore) findings.push(...sayOf('error', 'the CRD is not installed', remedy));
      continue;
    }
    installed += 1;
    if (!sameJson(served?.['schema'], wanted?.schema)) {
      const message = 'the schema of the CRD differs from that of this version of apphosting';
      findings.push(...sayOf('warning', message, 'Apply the CRDs that belong to the running version of the operator.'));
    }
  }
  if (findings.length > 0) return findings;
  return say('ok', `${installed} of ${kinds.length} CRDs are installed, all as in this version of apphosting`);
}

const setClocks = 'Synchronise the clocks with NTP.';

function clockIs({ api, time }: Patient, say: Say): Findings {
  const dateMs = api.serverDate?.()?.dateMs;
  if (dateMs === undefined) return [];
  const apartMs = Math.abs(dateMs - time.nowMs());
  const message = `the clocks of this machine and of the API server differ by ${Math.round(apartMs / 1_000)} s`;
  return apartMs <= clockSlackMs ? say('ok', message) : say('warning', message, setClocks);
}

/**
 * Checks that an operator holds the lease. Also checks the operator's clock by the time in the lease, because the
 * operator writes its own time there whenever it renews the lease.
 */
async function leaseIs(patient: Patient, say: Say): Promise<Findings> {
  const remedy = 'Start the operator, or give its namespace with --operator-namespace: docs/runbooks/nobody-acts.md.';
  const first = await leaseSeen(patient);
  if (first === undefined) return say('error', 'no operator has ever held the lease in this namespace', remedy);
  let seen = first;
  if (first.holder !== undefined && first.oldMs >= first.leaseMs) {
    // Read the lease again after a pause. If the operator's clock is slow, the lease seems to have expired although the
    // operator still renews it. The pause is longer than the interval of these renewals: 2/15 of the duration of the
    // lease.
    await patient.time.pause(Math.max(5_000, first.leaseMs / 5));
    seen = (await leaseSeen(patient)) ?? first;
  }
  const { holder, renewTime = '', oldMs, leaseMs, by } = seen;
  if (holder === undefined || (oldMs >= leaseMs && seen.renewTime === first.renewTime)) {
    if (renewTime === '') return say('error', 'no operator holds the lease', remedy);
    const age = ageInWords(renewTime, patient.time.nowMs());
    return say('error', `no operator holds the lease; it was last renewed ${age} ago`, remedy);
  }
  const isApart = -oldMs > clockSlackMs || oldMs >= leaseMs;
  const seconds = Math.round(Math.abs(oldMs) / 1_000);
  const clock = `the clock of the operator is ${seconds} s ${oldMs < 0 ? 'ahead of' : 'behind'} ${by}`;
  const sayOfClock = about('Clock', `${patient.operatorNamespace}/${operatorName}`);
  return [...say('ok', `${holder} leads`), ...(isApart ? sayOfClock('warning', clock, setClocks) : [])];
}

async function leaseSeen({ api, operatorNamespace, time }: Patient) {
  const lease = await getting(api, leaseResource, operatorNamespace, operatorName);
  if (lease === undefined) return undefined;
  const { holderIdentity: holder, renewTime, leaseDurationSeconds } = leaseSpecOf(lease);
  const dateMs = api.serverDate?.()?.dateMs;
  const oldMs = renewTime === undefined ? Number.POSITIVE_INFINITY : (dateMs ?? time.nowMs()) - Date.parse(renewTime);
  const by = dateMs === undefined ? 'this machine' : 'the API server';
  return { holder, renewTime, oldMs, leaseMs: Math.max(15, leaseDurationSeconds) * 1_000, by };
}

async function keyIs({ api, operatorNamespace }: Patient, say: Say): Promise<Findings> {
  const isThere = (await getting(api, secretResource, operatorNamespace, `${operatorName}-key`)) !== undefined;
  if (isThere) return say('ok', 'the Secret exists');
  const message =
    'the Secret does not exist: when the operator starts, it creates the Secret with a new key. With a new key, the operator does not recognise hidden values that it sent before';
  return say('warning', message, 'Restore the Secret from a backup, if there is a backup.');
}

/** Asks the API server whether the operator's ServiceAccount has each permission that the operator uses. */
async function rightsAre({ api, operatorNamespace, namespace }: Patient, say: Say): Promise<Findings> {
  const { isAllowed } = api;
  if (isAllowed === undefined) return [];
  const account = await getting(api, serviceAccounts, operatorNamespace, operatorName);
  const unknown = 'the ServiceAccount does not exist, so the permissions of the operator are not known';
  if (account === undefined)
    return say('warning', unknown, 'If the operator is in another namespace, give it with --operator-namespace.');
  const roles = namespace === undefined ? clusterWide(kinds) : namespaced(kinds);
  const wanted = [...actionsIn(roles, namespace), ...actionsIn(ownNamespace(), operatorNamespace)];
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${operatorNamespace}`, 'system:authenticated'];
  const user = { user: `system:serviceaccount:${operatorNamespace}:${operatorName}`, groups };
  const answers = await reading('create subjectaccessreviews.authorization.k8s.io', () =>
    Promise.all(wanted.map((action) => isAllowed.call(api, user, action))),
  );
  const denied = wanted.filter((_action, at) => answers[at] === false);
  if (denied.length === 0) return say('ok', `the operator has all ${wanted.length} permissions that it needs`);
  const remedy =
    'Install the roles of this version in the same way as the operator: with helm upgrade, or with kubectl apply -k and your overlay. If the operator serves only one namespace, give that namespace with --namespace.';
  const named = denied.map((action) => inWords(action));
  return say('error', `the operator lacks the permission to ${fewOf(named)}`, remedy);
}

function actionsIn(roles: readonly Role[], namespace: string | undefined): readonly ClusterAction[] {
  const rules = roles.flatMap(({ rules: all }) => all);
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ verb, group: apiGroups[0] ?? '', resource, namespace }))),
  );
}

function inWords({ verb, group, resource: plural, namespace }: ClusterAction): string {
  const where = namespace === undefined ? [] : ['in', namespace];
  return [verb, withGroup({ plural, group }), ...where].join(' ');
}

async function resourcesAre(patient: Patient, say: Say): Promise<Findings> {
  const { objects, problems } = await readObjects(patient.api, patient.namespace);
  const unread = problems.flatMap((message) => say('unknown', message));
  const told = objects.flatMap((one) => findingsOf(one, patient.time.nowMs()));
  const accounts = objects.filter(({ kind }) => kind.life === 'account');
  const ofAccounts = await Promise.all(accounts.map((one) => findingsOfAccount(patient, one)));
  const isFine = unread.length + told.length === 0;
  const fine = isFine ? say('ok', `all ${objects.length} resources are Ready or in progress`) : [];
  return [...fine, ...unread, ...told, ...ofAccounts.flat()];
}

function findingsOf({ key, kind, object, status }: ParsedObject, nowMs: number): Findings {
  const { metadata } = object;
  const found: CheckFinding[] = [];
  const stalled = conditionOf({ status }, 'Stalled');
  if (stalled?.status === 'True') {
    const verdict = kind.life === 'account' ? 'error' : 'warning';
    const where = metadata.namespace === undefined ? '' : ` -n ${metadata.namespace}`;
    const remedy = `apphosting why ${kind.kind}/${metadata.name}${where}`;
    found.push(...about('Stalled', key)(verdict, `${stalled.reason}: ${stalled.message}`, remedy));
  }
  if ((status.memory.journal ?? status.damaged) !== undefined) {
    const remedy = 'If this finding stays for more than two minutes, see docs/runbooks/call-in-doubt.md.';
    found.push(...about('InDoubt', key)('warning', 'the outcome of a call to the service is not known', remedy));
  }
  const nobody = 'docs/runbooks/nobody-acts.md';
  const isPaused = metadata.annotations?.[annotations.paused] === 'true';
  if (!isCurrent(object) && !isPaused)
    found.push(...about('NotSeen', key)('warning', 'no operator has handled the newest generation', nobody));
  const asked = metadata.annotations?.[annotations.reconcileAt] ?? '';
  if (asked !== status.lastHandledReconcileAt && nowMs - Date.parse(asked) > silenceMs) {
    const message = `a reconcile was requested ${ageInWords(asked, nowMs)} ago, and no operator has handled the request`;
    found.push(...about('SilentWatch', key)('warning', message, nobody));
  }
  return found;
}

/**
 * Checks an account: whether its host is still the same, whether its token is limited or throttled, and whether reads
 * are expected to use too much of its request budget.
 */
async function findingsOfAccount({ api, operatorNamespace }: Patient, { key, object }: ParsedObject) {
  const { spec, status, metadata } = object;
  const { endpoint, budget } = isRecord(status) ? status : {};
  const ref = secretNameIn(spec);
  const namespace = metadata.namespace ?? operatorNamespace;
  const sayOfHost = about('Endpoint', key);
  const pinned = await tried(sayOfHost, async () => {
    const secret = await getting(api, secretResource, namespace, ref);
    const url = secretText(secret, 'baseUrl');
    const host = URL.canParse(url) ? new URL(url).host : '';
    if (typeof endpoint !== 'string' || host === endpoint) return [];
    const message = `the account belongs to the host ${endpoint}, but ${host === '' ? `there is no valid baseUrl in Secret ${namespace}/${ref}` : `baseUrl in Secret ${namespace}/${ref} names ${host}`}`;
    return sayOfHost('error', message, 'Correct baseUrl, or accept the new host (annotation accept-endpoint).');
  });
  const limited = ['TokenLimited', 'Throttled'].flatMap((code) => {
    const condition = conditionOf({ status }, code);
    return condition?.status === 'True' ? about(code, key)('warning', condition.message) : [];
  });
  return [...pinned, ...limited, ...forecastOf(budget, about('Budget', key))];
}

function forecastOf(budget: unknown, say: Say): Findings {
  const { forecastPerHour, requestsPerSecond } = isRecord(budget) ? budget : {};
  const limit = Number(requestsPerSecond);
  const share = Number(forecastPerHour) / (limit * 3_600);
  const message = `reads are expected to use ${Math.round(share * 100)} % of the budget of ${limit} requests per second`;
  const remedy = 'Lists may be read less often than spec.pollSeconds says: raise spec.budget or spec.pollSeconds.';
  if (share >= mostOfBudget) return say('warning', message, remedy);
  return share >= 0 ? say('ok', message) : [];
}
