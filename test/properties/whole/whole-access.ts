/** Solutions and member access in the life of the whole: what people write of them, and what must hold in the end. */
import type { Condition } from '../../../src/engine/kind/contract/step.ts';
import type { KubeObject } from '../../../src/engine/ports.ts';
import type { Draw, Subject } from './whole-subjects.ts';

type Row = Readonly<Record<string, unknown>>;
type Service = Readonly<Record<string, readonly Row[]>>;

function installation(within: string, name: string, spec: (draw: Draw) => object): Subject {
  return { kind: 'SolutionInstallation', name, within, spec };
}

/** Two whose names begin alike, and one that is upgraded now and then. */
export const accessSubjects: readonly Subject[] = [
  installation('team', 'jobs', () => ({ solution: 'queue-worker', appName: 'jobs', region: 'eu-west' })),
  installation('side', 'eu', () => ({ solution: 'queue-worker', appName: 'jobs-eu', region: 'eu-west' })),
  installation('team', 'agent', (draw) => ({
    solution: 'sandbox-agent',
    appName: 'agent',
    region: 'eu-west',
    inputs: [
      { name: 'agentAuthenticationMode', value: 'PERSONAL_SUBSCRIPTION' },
      { name: 'agentImage', value: `svc/sandbox-agent:${1 + draw.below(2)}` },
    ],
  })),
  {
    kind: 'MemberAccess',
    name: 'contractor',
    within: 'side',
    spec: (draw) => ({
      externalId: 'mem_demo',
      access: 'Restricted',
      environmentRefs: draw.of([
        [{ externalId: 'env_web_prod' }],
        [{ externalId: 'env_web_staging' }, { externalId: 'env_db_prod' }],
      ]),
    }),
  },
];

/** Where an installation that is called complete is not, or runs another image than its spec says. */
export function differencesOfSolution(object: KubeObject, service: Service, isRewound: boolean): readonly string[] {
  const { externalId: installationId } = (object.status ?? {}) as { externalId?: string };
  const { solution, appName, inputs } = object.spec as {
    solution: string;
    appName: string;
    inputs?: readonly { name: string; value: string }[];
  };
  // Without an id it was presumed by its name, which must be true as well.
  const isIt = (one: Row) =>
    installationId === undefined ? one['appName'] === appName : one['installationId'] === installationId;
  const row = service['installations']?.find(isIt);
  if (row === undefined) return [`${installationId ?? appName} is not in the service`];
  const components = row['components'] as readonly unknown[];
  const expected = solution === 'queue-worker' ? 3 : 2;
  const wanted = inputs?.find(({ name }) => name === 'agentImage')?.value;
  const { agentImage } = row['inputs'] as { agentImage?: string };
  return [
    ...(components.length === expected ? [] : [`it has ${components.length} components`]),
    // A backup may know of another image than was set since; the service does not show it.
    ...(isRewound || wanted === agentImage ? [] : [`${agentImage} runs`]),
  ];
}

/** Whether a stall of an installation names what is no component of any; one that waits for its id names none. */
export function liesOfSolution({ reason, message }: Condition, appName: string, service: Service): readonly string[] {
  if (reason !== 'AlreadyExists' && reason !== 'InstallationIdUnknown') return [];
  const made = componentApps(service);
  const named = message.match(/app_\w+/g) ?? [];
  if (reason === 'InstallationIdUnknown' && named.length === 0) {
    const isThere = service['installations']?.some((row) => row['appName'] === appName);
    return isThere === true ? [] : ['there is no installation whose id could be put into the spec'];
  }
  return named.length > 0 && named.every((id) => made.has(id)) ? [] : ['not all that it names are components'];
}

/** Solutions that were installed more than once. */
export function doubled(service: Service): readonly string[] {
  const names = (service['installations'] ?? []).map((row) => String(row['appName']));
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))].map(
    (name) => `"${name}" is installed twice`,
  );
}

/** The apps that installations made, which are no app's own. */
export function componentApps(service: Service): ReadonlySet<string> {
  const components = (service['installations'] ?? []).flatMap(
    (row) => row['components'] as readonly { appId: string }[],
  );
  return new Set(components.map(({ appId }) => appId));
}

/** Where a member may reach what the spec does not name and status does not tell. */
export function differencesOfAccess(object: KubeObject, service: Service): readonly string[] {
  const spec = object.spec as { externalId: string; environmentRefs: readonly { externalId: string }[] };
  const row = service['memberships']?.find(({ membershipId }) => membershipId === spec.externalId);
  const has = (row?.['allowedAppEnvIds'] ?? []) as readonly string[];
  const wanted = spec.environmentRefs.map(({ externalId }) => externalId);
  const { serviceAddedEnvironmentIds = [] } = (object.status ?? {}) as {
    serviceAddedEnvironmentIds?: readonly string[];
  };
  const untold = has.filter((id) => !wanted.includes(id) && !serviceAddedEnvironmentIds.includes(id));
  return [
    ...(wanted.every((id) => has.includes(id)) ? [] : [`the member may reach ${has.join(', ')}`]),
    ...(untold.length === 0 ? [] : [`the member may also reach ${untold.join(', ')}`]),
  ];
}
