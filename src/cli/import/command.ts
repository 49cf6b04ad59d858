/** `apphosting import`: an account of the service as a folder of manifests that change nothing when they are applied. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { parseFlags, type CommandLine, type Flags, type Settings } from '../../config.ts';
import { accountFlags, openNamedAccount } from '../account/flags.ts';
import type { AccountReader } from '../account/reader.ts';
import { snapshotOf } from '../account/snapshot.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { columns } from '../output/table.ts';
import { changesOf, readFolder, writeFiles, type FileChange } from './folder.ts';
import { draftsOf, type Draft, type Skipped } from './manifests.ts';
import { proved, type Proof } from './proof.ts';
import { readAccount } from './read-account.ts';

const importable = [
  'HostedApp',
  'AppEnvironment',
  'ContactPoint',
  'MetricAlert',
  'DisasterProtection',
  'MemberAccess',
] as const;

/** The flags of `apphosting import`. */
export const importCommand = {
  name: 'import DIR',
  summary:
    'Writes an account of the service as a folder of manifests: every app, environment, contact point, alert and protection,\nwith references in the place of ids. Applying the folder changes nothing in the service, which is proved before it is written.',
  operands: { least: 1, most: 1 },
  flags: {
    ...accountFlags,
    namespace: {
      short: 'n',
      help: 'the namespace to write into the manifests; none unless given',
      value: 'NAME',
      schema: z.string().min(1, 'must be a namespace').optional(),
    },
    kind: {
      help: 'only this kind',
      value: 'KIND',
      many: true,
      schema: z.array(z.enum(importable, `must be one of ${importable.join(', ')}`)),
    },
    id: { help: 'only the object of this id', value: 'ID', many: true, schema: z.array(z.string()) },
    member: {
      help: 'also the access of this membership: the service has no list of them',
      value: 'ID',
      many: true,
      schema: z.array(z.string()),
    },
    observe: { help: 'only observe everything: nothing is ever sent', schema: z.boolean() },
    snapshot: {
      help: 'also write what was read, without secrets, into this file, for apphosting plan --snapshot',
      value: 'FILE',
      schema: z.string().optional(),
    },
    check: { help: 'write nothing, and end with 2 when files would change', schema: z.boolean() },
    output: {
      short: 'o',
      help: 'how the report is printed',
      value: 'text|json',
      fallback: 'text',
      schema: z.enum(['text', 'json'], 'must be text or json'),
    },
  },
  notes: [
    'A second import changes only fields that come from the service: comments and other edits stay, and no file is removed.',
    'Exit codes: 0 fine, 1 something could not be read, 2 files would change (--check), 64 usage.',
  ],
} satisfies CommandLine<Flags>;

type ImportSettings = Settings<(typeof importCommand)['flags']>;

/** Runs `apphosting import`. */
export async function importAccount(args: readonly string[], speaks: Speaks = standard): Promise<number> {
  const parsed = parseFlags(importCommand, args);
  if (parsed.kind === 'help') {
    speaks.out(parsed.text);
    return exitCodes.fine;
  }
  if (parsed.kind === 'wrong') return complain(speaks, parsed.line, exitCodes.usage);
  const { settings, operands: [folder = ''] = [] } = parsed;
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once('SIGINT', onSignal);
  try {
    const reader = await openNamedAccount(settings, { signal: stop.signal, onRead: progress(speaks) });
    if (reader === undefined) {
      const line =
        'apphosting import: name the account with --base-url, --token-file and --account-id; apphosting import --help lists the options';
      return complain(speaks, line, exitCodes.usage);
    }
    if ('trouble' in reader)
      return complain(
        speaks,
        `apphosting import: ${reader.trouble}`,
        reader.isUsage ? exitCodes.usage : exitCodes.unknown,
      );
    try {
      return await imported(speaks, settings, folder, reader, stop.signal);
    } finally {
      await reader.close();
    }
  } finally {
    process.off('SIGINT', onSignal);
  }
}

function complain(speaks: Speaks, line: string, code: number): number {
  speaks.err(`${line}\n`);
  return code;
}

/** A progress line that is overwritten; shown on terminals only. */
function progress({ err, isTerminal }: Speaks): (count: number) => void {
  return (count) => {
    if (isTerminal) err(`\rread ${count} answers`);
  };
}

async function imported(
  speaks: Speaks,
  settings: ImportSettings,
  folder: string,
  reader: AccountReader,
  signal: AbortSignal,
): Promise<number> {
  const found = await readFolder(folder);
  if ('problem' in found)
    return complain(speaks, `apphosting import: ${folder}: ${found.problem}; nothing is written`, exitCodes.unknown);
  speaks.err(`reading ${reader.accountId} at ${settings.requestsPerSecond} requests/s\n`);
  const content = await readAccount(reader, { kinds: settings.kind, members: settings.member });
  const everything = draftsOf(content, found.names);
  const isWanted = ({ kind, id }: Draft) =>
    (settings.kind.length === 0 || (settings.kind as readonly string[]).includes(kind)) &&
    (settings.id.length === 0 || settings.id.includes(id) || settings.member.includes(id));
  const wanted = everything.drafts.filter(isWanted).map((draft) => (settings.observe ? asked(draft) : draft));
  if (signal.aborted) return complain(speaks, 'apphosting import: stopped; nothing is written', exitCodes.unknown);
  const proof = await proved(wanted, reader, settings);
  if (speaks.isTerminal) speaks.err('\n');
  const account = { accountId: reader.accountId, namespace: settings.namespace };
  const changes = changesOf(found, proof.drafts, account);
  const skipped = [
    ...content.gaps.map(({ what, why, message }): Skipped => ({ what, code: codes[why], reason: message })),
    ...everything.skipped,
    ...proof.skipped,
  ];
  const written = settings.check ? 0 : await writeFiles(folder, changes, signal);
  if (settings.snapshot !== undefined && !settings.check && !signal.aborted)
    await writeFile(settings.snapshot, snapshotOf(reader));
  const report: Report = { folder: resolve(folder), changes, written, proof, skipped, isCheck: settings.check };
  speaks.out(settings.output === 'json' ? asJson(report) : asText(report));
  if (signal.aborted)
    return complain(
      speaks,
      `apphosting import: stopped after ${written} of ${changes.length} files, each whole`,
      exitCodes.unknown,
    );
  if (content.gaps.length > 0 || proof.problems.length > 0) return exitCodes.unknown;
  return settings.check && changes.length > 0 ? exitCodes.found : exitCodes.fine;
}

function asked(draft: Draft): Draft {
  return { ...draft, observed: draft.observed ?? { code: 'AsAsked', reason: 'import was asked to only observe' } };
}

const codes = {
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  throttled: 'Throttled',
  refused: 'Refused',
  unreachable: 'Unreachable',
  notInSnapshot: 'NotInSnapshot',
  malformed: 'Malformed',
  notFound: 'NotFound',
} as const;

interface Report {
  readonly folder: string;
  readonly changes: readonly FileChange[];
  readonly written: number;
  readonly proof: Proof;
  readonly skipped: readonly Skipped[];
  readonly isCheck: boolean;
}

const plurals: Readonly<Record<string, string>> = {
  HostedApp: 'apps',
  AppEnvironment: 'environments',
  ContactPoint: 'contact points',
  MetricAlert: 'alerts',
  DisasterProtection: 'protections',
  MemberAccess: 'members',
};

const unseen = 'installations, environment variables, and members that --member does not name';

function asText({ proof, skipped, changes, written, isCheck }: Report): string {
  const counts = Object.entries(plurals).flatMap(([kind, words]) => {
    const count = proof.drafts.filter((draft) => draft.kind === kind).length;
    return count === 0 ? [] : [`${words} ${count}`];
  });
  const observed = proof.drafts.filter((draft) => draft.observed !== undefined);
  const rows = [
    ['resources', counts.join(', ') || 'none'],
    ...observed.map(({ kind, name, observed: why }) => [
      'observed',
      `${kind}/${name}: ${why?.reason ?? ''}  [${why?.code ?? ''}]`,
    ]),
    ...skipped.map(({ what, code, reason }) => ['skipped', `${what}: ${reason}  [${code}]`]),
    ['unseen', unseen],
    ...proof.problems.map((problem) => ['proof', problem]),
    ...(proof.problems.length === 0 ? [['proof', `plan of this folder: ${proof.calls} calls`]] : []),
    isCheck
      ? [
          'files',
          `${changes.length} would change${changes.length === 0 ? '' : `: ${changes.map(({ path }) => path).join(', ')}`}`,
        ]
      : ['files', `${written} written`],
  ];
  return `${columns(rows).join('\n')}\n`;
}

function asJson({ folder, proof, skipped, changes, written }: Report): string {
  const resources = proof.drafts.map(({ kind, name, id, observed }) => ({
    kind,
    name,
    id,
    ...(observed && { observed }),
  }));
  const files = changes.map(({ path, before }) => ({ path, isNew: before === undefined }));
  const value = {
    folder,
    resources,
    skipped,
    unseen,
    proof: { calls: proof.calls, problems: proof.problems },
    files,
    written,
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}
