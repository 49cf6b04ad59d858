/** `apphosting inventory` and `apphosting catalog`: what is in an account of the service, and what it offers. */
import { z } from 'zod';
import { parseFlags, type CommandLine, type Flags } from '../../config.ts';
import { isRecord } from '../../base/json.ts';
import { appPresetsOf, databasePresetsOf, solutionsOf } from '../../hosting/requests.ts';
import { accountFlags, openNamedAccount, type AccountSettings } from '../account/flags.ts';
import type { AccountReader } from '../account/reader.ts';
import { readObjects } from '../cluster/objects.ts';
import { clusterFlags, openCluster, type OpenCluster } from '../cluster/open.ts';
import { readAccount, readWhole } from '../import/read-account.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { columns } from '../output/table.ts';

const output = {
  short: 'o',
  help: 'how it is printed',
  value: 'text|json',
  fallback: 'text',
  schema: z.enum(['text', 'json'], 'must be text or json'),
};

/** The flags of `apphosting inventory`. */
export const inventoryCommand = {
  name: 'inventory',
  summary:
    'Lists everything that an account of the service has, with ids, and with --context or --kubeconfig which resource manages each;\nwhat no resource manages comes first.',
  flags: { ...accountFlags, kubeconfig: clusterFlags.kubeconfig, context: clusterFlags.context, output },
  notes: ['Exit codes: 0 fine, 1 something could not be read, 64 usage.'],
} satisfies CommandLine<Flags>;

/** The flags of `apphosting catalog`. */
export const catalogCommand = {
  name: 'catalog',
  summary:
    'Lists what the service offers an account: presets for apps and databases, and solutions with their components.',
  flags: { ...accountFlags, output },
  notes: ['Exit codes: 0 fine, 1 something could not be read, 64 usage.'],
} satisfies CommandLine<Flags>;

interface Thing {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly in: string | undefined;
  /** The resource that manages it, as `Kind/namespace/name`. Absent where none does, or where no cluster was read. */
  readonly managedBy: string | undefined;
}

/** Runs `apphosting inventory`. */
export async function inventory(
  args: readonly string[],
  speaks: Speaks = standard,
  given?: OpenCluster,
): Promise<number> {
  const parsed = parseFlags(inventoryCommand, args);
  if (parsed.kind === 'help') return said(speaks, parsed.text);
  if (parsed.kind === 'wrong') return complain(speaks, parsed.line, exitCodes.usage);
  const { settings } = parsed;
  const isAsked = settings.kubeconfig !== undefined || settings.context !== undefined;
  const cluster = given ?? (isAsked ? await openCluster(settings) : undefined);
  if (cluster !== undefined && 'trouble' in cluster)
    return complain(speaks, `apphosting inventory: ${cluster.trouble}`, exitCodes.unknown);
  try {
    return await withAccount('inventory', settings, speaks, async (reader) => {
      const managers = cluster === undefined ? undefined : await managersIn(cluster);
      const content = await readAccount(reader, { kinds: [], members: [] });
      const { apps = [], environments = [], contactPoints = [], alerts = [], protections = [] } = content;
      const managedBy = (id: string) => managers?.byId.get(id);
      const thing = (type: string, id: string, name: string, within?: string): Thing => {
        return { type, id, name, in: within, managedBy: managedBy(id) };
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
      const rank = ({ managedBy: by, type, name, id }: Thing) => `${by === undefined ? 0 : 1} ${type} ${name} ${id}`;
      const sorted = things.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
      const problems = [
        ...content.gaps.map(({ what, message }) => `${what}: ${message}`),
        ...(managers?.problems ?? []),
      ];
      for (const problem of problems) speaks.err(`apphosting inventory: ${problem}\n`);
      const manager = (one: Thing) => one.managedBy ?? (managers === undefined ? '?' : '-');
      const rows = sorted.map((one) => [one.type, one.id, one.name, one.in ?? '', manager(one)]);
      const unmanaged = sorted.filter((one) => one.managedBy === undefined).length;
      const tail =
        managers === undefined
          ? 'no cluster was read: --context says which resources manage them'
          : `${unmanaged} of ${sorted.length} are managed by no resource`;
      const table = columns([['TYPE', 'ID', 'NAME', 'IN', 'MANAGED BY'], ...rows]);
      speaks.out(settings.output === 'json' ? asJson(sorted) : `${[...table, '', tail].join('\n')}\n`);
      return problems.length > 0 ? exitCodes.unknown : exitCodes.fine;
    });
  } finally {
    if (given === undefined && cluster !== undefined) await cluster.close();
  }
}

/** Which resources of a cluster are bound to which ids. */
async function managersIn({
  api,
}: OpenCluster): Promise<{ readonly byId: ReadonlyMap<string, string>; readonly problems: readonly string[] }> {
  const { objects, problems } = await readObjects(api, undefined);
  const rows = objects.flatMap(({ kind, metadata, status }) => {
    const id = isRecord(status) ? status['externalId'] : undefined;
    return typeof id === 'string' ? [[id, `${kind}/${metadata.namespace ?? ''}/${metadata.name}`] as const] : [];
  });
  return { byId: new Map(rows), problems };
}

/** Runs `apphosting catalog`. */
export async function catalog(args: readonly string[], speaks: Speaks = standard): Promise<number> {
  const parsed = parseFlags(catalogCommand, args);
  if (parsed.kind === 'help') return said(speaks, parsed.text);
  if (parsed.kind === 'wrong') return complain(speaks, parsed.line, exitCodes.usage);
  const { settings } = parsed;
  return withAccount('catalog', settings, speaks, async (reader) => {
    const [apps, databases, solutions] = await Promise.all([
      readWhole(reader, appPresetsOf()),
      readWhole(reader, databasePresetsOf()),
      readWhole(reader, solutionsOf(reader.accountId)),
    ]);
    let isWhole = true;
    const itemsOf = <Item>(
      found: { readonly items: readonly Item[] } | { readonly message: string },
    ): readonly Item[] => {
      if ('items' in found) return found.items;
      isWhole = false;
      speaks.err(`apphosting catalog: ${found.message}\n`);
      return [];
    };
    const offer = { appPresets: itemsOf(apps), databasePresets: itemsOf(databases), solutions: itemsOf(solutions) };
    const preset =
      (type: string) =>
      ({ name, versions, defaultVersion }: (typeof offer.appPresets)[number]) => {
        const others = versions.filter((version) => version !== defaultVersion);
        return [
          type,
          name,
          [...(defaultVersion === undefined ? [] : [`${defaultVersion} (default)`]), ...others].join(', '),
        ];
      };
    const rows = [
      ...offer.appPresets.map(preset('app')),
      ...offer.databasePresets.map(preset('database')),
      ...offer.solutions.map(({ solutionSlug, components, requiredInputs }) => {
        const needs = requiredInputs.length === 0 ? '' : `; needs ${requiredInputs.join(', ')}`;
        return ['solution', solutionSlug, `${components.map(({ name }) => name).join(', ')}${needs}`];
      }),
    ];
    const table = columns([['TYPE', 'NAME', 'VERSIONS OR COMPONENTS'], ...rows]);
    speaks.out(settings.output === 'json' ? asJson(offer) : `${table.join('\n')}\n`);
    return isWhole ? exitCodes.fine : exitCodes.unknown;
  });
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function said(speaks: Speaks, text: string): number {
  speaks.out(text);
  return exitCodes.fine;
}

function complain(speaks: Speaks, line: string, code: number): number {
  speaks.err(`${line}\n`);
  return code;
}

async function withAccount(
  name: string,
  settings: AccountSettings,
  speaks: Speaks,
  work: (reader: AccountReader) => Promise<number>,
): Promise<number> {
  const reader = await openNamedAccount(settings);
  const hint = `; apphosting ${name} --help lists the options`;
  if (reader === undefined)
    return complain(
      speaks,
      `apphosting ${name}: name the account with --base-url, --token-file and --account-id${hint}`,
      exitCodes.usage,
    );
  if ('trouble' in reader)
    return complain(
      speaks,
      `apphosting ${name}: ${reader.trouble}${reader.isUsage ? hint : ''}`,
      reader.isUsage ? exitCodes.usage : exitCodes.unknown,
    );
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}
