/** `apphosting plan`: shows the calls that applying some manifests would send to the service, without sending them. */
import { basename, resolve } from 'node:path';
import { z } from 'zod';
import {
  choice,
  kubeconfigFlag,
  list,
  output,
  text,
  UsageError,
  whole,
  type CommandLine,
  type Flags,
  type Settings,
} from '../../config.ts';
import type { ParsedObject } from '../../engine/objects/stored.ts';
import { kinds } from '../../kinds/index.ts';
import { accountFlags, byFlags, credentialByFlags, isNamedByFlags } from '../account/flags.ts';
import { credentialInSpec, operatorNamespaceFlag } from '../account/in-cluster.ts';
import { openAccount, type AccountReader } from '../account/reader.ts';
import { openSnapshot } from '../account/snapshot.ts';
import { readObjects, type ObjectsRead } from '../cluster/objects.ts';
import { clusterFlags, openClusterIfNamed, type OpenCluster } from '../cluster/open.ts';
import { loadDocuments } from '../documents/load.ts';
import { command } from '../frame.ts';
import { exitCodes, paintFor } from '../output.ts';
import { makePlan } from './make-plan.ts';
import type { Plan } from './model.ts';
import { planAsMarkdown } from './print-markdown.ts';
import { planAsText } from './print-text.ts';
import { sortDocuments, specOf } from './scenes.ts';

const gates = ['delete', 'restart', 'access', 'unknown'] as const;
type Gate = (typeof gates)[number];

/** Describes the command `apphosting plan`: its name, flags and notes. */
export const planCommand = {
  name: 'plan DIR|FILE|-',
  summary:
    'Shows what applying these manifests would change in the service. To find out, the command runs the code of the operator\non the manifests and on the data of the account, which it reads from the service. It sends only read requests.',
  operand: 'optional',
  flags: {
    filename: { short: 'f', ...text('the folder or file with the manifests; the same as the argument', 'DIR|FILE|-') },
    ...accountFlags,
    snapshot: text('read this file of apphosting import --snapshot, not the service; no credential is needed', 'FILE'),
    ...clusterFlags,
    kubeconfig: kubeconfigFlag('read the cluster of this kubeconfig too; with only --context:'),
    context: text('also read the resources in this cluster, which show fields that the service hides', 'NAME'),
    operatorNamespace: operatorNamespaceFlag,
    base: text(
      'the manifests before the change; the plan then shows only the effects of the change, and a deletion for each resource that the change removes',
      'DIR|FILE',
    ),
    only: list('only show this resource', 'KIND/NAME', z.string().regex(/^[^/]+\/[^/]+$/, 'must look like KIND/NAME')),
    detailedExitcode: { help: 'end with exit code 2 if the plan has changes; rows marked with ? do not count' },
    failOn: {
      help: 'end with exit code 3 if the plan has any of these: delete, restart, access, unknown',
      value: 'LIST',
      schema: z
        .string()
        .transform((text) => text.split(',').map((part) => part.trim()))
        .pipe(z.array(z.enum(gates, 'must be a list of delete, restart, access, unknown')))
        .optional(),
    },
    output: output(['text', 'wide', 'json', 'yaml', 'markdown']),
    maxChars: whole(
      'with -o markdown: the maximum length of the output in characters; rows that do not fit are left out, and the output says how many',
      'N',
      '60000',
      [200, 10_000_000],
    ),
    name: text('the name of the plan in the pull request comment; by default the name of the folder or file', 'NAME'),
    color: choice('whether text is coloured', ['auto', 'always', 'never']),
  },
  notes: [
    'Exit codes: 0 success, 1 the plan may be incomplete, 2 there are findings (with --detailed-exitcode: or changes), 3 the plan has something that --fail-on names, 64 wrong usage.',
  ],
} satisfies CommandLine<Flags>;

type PlanSettings = Settings<(typeof planCommand)['flags']>;

/** Runs `apphosting plan`. */
export const plan = command(planCommand, async ({ settings, operand, cluster: given }) => {
  const path = operand ?? settings.filename;
  if (path === undefined) throw new UsageError('it needs DIR|FILE|-');
  if (operand !== undefined && settings.filename !== undefined)
    throw new UsageError('the manifests are given twice: as the argument and with --filename');
  await using cluster = await openClusterIfNamed(settings, given);
  const namespace = cluster?.namespace ?? settings.namespace ?? 'default';
  const wanted = sortDocuments(await loadDocuments(path), namespace);
  const base = settings.base === undefined ? undefined : sortDocuments(await loadDocuments(settings.base), namespace);
  const named = wanted.scene.objects.flatMap(({ object }) => object.metadata.namespace ?? []);
  const live = cluster === undefined ? undefined : await liveObjects(cluster, new Set([namespace, ...named]));
  await using open = new AsyncDisposableStack();
  const objects = [...wanted.scene.objects, ...(live?.objects ?? [])];
  const readers: AccountReader[] = [];
  for await (const reader of openReaders(settings, cluster, objects)) readers.push(open.use(reader));
  const name = settings.name ?? (path === '-' ? 'standard input' : basename(resolve(path)));
  const data = await makePlan({ ...settings, name, from: path, wanted, base, live, readers });
  return { data, text: textOf(data, settings), code: exitCodeOf(data, settings) };
});

/** Reads the objects of the operator's kinds in some namespaces of the cluster, and reports what could not be read. */
async function liveObjects({ api }: OpenCluster, namespaces: ReadonlySet<string>): Promise<ObjectsRead> {
  const ofScope = (scope: string) => kinds.filter((kind) => kind.scope === scope);
  const reads = [await readObjects(api, undefined, ofScope('Cluster'))];
  for (const namespace of namespaces) reads.push(await readObjects(api, namespace, ofScope('Namespaced')));
  const objects = reads.flatMap((read) => read.objects);
  return {
    objects: objects.filter(({ object }) => object.metadata.deletionTimestamp === undefined),
    problems: reads.flatMap((read) => read.problems.map((problem) => `the cluster: ${problem}`)),
  };
}

/**
 * Opens the readers of a plan. A snapshot file, or a credential from flags, gives one reader for one account. Without
 * these, each account resource gets a reader, with the credential from its Secret in the cluster.
 */
async function* openReaders(
  settings: PlanSettings,
  cluster: OpenCluster | undefined,
  objects: readonly ParsedObject[],
): AsyncGenerator<AccountReader> {
  const { snapshot, operatorNamespace } = settings;
  const accounts = objects.filter(({ kind }) => kind.life === 'account');
  const idOf = (account: ParsedObject) => String(specOf(account)['externalId']);
  const ids = new Set(accounts.map(idOf));
  const accountId = settings.accountId ?? (ids.size === 1 ? [...ids][0] : undefined);
  if (snapshot !== undefined) {
    yield await openSnapshot(snapshot, accountId);
  } else if (isNamedByFlags(settings)) {
    yield openAccount(await credentialByFlags({ ...settings, accountId }), settings);
  } else {
    if (cluster === undefined)
      throw new UsageError(`name the account with ${byFlags}, or give --snapshot or --context`);
    for (const account of accounts) {
      const { namespace = operatorNamespace } = account.object.metadata;
      if (ids.delete(idOf(account)))
        yield openAccount(await credentialInSpec(cluster.api, namespace, account.object.spec), settings);
    }
  }
}

function textOf(made: Plan, { output, maxChars, color }: PlanSettings): string {
  if (output === 'markdown') return planAsMarkdown(made, maxChars);
  return planAsText(made, { wide: output === 'wide', paint: paintFor(color, process.stdout) });
}

/** Chooses the exit code of a plan; an incomplete plan has the code `unknown`, whatever else it contains. */
export function exitCodeOf(made: Plan, settings: Pick<PlanSettings, 'failOn' | 'detailedExitcode'>): number {
  if (!made.complete) return exitCodes.unknown;
  const isHit = (gate: Gate) => made.rows.some((row) => (gate === 'restart' ? 'restarts' in row : row.action === gate));
  if (settings.failOn?.some(isHit) === true) return exitCodes.gate;
  if (made.findings.length > 0) return exitCodes.found;
  // A row with the action `unknown` does not count as a change. Most contact points have such a row, because the
  // service hides some of their fields.
  const isChange = made.rows.some(({ action }) => action !== 'unknown');
  return settings.detailedExitcode && isChange ? exitCodes.found : exitCodes.fine;
}
