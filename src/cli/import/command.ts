/**
 * `apphosting import`: writes the content of an account as a folder of manifests. Applying them sends no changes to the
 * service.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { list, output, text, texts, Trouble, type CommandLine, type Flags } from '../../config.ts';
import { accountFlags } from '../account/flags.ts';
import { clusterAccountFlags, credentialFor } from '../account/in-cluster.ts';
import { snapshotOf } from '../account/snapshot.ts';
import { openClusterIfNamed } from '../cluster/open.ts';
import { command, type Called, type CommandAnswer } from '../frame.ts';
import { openAccount, type AccountReader } from '../account/reader.ts';
import { columns, counted, exitCodes, writeOrExplain, type Speaks } from '../output.ts';
import { nothingReadOf } from '../plan/make-plan.ts';
import { changesOf, hasBlanks, readFolder, writeFiles, type FileChange, type FolderAccount } from './folder.ts';
import { draftsOf, folders, type Draft, type NamedInstallation } from './manifests.ts';
import { callsOf, proved, type Proof } from './proof.ts';
import { readAccount, type Gap } from './read-account.ts';

const importable = Object.keys(folders);
const installationForm = /^(?<id>[^=]+)=(?<solution>[^/]+)\/(?<region>[^/]+)\/(?<appName>.+)$/;

/** Describes the command `apphosting import`: its name, flags and notes. */
export const importCommand = {
  name: 'import DIR',
  summary:
    'Exports an account of the service to a folder of manifests: every app, environment, contact point, alert and protection, with\nreferences instead of ids. Applying the folder changes nothing in the service; the command proves this before it writes a file.',
  operand: 'needed',
  flags: {
    ...accountFlags,
    ...clusterAccountFlags,
    namespace: { short: 'n', ...text('the namespace to write into the manifests; by default they have none', 'NAME') },
    kind: list('only this kind', 'KIND', z.enum(importable, `must be one of ${importable.join(', ')}`)),
    id: texts('import only the object with this id', 'ID'),
    member: texts('also import this membership; the service does not list memberships', 'ID'),
    installation: list(
      'also import this installation of a solution, with the policy Observe; the service does not list installations',
      'ID=SOLUTION/REGION/APP-NAME',
      z
        .string()
        .regex(installationForm, 'must look like ID=SOLUTION/REGION/APP-NAME')
        .transform((text) => installationForm.exec(text)?.groups as NamedInstallation),
    ),
    observe: { help: 'give every resource the policy Observe, so that the operator changes nothing in the service' },
    snapshot: text('also write all answers, without secrets, to this file for apphosting plan --snapshot', 'FILE'),
    check: { help: 'write nothing, and end with exit code 2 if files would change' },
    output: output(['text', 'json'], 'the format of the report'),
  },
  notes: [
    'A second import changes only fields that come from the service: comments and other edits stay, and no file is removed.',
    'Exit codes: 0 success, 1 something could not be read or written, 2 files would change (--check), 64 wrong usage.',
  ],
} satisfies CommandLine<Flags>;

type Imported = Called<(typeof importCommand)['flags']>;

/** Runs `apphosting import`. */
export const importAccount = command(importCommand, async (called: Imported) => {
  const { settings, speaks } = called;
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once('SIGINT', onSignal);
  try {
    const progress = progressOn(speaks, settings.requestsPerSecond);
    await using cluster = await openClusterIfNamed(settings, called.cluster);
    const credential = await credentialFor(settings, cluster);
    await using reader = openAccount(credential, settings, { signal: stop.signal, onRead: progress.read });
    return await imported(called, reader, { ref: credential.of, progress, signal: stop.signal });
  } finally {
    process.off('SIGINT', onSignal);
  }
});

/**
 * Prints how many reads the import needs. On a terminal, also prints a counter of the finished reads and updates it in
 * place.
 */
function progressOn({ err, isTerminal }: Speaks, requestsPerSecond: number) {
  let total = 0;
  return {
    listed: (accountId: string, lists: number, reads: number) => {
      total = lists + reads;
      const seconds = Math.ceil(reads / requestsPerSecond);
      const pace = `this takes about ${seconds} s at ${requestsPerSecond} requests/s`;
      err(`reading ${accountId}: ${lists} lists, then ${reads} reads; ${pace}\n`);
    },
    read: (count: number) => {
      if (isTerminal && total > 0) err(`\r${Math.min(count, total)} of ${total} reads done`);
    },
  };
}

interface Around {
  readonly ref: FolderAccount['ref'];
  readonly progress: ReturnType<typeof progressOn>;
  readonly signal: AbortSignal;
}

async function imported(
  { settings, operand: folder = '', speaks }: Imported,
  reader: AccountReader,
  { ref, progress, signal }: Around,
): Promise<CommandAnswer> {
  const found = await readFolder(folder);
  if ('problem' in found) throw new Trouble(`${folder}: ${found.problem}; nothing is written`);
  const { kind: kinds, member: members } = settings;
  const content = await readAccount(reader, { kinds, members, recovery: true, onListed: progress.listed });
  if (speaks.isTerminal) speaks.err('\n');
  const [silent] = nothingReadOf(reader);
  if (silent !== undefined) throw new Trouble(`${silent.message}; nothing is written`);
  const everything = draftsOf(content, found.names, settings.installation);
  const byHand = new Set(settings.installation.map(({ id }) => id));
  const isWanted = ({ kind, id }: Draft) =>
    (settings.kind.length === 0 || settings.kind.includes(kind)) &&
    (settings.id.length === 0 || settings.id.includes(id) || settings.member.includes(id) || byHand.has(id));
  const wanted = everything.drafts.filter(isWanted).map((draft) => (settings.observe ? asked(draft) : draft));
  const known = new Set([...everything.drafts.map(({ id }) => id), ...settings.member]);
  const missing = settings.id.filter((id) => !known.has(id));
  if (signal.aborted) throw new Trouble('the import was stopped; nothing is written');
  const { namespace } = settings;
  const proof = await proved(wanted, reader, namespace ?? 'default');
  const account = { accountId: reader.accountId, namespace, ref };
  const changes = changesOf(found, proof.drafts, account);
  const skipped = [
    ...content.gaps,
    ...missing.map((id) => ({
      what: `--id ${id}`,
      code: 'NotFound',
      reason: 'no object with this id can be imported',
    })),
    ...everything.skipped,
    ...proof.skipped,
  ];
  const texts = new Map([...found.files, ...changes.map(({ path, after }) => [path, after] as const)]);
  // A new folder needs no second proof, because the first proof covers all manifests in it. An existing folder may also
  // contain manual edits that send something.
  const edits = found.files.size === 0 ? [] : await callsOf(texts, reader, namespace ?? 'default');
  const { written, problem } = settings.check ? { written: 0 } : await writeFiles(folder, changes, signal);
  const isSnapshotWanted = !settings.check && !signal.aborted;
  const { snapshot } = settings;
  const unsaved = snapshot !== undefined && isSnapshotWanted ? await writeOrExplain(snapshot, snapshotOf(reader)) : [];
  const data = {
    folder: resolve(folder),
    resources: proof.drafts.map(({ kind, name, id, observed }) => ({ kind, name, id, ...(observed && { observed }) })),
    skipped,
    toFillIn: [...texts].flatMap(([path, text]) => (hasBlanks(text) ? [path] : [])).toSorted(),
    unseen,
    proof: { calls: Math.max(proof.calls, edits.length), problems: proof.problems },
    files: changes.map(({ path, before }) => ({ path, isNew: before === undefined })),
    written,
  };
  const told = { data, text: textOf(data, edits, settings.check) };
  const stopped = `the import stopped after ${written} of ${changes.length} files; every written file is complete`;
  if (signal.aborted) return { ...told, problems: [stopped] };
  const problems = [...(problem === undefined ? [] : [`${problem}; ${stopped}`]), ...unsaved];
  if (problems.length > 0) return { ...told, problems };
  if (content.gaps.length > 0 || missing.length > 0 || proof.problems.length > 0)
    return { ...told, code: exitCodes.unknown };
  return { ...told, code: settings.check && changes.length > 0 ? exitCodes.found : exitCodes.fine };
}

function asked(draft: Draft): Draft {
  return { ...draft, observed: draft.observed ?? { code: 'AsAsked', reason: 'the import was run with --observe' } };
}

/** The report of an import, as `-o json` prints it. */
interface Report {
  readonly resources: readonly Pick<Draft, 'kind' | 'name' | 'observed'>[];
  readonly skipped: readonly Gap[];
  /** The files with placeholders for values that the service does not show. */
  readonly toFillIn: readonly string[];
  readonly proof: Pick<Proof, 'calls' | 'problems'>;
  readonly files: readonly Pick<FileChange, 'path'>[];
  readonly written: number;
}

const unseen =
  'environment variables are not imported; members and installations are imported only if --member or --installation names them';

/**
 * Formats the report of an import as text. `edits` lists the calls that applying the folder would send to the service
 * because of manual edits in the folder.
 */
function textOf(report: Report, edits: readonly string[], isCheck: boolean): string {
  const { resources, skipped, toFillIn, proof, files, written } = report;
  const counts = Object.entries(folders).flatMap(([kind, folder]) => {
    const count = resources.filter((one) => one.kind === kind).length;
    return count === 0 ? [] : [`${folder.replace('-', ' ')} ${count}`];
  });
  const observed = resources.flatMap(({ kind, name, observed: why }) =>
    why === undefined ? [] : [`${kind}/${name}: ${why.reason}  [${why.code}]`],
  );
  const left = skipped.map(({ what, code, reason }) => `${what}: ${reason}  [${code}]`);
  const listed = (label: string, lines: readonly string[]) =>
    lines.map((line, at) => (at === 0 ? [label, String(lines.length), line] : ['', '', line]));
  const calls = counted(proof.calls, 'call');
  const proved =
    edits.length === 0
      ? `applying this folder sends ${calls} to the service`
      : `applying this folder sends ${calls} to the service, because of edits by hand: ${edits.join(', ')}`;
  const paths = files.map(({ path }) => path).join(', ');
  const wouldChange =
    files.length === 0 ? 'nothing would change' : `${counted(files.length, 'file')} would change: ${paths}`;
  const rows = [
    [isCheck ? 'checked' : 'written', counts.join(', ') || 'none'],
    ...listed('observed', observed),
    ...listed('skipped', left),
    ...listed('fill in', toFillIn),
    ['unseen', unseen],
    ...(proof.problems.length === 0 ? [proved] : proof.problems).map((line) => ['proof', line]),
    ['files', isCheck ? wouldChange : `${written} written`],
  ];
  return `${columns(rows).join('\n')}\n`;
}
