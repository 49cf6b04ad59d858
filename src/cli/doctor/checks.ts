/** Checks of an installation. Each is independent: a read that is denied fails only its own check. */
import { isDeepStrictEqual } from 'node:util';
import { isRecord, recordsIn } from '../../base/json.ts';
import { manifest } from '../../crd/manifest.ts';
import { annotations } from '../../engine/kind/contract/define.ts';
import { KubeError, type ClusterAction, type KubeApi, type KubeObject, type Resource } from '../../engine/ports.ts';
import { clusterWide, namespaced, ownNamespace, type Role } from '../../crd/rbac.ts';
import { identities } from '../../kinds/identities.ts';
import { leaseResource } from '../../kube/lease.ts';
import { secretResource } from '../../kube/material.ts';
import { conditionOf, isCurrent, keyOfObject, readObjects } from '../cluster/objects.ts';
import { ageInWords } from '../output/age.ts';

/** How a check ended. */
export type CheckVerdict = 'ok' | 'warning' | 'error' | 'unknown';

/** What a check found. */
export interface CheckFinding {
  readonly code: string;
  readonly verdict: CheckVerdict;
  /** What it is about, such as a definition or a resource. */
  readonly object: string;
  readonly message: string;
  readonly remedy?: string;
}

/** What checks look at. */
export interface Patient {
  readonly api: Pick<KubeApi, 'get' | 'list' | 'serverDate' | 'isAllowed'>;
  readonly operatorNamespace: string;
  /** The only namespace that is looked at; undefined for all. */
  readonly namespace: string | undefined;
  readonly nowMs: number;
  /** Only the checks that make sense before the installation. */
  readonly isBefore: boolean;
}

type Findings = readonly CheckFinding[];

/** Where definitions of kinds are. */
export const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
export const serviceAccounts: Resource = { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true };
const operatorName = 'apphosting-operator';
const clockSlackMs = 5_000;
const leaseMs = 60_000;
/** An operator looks at what it was asked to look at within seconds; so long, and its watch is silent. */
const silenceMs = 60_000;
/** The part of the budget that reads may take before changes have to wait for them. */
const mostOfBudget = 0.8;

/** All checks, by the code of what they find. */
const checks: Readonly<Record<string, (patient: Patient) => Promise<Findings>>> = {
  Definitions: checkDefinitions,
  Clock: checkClock,
  Lease: checkLease,
  OperatorKey: checkKey,
  Rights: checkRights,
  Resources: checkResources,
};

/** Runs the checks, each by itself. */
export async function examine(patient: Patient): Promise<Findings> {
  const found: CheckFinding[] = [];
  for (const [code, check] of Object.entries(checks)) {
    if (patient.isBefore && !['Definitions', 'Clock'].includes(code)) continue;
    try {
      found.push(...(await check(patient)));
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      found.push({ code, verdict: 'unknown', object: code, message: error.message });
    }
  }
  return found;
}

/** Reads something; a denied read becomes a finding that names the missing permission. */
async function reading<T>(
  code: string,
  verb: string,
  object: string,
  read: () => Promise<T>,
): Promise<T | CheckFinding> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const message = error.reason === 'forbidden' ? `may not ${verb}` : `${verb}: ${error.message}`;
    return { code, verdict: 'unknown', object, message };
  }
}

/** Findings of one check about one object. */
function about(code: string, object: string) {
  return (verdict: CheckVerdict, message: string, remedy?: string): Findings => [
    { code, verdict, object, message, ...(remedy !== undefined && { remedy }) },
  ];
}

function isFinding(value: unknown): value is CheckFinding {
  return isRecord(value) && 'verdict' in value;
}

async function checkDefinitions({ api, isBefore }: Patient): Promise<Findings> {
  const code = 'Definitions';
  const findings: CheckFinding[] = [];
  for (const identity of identities) {
    const expected = manifest(identity);
    const { name: object } = expected.metadata;
    const verb = 'get customresourcedefinitions.apiextensions.k8s.io';
    const live = await reading(code, verb, object, () => api.get(definitions, undefined, object));
    if (isFinding(live)) return [live];
    if (live === undefined) {
      if (isBefore) continue;
      findings.push(
        ...about(code, object)('error', 'it is not installed', 'Apply the definitions: kubectl apply -f crds/'),
      );
      continue;
    }
    const [wanted] = expected.spec.versions;
    const served = recordsIn(live.spec, 'versions').find(({ name }) => name === wanted?.name);
    if (isDeepStrictEqual(plain(served?.['schema']), plain(wanted?.schema))) continue;
    const message = 'its schema is not that of this version of apphosting';
    const remedy = 'Apply the definitions of the version of the operator that runs.';
    findings.push(...about(code, object)('warning', message, remedy));
  }
  if (findings.length > 0) return findings;
  return about(code, 'crds')('ok', `all ${identities.length} are as in this version`);
}

/** A value as JSON says it. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function checkClock({ api, nowMs }: Patient): Promise<Findings> {
  const dateMs = api.serverDate?.()?.dateMs;
  if (dateMs === undefined) return Promise.resolve([]);
  const apartMs = Math.abs(dateMs - nowMs);
  const message = `this machine and the API server are ${Math.round(apartMs / 1_000)} s apart`;
  const say = about('Clock', 'clock');
  return Promise.resolve(
    apartMs <= clockSlackMs ? say('ok', message) : say('warning', message, 'Set the clocks by NTP.'),
  );
}

async function checkLease({ api, operatorNamespace, nowMs }: Patient): Promise<Findings> {
  const [code, object] = ['Lease', `${operatorNamespace}/${operatorName}`];
  const verb = `get leases.coordination.k8s.io in namespace ${operatorNamespace}`;
  const lease = await reading(code, verb, object, () => api.get(leaseResource, operatorNamespace, operatorName));
  if (isFinding(lease)) return [lease];
  const remedy = 'Start the operator, or name its namespace with --operator-namespace; docs/runbooks/nobody-acts.md.';
  const say = about(code, object);
  if (lease === undefined) return say('error', 'nobody has ever led here', remedy);
  const { holderIdentity, renewTime } = isRecord(lease.spec) ? lease.spec : {};
  const holder = typeof holderIdentity === 'string' ? holderIdentity : '';
  const renewed = typeof renewTime === 'string' ? renewTime : '';
  if (holder !== '' && nowMs - Date.parse(renewed) < leaseMs) return say('ok', `${holder} leads`);
  const when = renewed === '' ? '' : `, the last time ${ageInWords(renewed, nowMs)} ago`;
  return say('error', `nobody leads${when}`, remedy);
}

async function checkKey({ api, operatorNamespace }: Patient): Promise<Findings> {
  const [code, name] = ['OperatorKey', `${operatorName}-key`];
  const object = `${operatorNamespace}/${name}`;
  const verb = `get secrets in namespace ${operatorNamespace}`;
  // Its metadata is all that is looked at.
  const secret = await reading(code, verb, object, async () => {
    return (await api.get(secretResource, operatorNamespace, name))?.metadata.name;
  });
  if (isFinding(secret)) return [secret];
  const say = about(code, object);
  if (secret !== undefined) return say('ok', 'it is there');
  const message =
    'it is not there: the operator makes one at its first start, and resources bound before it count as unknown';
  return say('warning', message, 'Restore it from a backup if there was one.');
}

/** Asks the API server of each permission that the operator uses whether its service account has it. */
async function checkRights({ api, operatorNamespace, namespace }: Patient): Promise<Findings> {
  const { isAllowed } = api;
  if (isAllowed === undefined) return [];
  const [code, object] = ['Rights', `${operatorNamespace}/${operatorName}`];
  const verb = `get serviceaccounts in namespace ${operatorNamespace}`;
  const account = await reading(code, verb, object, () => api.get(serviceAccounts, operatorNamespace, operatorName));
  if (isFinding(account)) return [account];
  const say = about(code, object);
  const unknown = 'there is no such ServiceAccount: what the operator may do is not known';
  if (account === undefined) return say('warning', unknown, 'Name its namespace with --operator-namespace.');
  const roles = namespace === undefined ? clusterWide(identities) : namespaced(identities);
  const wanted = [...actionsIn(roles, namespace), ...actionsIn(ownNamespace(), operatorNamespace)];
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${operatorNamespace}`, 'system:authenticated'];
  const user = { user: `system:serviceaccount:${operatorNamespace}:${operatorName}`, groups };
  const answers = await reading(code, 'create subjectaccessreviews.authorization.k8s.io', object, () =>
    Promise.all(wanted.map((action) => isAllowed.call(api, user, action))),
  );
  if (isFinding(answers)) return [answers];
  const denied = wanted.filter((_action, at) => answers[at] === false);
  if (denied.length === 0) return say('ok', `it may do all ${wanted.length} that the operator does`);
  const overlay = namespace === undefined ? 'cluster-wide' : 'namespaced';
  const remedy = `Apply the roles of this version: kubectl apply -k deploy/kustomize/overlays/${overlay}`;
  const named = denied.slice(0, 5).map((action) => inWords(action));
  const more = denied.length > 5 ? ` and ${denied.length - 5} more` : '';
  return say('error', `it may not ${named.join(', ')}${more}`, remedy);
}

function actionsIn(roles: readonly Role[], namespace: string | undefined): readonly ClusterAction[] {
  const rules = roles.flatMap(({ rules: all }) => all);
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ verb, group: apiGroups[0] ?? '', resource, namespace }))),
  );
}

function inWords({ verb, group, resource, namespace }: ClusterAction): string {
  return `${verb} ${resource}${group === '' ? '' : `.${group}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

async function checkResources({ api, namespace, operatorNamespace, nowMs }: Patient): Promise<Findings> {
  const { objects, problems } = await readObjects(api, namespace);
  const [code, object] = ['Resources', 'resources'];
  const unread = problems.map((message): CheckFinding => ({ code, verdict: 'unknown', object, message }));
  const told = objects.flatMap((one) => findingsOf(one, nowMs));
  const accounts = objects.filter(({ kind }) => kind.endsWith('HostingAccount'));
  const ofAccounts = await Promise.all(accounts.map((one) => findingsOfAccount(api, one, operatorNamespace)));
  const message = `all ${objects.length} are Ready or under way`;
  const fine: Findings = unread.length + told.length === 0 ? [{ code, verdict: 'ok', object, message }] : [];
  return [...fine, ...unread, ...told, ...ofAccounts.flat()];
}

function findingsOf(resource: KubeObject, nowMs: number): Findings {
  const { kind, metadata, status } = resource;
  const object = keyOfObject(resource);
  const told = isRecord(status) ? status : {};
  const found = (code: string, message: string, remedy: string, verdict: CheckVerdict = 'warning') =>
    about(code, object)(verdict, message, remedy);
  const stalled = conditionOf(resource, 'Stalled');
  const inDoubt = isRecord(told['internal']) && told['internal']['journal'] !== undefined;
  const isPaused = metadata.annotations?.[annotations.paused] === 'true';
  const asked = metadata.annotations?.[annotations.reconcileAt] ?? '';
  const isDeaf = asked !== told['lastHandledReconcileAt'] && nowMs - Date.parse(asked) > silenceMs;
  const nobody = 'docs/runbooks/nobody-acts.md';
  return [
    ...(stalled?.status === 'True'
      ? found(
          'Stalled',
          `${stalled.reason}: ${stalled.message}`,
          `apphosting why ${kind}/${metadata.name}`,
          kind.endsWith('HostingAccount') ? 'error' : 'warning',
        )
      : []),
    ...(inDoubt
      ? found(
          'InDoubt',
          'a call was begun whose end is not known',
          'docs/runbooks/call-in-doubt.md, if it stays for more than two minutes.',
        )
      : []),
    ...(!isCurrent(resource) && !isPaused ? found('NotSeen', 'no operator has looked at its newest form', nobody) : []),
    ...(isDeaf
      ? found('SilentWatch', `asked ${ageInWords(asked, nowMs)} ago to be looked at, and no operator did`, nobody)
      : []),
  ];
}

/** An account: the host that it is pinned to, what its token may do, and how much of its budget reads will take. */
async function findingsOfAccount(
  api: Patient['api'],
  account: KubeObject,
  operatorNamespace: string,
): Promise<Findings> {
  const { spec, status, metadata } = account;
  const object = keyOfObject(account);
  const { endpoint, budget } = isRecord(status) ? status : {};
  const ref = isRecord(spec) && isRecord(spec['credentialsRef']) ? String(spec['credentialsRef']['name']) : '';
  const namespace = metadata.namespace ?? operatorNamespace;
  const limited = ['TokenLimited', 'Throttled'].flatMap((code): Findings => {
    const condition = conditionOf(account, code);
    return condition?.status === 'True' ? [{ code, verdict: 'warning', object, message: condition.message }] : [];
  });
  const host = await reading('Endpoint', `get secrets in namespace ${namespace}`, object, async () => {
    const data = (await api.get(secretResource, namespace, ref))?.['data'];
    const encoded = isRecord(data) ? data['baseUrl'] : undefined;
    const url = typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString().trim() : '';
    return URL.canParse(url) ? new URL(url).host : '';
  });
  const pinned = ((): Findings => {
    const [code, verdict] = ['Endpoint', 'error' as const];
    if (isFinding(host)) return [host];
    if (typeof endpoint !== 'string' || host === endpoint) return [];
    const message = `pinned to ${endpoint}, and Secret ${namespace}/${ref} names ${host === '' ? 'no host' : host}`;
    return [{ code, verdict, object, message, remedy: 'Correct baseUrl, or make a new account for the new host.' }];
  })();
  const { forecastPerHour, requestsPerSecond } = isRecord(budget) ? budget : {};
  const limit = Number(requestsPerSecond);
  const share = Number(forecastPerHour) / (limit * 3_600);
  const message = `reads are expected to take ${Math.round(share * 100)} % of ${limit} requests per second`;
  const forecast: Findings =
    share >= mostOfBudget
      ? [{ code: 'Budget', verdict: 'warning', object, message, remedy: 'Raise spec.budget or spec.pollSeconds.' }]
      : share >= 0
        ? [{ code: 'Budget', verdict: 'ok', object, message }]
        : [];
  return [...pinned, ...limited, ...forecast];
}
