/** `apphosting plan`: what applying some documents would send to the service, without sending it. */
import type { Actor } from './scene.ts';
import { basename, resolve } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { parseFlags, wholeNumber, type CommandLine, type Flags, type Settings } from '../../config.ts';
import { Secret } from '../../base/secret.ts';
import { isRecord } from '../../base/json.ts';
import { kinds } from '../../kinds/index.ts';
import { secretResource } from '../../kube/material/material.ts';
import {
  accountFlags,
  openNamedAccount,
  openSnapshotFile,
  openWith,
  type GivenCredential,
  type Trouble,
} from '../account/flags.ts';
import type { AccountReader } from '../account/reader.ts';
import { clusterFlags, listAll, openCluster, type OpenCluster } from '../cluster/open.ts';
import { loadDocuments, type Documents } from '../documents/load.ts';
import { resourceOf } from '../operator/operator.ts';
import { paintFor } from '../output/colour.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { makePlan } from './make-plan.ts';
import type { PlanAction, Plan } from './model.ts';
import { planAsMarkdown } from './print-markdown.ts';
import { planAsText } from './print-text.ts';
import { liveActor, sortDocuments } from './scenes.ts';

const gates = ['delete', 'restart', 'access', 'unknown'] as const;
type Gate = (typeof gates)[number];

/** The flags of `apphosting plan`. */
export const planCommand = {
  name: 'plan DIR|FILE|-',
  summary:
    'Shows what applying these documents would change in the service: the real operator runs them in this process, against\nwhat it reads of the account, and nothing but reads is ever sent.',
  operands: { least: 1, most: 1 },
  flags: {
    ...accountFlags,
    snapshot: {
      help: 'a file that apphosting import --snapshot made, in place of the service: no credential is needed',
      value: 'FILE',
      schema: z.string().optional(),
    },
    ...clusterFlags,
    context: {
      help: 'also read the live resources of this context: then fields that the service never shows are known too',
      value: 'NAME',
      schema: z.string().optional(),
    },
    base: {
      help: 'the documents as they were before: only what differs from them is told, and what is missing is deleted',
      value: 'DIR|FILE',
      schema: z.string().optional(),
    },
    only: {
      help: 'tell only of this resource',
      value: 'KIND/NAME',
      many: true,
      schema: z.array(z.string().regex(/^[^/]+\/[^/]+$/, 'must look like KIND/NAME')),
    },
    detailedExitcode: { help: 'end with 2 when there is anything to do', schema: z.boolean() },
    failOn: {
      help: 'end with 3 when the plan has any of these: delete, restart, access, unknown',
      value: 'LIST',
      schema: z
        .string()
        .transform((text) => text.split(',').map((part) => part.trim()))
        .pipe(z.array(z.enum(gates, 'must be a list of delete, restart, access, unknown')))
        .optional(),
    },
    output: {
      short: 'o',
      help: 'how it is printed',
      value: 'text|wide|json|yaml|markdown',
      fallback: 'text',
      schema: z.enum(['text', 'wide', 'json', 'yaml', 'markdown'], 'must be text, wide, json, yaml or markdown'),
    },
    maxChars: {
      help: 'with -o markdown: the most characters; whole rows are left out and counted',
      value: 'N',
      fallback: '60000',
      schema: wholeNumber(200, 10_000_000),
    },
    name: {
      help: 'what the plan is called in its comment; else the name of the folder',
      value: 'NAME',
      schema: z.string().optional(),
    },
    color: {
      help: 'whether text is coloured',
      value: 'auto|always|never',
      fallback: 'auto',
      schema: z.enum(['auto', 'always', 'never'], 'must be auto, always or never'),
    },
  },
  notes: [
    'Exit codes: 0 fine, 1 something could not be told, 2 findings (with --detailed-exitcode: or changes), 3 --fail-on, 64 usage.',
  ],
} satisfies CommandLine<Flags>;

type PlanSettings = Settings<(typeof planCommand)['flags']>;

/** Runs `apphosting plan`. */
export async function plan(args: readonly string[], speaks: Speaks = standard): Promise<number> {
  const parsed = parseFlags(planCommand, args);
  if (parsed.kind === 'help') {
    speaks.out(parsed.text);
    return exitCodes.fine;
  }
  if (parsed.kind === 'wrong') return complain(speaks, parsed.line, exitCodes.usage);
  const { settings, operands: [path = ''] = [] } = parsed;
  const documents = await loadDocuments(path);
  const base = settings.base === undefined ? undefined : await loadDocuments(settings.base);
  const cluster =
    settings.context === undefined && settings.kubeconfig === undefined ? undefined : await openCluster(settings);
  if (cluster !== undefined && 'trouble' in cluster) return ended(speaks, cluster);
  try {
    return await planned(speaks, settings, path, documents, base, cluster);
  } finally {
    await cluster?.close();
  }
}

async function planned(
  speaks: Speaks,
  settings: PlanSettings,
  path: string,
  documents: Documents,
  base: Documents | undefined,
  cluster: OpenCluster | undefined,
): Promise<number> {
  const namespace = settings.namespace ?? cluster?.namespace ?? 'default';
  const sorted = sortDocuments(documents, namespace);
  const namespaces = new Set([namespace, ...sorted.scene.actors.map((actor) => actor.namespace)]);
  const live = cluster === undefined ? undefined : await liveActors(cluster, namespaces);
  const opened = await openReaders(settings, cluster, [...sorted.scene.actors, ...(live?.actors ?? [])]);
  if ('trouble' in opened) return ended(speaks, opened);
  try {
    const made = await makePlan({
      name: settings.name ?? (path === '-' ? 'standard input' : basename(resolve(path))),
      documents,
      base,
      live: live?.actors,
      liveProblems: live?.problems ?? [],
      readers: opened.readers,
      namespace,
      requestsPerSecond: settings.requestsPerSecond,
      only: settings.only,
      from: path,
    });
    speaks.out(printed(made, settings));
    return exitCodeOf(made, settings);
  } finally {
    await Promise.all(opened.readers.map((reader) => reader.close()));
  }
}

function ended(speaks: Speaks, { trouble, isUsage }: Trouble): number {
  const hint = isUsage ? '; apphosting plan --help lists the options' : '';
  return complain(speaks, `apphosting plan: ${trouble}${hint}`, isUsage ? exitCodes.usage : exitCodes.unknown);
}

function complain(speaks: Speaks, line: string, code: number): number {
  speaks.err(`${line}\n`);
  return code;
}

/** What the cluster shows of our kinds in these namespaces, and which of it could not be read. */
async function liveActors(
  { api }: OpenCluster,
  namespaces: ReadonlySet<string>,
): Promise<{ readonly actors: readonly Actor[]; readonly problems: readonly string[] }> {
  const actors: Actor[] = [];
  const problems: string[] = [];
  for (const kind of kinds) {
    const places = kind.scope === 'Cluster' ? [undefined] : [...namespaces].filter((one) => one !== '').toSorted();
    for (const namespace of places) {
      const list = await listAll(api, resourceOf(kind), namespace);
      if ('problem' in list)
        problems.push(`the cluster: ${list.problem}${namespace === undefined ? '' : ` in ${namespace}`}`);
      else actors.push(...list.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(liveActor));
    }
  }
  return { actors, problems };
}

/** Opens the accounts that the documents are about: by the flags, from a snapshot, or with the cluster's own credentials. */
async function openReaders(
  settings: PlanSettings,
  cluster: OpenCluster | undefined,
  actors: readonly Actor[],
): Promise<{ readonly readers: readonly AccountReader[] } | Trouble> {
  const inDocuments = actors.filter(({ kind }) => kind.endsWith('HostingAccount'));
  const ids = [...new Set(inDocuments.map(({ spec }) => String(spec['externalId'])))];
  const accountId = settings.accountId ?? (ids.length === 1 ? ids[0] : undefined);
  if (settings.snapshot !== undefined) {
    const reader = await openSnapshotFile(settings.snapshot, accountId);
    return 'trouble' in reader ? reader : { readers: [reader] };
  }
  const named = await openNamedAccount({ ...settings, accountId });
  if (named !== undefined) return 'trouble' in named ? named : { readers: [named] };
  if (cluster === undefined) {
    const trouble = 'name the account with --base-url, --token-file and --account-id, or give --snapshot or --context';
    return { trouble, isUsage: true };
  }
  const readers: AccountReader[] = [];
  for (const { kind, namespace, name, spec } of inDocuments) {
    if (readers.some((reader) => reader.accountId === spec['externalId']) || kind !== 'HostingAccount') continue;
    const credential = await credentialIn(cluster, namespace, spec);
    if ('trouble' in credential)
      return { ...credential, trouble: `HostingAccount ${namespace}/${name}: ${credential.trouble}` };
    const reader = openWith(credential, settings);
    if ('trouble' in reader) return reader;
    readers.push(reader);
  }
  return { readers };
}

async function credentialIn(
  { api }: OpenCluster,
  namespace: string,
  spec: Actor['spec'],
): Promise<GivenCredential | Trouble> {
  const ref = isRecord(spec['credentialsRef']) ? String(spec['credentialsRef']['name']) : '';
  try {
    const secret = await api.get(secretResource, namespace, ref);
    const data = isRecord(secret?.['data']) ? secret['data'] : {};
    const text = (key: string) => Buffer.from(typeof data[key] === 'string' ? data[key] : '', 'base64').toString();
    if (text('baseUrl') === '' || text('token') === '')
      return { trouble: `Secret ${ref} has no baseUrl and token`, isUsage: false };
    const caBundle = text('caBundle');
    return {
      accountId: String(spec['externalId']),
      baseUrl: text('baseUrl'),
      token: new Secret(text('token')),
      ...(caBundle !== '' && { caBundle }),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { trouble: `Secret ${ref}: ${why}; or name the account with --base-url and --token-file`, isUsage: false };
  }
}

function printed(made: Plan, settings: PlanSettings): string {
  switch (settings.output) {
    case 'json':
      return `${JSON.stringify(made, null, 2)}\n`;
    case 'yaml':
      return stringify(made);
    case 'markdown':
      return planAsMarkdown(made, settings.maxChars);
    case 'text':
    case 'wide':
      return planAsText(made, { wide: settings.output === 'wide', paint: paintFor(settings.color, process.stdout) });
  }
}

const gateActions: Readonly<Record<Gate, readonly PlanAction[]>> = {
  delete: ['delete'],
  restart: ['deploy'],
  access: ['access'],
  unknown: ['unknown'],
};

/** The exit code: an incomplete plan wins over everything else. */
export function exitCodeOf(
  made: Plan,
  settings: { readonly failOn?: readonly Gate[] | undefined; readonly detailedExitcode: boolean },
): number {
  if (!made.complete) return exitCodes.unknown;
  const isHit = (gate: Gate) =>
    made.rows.some(
      (row) =>
        gateActions[gate].includes(row.action) || (gate === 'restart' && row.note?.includes('restarts') === true),
    );
  if (settings.failOn?.some(isHit) === true) return exitCodes.gate;
  if (made.findings.length > 0) return exitCodes.found;
  return settings.detailedExitcode && made.rows.length > 0 ? exitCodes.found : exitCodes.fine;
}
