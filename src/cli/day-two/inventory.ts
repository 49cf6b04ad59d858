/**
 * `apphosting inventory` and `apphosting catalog`: what an account of the service contains, and what the service
 * offers.
 */
import { output, type CommandLine, type Flags } from '../../config.ts';
import { recordsIn } from '../../base/json.ts';
import { appPresetsOf, databasePresetsOf, solutionsOf } from '../../hosting/requests.ts';
import { accountFlags } from '../account/flags.ts';
import { clusterAccountFlags, credentialFor } from '../account/in-cluster.ts';
import { openAccount } from '../account/reader.ts';
import { readObjects } from '../cluster/objects.ts';
import { openClusterIfNamed, type OpenCluster } from '../cluster/open.ts';
import { command } from '../frame.ts';
import { collecting, readAccount } from '../import/read-account.ts';
import { columns } from '../output.ts';

const flags = { ...accountFlags, ...clusterAccountFlags, output: output(['text', 'json']) };
const notes = ['Exit codes: 0 success, 1 something could not be read, 64 wrong usage.'];

/** Describes the command `apphosting inventory`: its name, flags and notes. */
export const inventoryCommand = {
  name: 'inventory',
  summary:
    'Lists the apps, environments, contact points, alerts and protections of an account, with their ids. With --context,\n--kubeconfig or --account the list also shows which resource manages each object, and begins with the objects that no\nresource manages.',
  flags,
  notes,
} satisfies CommandLine<Flags>;

/** Describes the command `apphosting catalog`. */
export const catalogCommand = {
  name: 'catalog',
  summary:
    'Lists what the service offers an account: presets for apps and databases, and solutions with their components.',
  flags,
  notes,
} satisfies CommandLine<Flags>;

/** Runs `apphosting inventory`. */
export const inventory = command(inventoryCommand, async ({ settings, cluster: given }) => {
  await using cluster = await openClusterIfNamed(settings, given);
  await using reader = openAccount(await credentialFor(settings, cluster), settings);
  const managers = cluster === undefined ? undefined : await managersIn(cluster);
  const content = await readAccount(reader, { kinds: [], members: [] });
  const { apps, environments, contactPoints, alerts, protections } = content;
  // `managedBy` is the key of the resource that manages the object; undefined if no resource manages the object or no cluster was read.
  const thing = (type: string, id: string, name: string, within?: string) => {
    return { type, id, name, in: within, managedBy: managers?.byId.get(id) };
  };
  const things = [
    ...apps.map(({ appId, name }) => thing('app', appId, name)),
    ...environments.map(({ appEnvId, name, appId }) => thing('environment', appEnvId, name, appId)),
    ...contactPoints.map(({ contactPointId, name }) => thing('contact point', contactPointId, name)),
    ...alerts.map(({ alertId, name, appEnvId }) => thing('alert', alertId, name, appEnvId)),
    ...protections.map(({ configurationId, sourceAppEnvId = '' }) =>
      thing('protection', configurationId, sourceAppEnvId),
    ),
  ];
  type Thing = (typeof things)[number];
  const rank = ({ managedBy: by, type, name, id }: Thing) => `${by === undefined ? 0 : 1} ${type} ${name} ${id}`;
  const data = things.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const gaps = content.gaps.map(({ what, reason }) => `${what}: ${reason}`);
  const problems = [...gaps, ...(managers?.problems ?? [])];
  const manager = (one: Thing) => one.managedBy ?? (managers === undefined ? '?' : '-');
  const rows = data.map((one) => [one.type, one.id, one.name, one.in ?? '', manager(one)]);
  const unmanaged = data.filter((one) => one.managedBy === undefined).length;
  const objects = problems.length > 0 ? 'objects that could be read' : 'objects';
  const tail =
    managers === undefined
      ? 'no cluster was read: with --context the list shows which resource manages each object'
      : `${unmanaged} of ${data.length} ${objects} are ${managers.problems.length > 0 ? 'not managed by any resource that could be read' : 'managed by no resource'}`;
  const table = columns([['TYPE', 'ID', 'NAME', 'IN', 'MANAGED BY'], ...rows]);
  return { problems, data, text: `${[...table, '', tail].join('\n')}\n` };
});

/** Maps the ids of objects in the service to the resources in the cluster that manage them. */
async function managersIn({ api }: OpenCluster) {
  const { objects, problems } = await readObjects(api, undefined);
  const made = objects.flatMap(({ key, status: { memory } }) => {
    const ids = recordsIn(memory.facts, 'components').flatMap(({ appId, environmentId }) => [appId, environmentId]);
    return ids.map((id) => [id, key] as const);
  });
  // A SolutionInstallation manages the apps and environments that it has created, unless another resource is bound to
  // the same id.
  const bound = objects.map(({ key, status: { memory } }) => [memory.id, key] as const);
  return { byId: new Map<unknown, string>([...made, ...bound]), problems };
}

/** Runs `apphosting catalog`. */
export const catalog = command(catalogCommand, async ({ settings, cluster: given }) => {
  await using cluster = await openClusterIfNamed(settings, given);
  await using reader = openAccount(await credentialFor(settings, cluster), settings);
  const { list, gaps } = collecting(reader);
  const [appPresets, databasePresets, solutions] = await Promise.all([
    list(appPresetsOf(), 'the list of app presets'),
    list(databasePresetsOf(), 'the list of database presets (such as POSTGRESQL)'),
    list(solutionsOf(reader.accountId), 'the list of solutions'),
  ]);
  const problems = gaps.map(({ reason }) => reason);
  const data = { appPresets, databasePresets, solutions };
  const preset = (type: string) => (one: (typeof data.appPresets)[number]) => {
    const others = one.versions.filter((version) => version !== one.defaultVersion);
    const first = one.defaultVersion === undefined ? [] : [`${one.defaultVersion} (default)`];
    return [type, one.name, [...first, ...others].join(', ')];
  };
  const rows = [
    ...data.appPresets.map(preset('app')),
    ...data.databasePresets.map(preset('database')),
    ...data.solutions.map(({ solutionSlug, components, requiredInputs }) => {
      const needs = requiredInputs.length === 0 ? '' : `; needs ${requiredInputs.join(', ')}`;
      return ['solution', solutionSlug, `${components.map(({ name }) => name).join(', ')}${needs}`];
    }),
  ];
  const table = columns([['TYPE', 'NAME', 'VERSIONS OR COMPONENTS'], ...rows]);
  return { problems, data, text: `${table.join('\n')}\n` };
});
