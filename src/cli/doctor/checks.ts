/** Checks of an installation. Each is independent: a read that is denied fails only its own check. */
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../base/json.ts';
import { manifest } from '../../crd/manifest.ts';
import { KubeError, type KubeApi, type KubeObject, type Resource } from '../../engine/ports.ts';
import { identities } from '../../kinds/identities.ts';
import { leaseResource } from '../../kube/lease/lease-spec.ts';
import { secretResource } from '../../kube/material/material.ts';
import { conditionOf, isCurrent, readObjects } from '../cluster/objects.ts';
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
  readonly api: Pick<KubeApi, 'get' | 'list' | 'serverDate'>;
  readonly operatorNamespace: string;
  /** The only namespace that is looked at; undefined for all. */
  readonly namespace: string | undefined;
  readonly nowMs: number;
  /** Only the checks that make sense before the installation. */
  readonly isBefore: boolean;
}

type Check = (patient: Patient) => Promise<readonly CheckFinding[]>;

const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const clockSlackMs = 5_000;
const leaseMs = 60_000;

/** All checks, by the code of what they find. */
const checks: Readonly<Record<string, Check>> = {
  Definitions: checkDefinitions,
  Clock: checkClock,
  Lease: checkLease,
  OperatorKey: checkKey,
  Resources: checkResources,
};

/** Runs the checks, each by itself. */
export async function examine(patient: Patient): Promise<readonly CheckFinding[]> {
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
    if (error.reason === 'forbidden') return { code, verdict: 'unknown', object, message: `may not ${verb}` };
    return { code, verdict: 'unknown', object, message: `${verb}: ${error.message}` };
  }
}

function isFinding(value: unknown): value is CheckFinding {
  return isRecord(value) && 'verdict' in value;
}

async function checkDefinitions({ api, isBefore }: Patient): Promise<readonly CheckFinding[]> {
  const findings: CheckFinding[] = [];
  for (const identity of identities) {
    const expected = manifest(identity);
    const { name } = expected.metadata;
    const verb = 'get customresourcedefinitions.apiextensions.k8s.io';
    const live = await reading('Definitions', verb, name, () => api.get(definitions, undefined, name));
    if (isFinding(live)) return [live];
    if (live === undefined) {
      if (isBefore) continue;
      const remedy = 'Apply the definitions: kubectl apply -f crds/';
      findings.push({ code: 'Definitions', verdict: 'error', object: name, message: 'it is not installed', remedy });
      continue;
    }
    const versions =
      isRecord(live.spec) && Array.isArray(live.spec['versions']) ? (live.spec['versions'] as unknown[]) : [];
    const served = versions.filter(isRecord).find((version) => version['name'] === expected.spec.versions[0]?.name);
    const same = isDeepStrictEqual(plain(served?.['schema']), plain(expected.spec.versions[0]?.schema));
    if (!same) {
      const message = 'its schema is not that of this version of apphosting';
      findings.push({
        code: 'Definitions',
        verdict: 'warning',
        object: name,
        message,
        remedy: 'Apply the definitions of the version of the operator that runs.',
      });
    }
  }
  return findings.length > 0
    ? findings
    : [
        {
          code: 'Definitions',
          verdict: 'ok',
          object: 'crds',
          message: `all ${identities.length} are as in this version`,
        },
      ];
}

/** A value as JSON says it. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function checkClock({ api, nowMs }: Patient): Promise<readonly CheckFinding[]> {
  const dateMs = api.serverDate?.()?.dateMs;
  if (dateMs === undefined) return Promise.resolve([]);
  const apartMs = Math.abs(dateMs - nowMs);
  const message = `this machine and the API server are ${Math.round(apartMs / 1_000)} s apart`;
  if (apartMs <= clockSlackMs) return Promise.resolve([{ code: 'Clock', verdict: 'ok', object: 'clock', message }]);
  return Promise.resolve([
    { code: 'Clock', verdict: 'warning', object: 'clock', message, remedy: 'Set the clocks by NTP.' },
  ]);
}

async function checkLease({ api, operatorNamespace, nowMs }: Patient): Promise<readonly CheckFinding[]> {
  const object = `${operatorNamespace}/apphosting-operator`;
  const verb = `get leases.coordination.k8s.io in namespace ${operatorNamespace}`;
  const lease = await reading('Lease', verb, object, () =>
    api.get(leaseResource, operatorNamespace, 'apphosting-operator'),
  );
  if (isFinding(lease)) return [lease];
  const remedy = 'Start the operator, or name its namespace with --operator-namespace; docs/runbooks/nobody-acts.md.';
  if (lease === undefined)
    return [{ code: 'Lease', verdict: 'error', object, message: 'nobody has ever led here', remedy }];
  const { holderIdentity, renewTime } = isRecord(lease.spec) ? lease.spec : {};
  const holder = typeof holderIdentity === 'string' ? holderIdentity : '';
  const renewed = typeof renewTime === 'string' ? renewTime : '';
  if (holder === '' || !(nowMs - Date.parse(renewed) < leaseMs)) {
    const when = renewed === '' ? '' : `, the last time ${ageInWords(renewed, nowMs)} ago`;
    return [{ code: 'Lease', verdict: 'error', object, message: `nobody leads${when}`, remedy }];
  }
  return [{ code: 'Lease', verdict: 'ok', object, message: `${holder} leads` }];
}

async function checkKey({ api, operatorNamespace }: Patient): Promise<readonly CheckFinding[]> {
  const object = `${operatorNamespace}/apphosting-operator-key`;
  const verb = `get secrets in namespace ${operatorNamespace}`;
  // Only its metadata is read.
  const secret = await reading('OperatorKey', verb, object, async () => {
    return (await api.get(secretResource, operatorNamespace, 'apphosting-operator-key'))?.metadata.name;
  });
  if (isFinding(secret)) return [secret];
  if (secret !== undefined) return [{ code: 'OperatorKey', verdict: 'ok', object, message: 'it is there' }];
  const message =
    'it is not there: the operator makes one at its first start, and resources bound before it count as unknown';
  return [
    { code: 'OperatorKey', verdict: 'warning', object, message, remedy: 'Restore it from a backup if there was one.' },
  ];
}

async function checkResources({ api, namespace }: Patient): Promise<readonly CheckFinding[]> {
  const { objects, problems } = await readObjects(api, namespace);
  const unread = problems.map((message): CheckFinding => ({
    code: 'Resources',
    verdict: 'unknown',
    object: 'resources',
    message,
  }));
  const told = objects.flatMap(findingsOf);
  const isFine = unread.length === 0 && told.length === 0;
  const fine: CheckFinding = {
    code: 'Resources',
    verdict: 'ok',
    object: 'resources',
    message: `all ${objects.length} are Ready or under way`,
  };
  return isFine ? [fine] : [...unread, ...told];
}

function findingsOf(object: KubeObject): readonly CheckFinding[] {
  const { kind, metadata, status } = object;
  const name = `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
  const internal = isRecord(status) && isRecord(status['internal']) ? status['internal'] : {};
  const findings: CheckFinding[] = [];
  const stalled = conditionOf(object, 'Stalled');
  if (stalled?.status === 'True')
    findings.push({
      code: 'Stalled',
      verdict: kind.endsWith('HostingAccount') ? 'error' : 'warning',
      object: name,
      message: `${stalled.reason}: ${stalled.message}`,
      remedy: `apphosting why ${kind}/${metadata.name}`,
    });
  if (internal['journal'] !== undefined) {
    const remedy = 'docs/runbooks/call-in-doubt.md, if it stays for more than two minutes.';
    findings.push({
      code: 'InDoubt',
      verdict: 'warning',
      object: name,
      message: 'a call was begun whose end is not known',
      remedy,
    });
  }
  if (!isCurrent(object) && metadata.annotations?.['apphosting.dev/paused'] !== 'true')
    findings.push({
      code: 'NotSeen',
      verdict: 'warning',
      object: name,
      message: 'no operator has looked at its newest form',
      remedy: 'docs/runbooks/nobody-acts.md',
    });
  return findings;
}
