/** `apphosting status`: prints the resources of each account as a tree. */
import { choice, output, type CommandLine, type Flags } from '../../config.ts';
import { clusterFlags, openCluster } from '../cluster/open.ts';
import { keyInWords, keyWithNamespace, readObjects } from '../cluster/objects.ts';
import { command } from '../frame.ts';
import { ageInWords, columns, exitCodes, type Paint, paintFor } from '../output.ts';
import { treeOf, type Branch } from './tree.ts';

/** Describes the command `apphosting status`: its name, flags and notes. */
export const statusCommand = {
  name: 'status',
  summary: 'Shows every account with its apps, environments and alerts as a tree: what is Ready, what is not, and why.',
  flags: {
    ...clusterFlags,
    allNamespaces: { short: 'A', help: 'in all namespaces' },
    output: output(['text', 'wide', 'json', 'yaml', 'name']),
    color: choice('whether text is coloured', ['auto', 'always', 'never']),
  },
  notes: ['Exit codes: 0 all are Ready, 2 a resource is not Ready, 1 something could not be read, 64 wrong usage.'],
} satisfies CommandLine<Flags>;

/** Runs `apphosting status`. */
export const status = command(statusCommand, async ({ settings, cluster: given }) => {
  await using cluster = await openCluster(settings, given);
  const namespace = settings.allNamespaces ? undefined : cluster.namespace;
  const { objects, problems } = await readObjects(cluster.api, namespace);
  const data = treeOf(objects);
  const looked = { namespace, isWhole: problems.length === 0 };
  const text = textOf(data, settings.output, paintFor(settings.color, process.stdout), looked);
  const code = flat(data).every(({ ready }) => ready === 'True') ? exitCodes.fine : exitCodes.found;
  return { problems, data, text, code };
});

function flat(tree: readonly Branch[]): readonly Branch[] {
  return tree.flatMap((branch) => [branch, ...flat(branch.under)]);
}

/**
 * The namespace in which resources were looked for, or undefined
 * for all namespaces, and whether every resource could be read.
 */
interface Looked {
  readonly namespace: string | undefined;
  readonly isWhole: boolean;
}

function textOf(tree: readonly Branch[], output: string, paint: Paint, { namespace, isWhole }: Looked): string {
  const all = flat(tree);
  if (output === 'name') return all.map(({ key }) => `${keyInWords(key)}\n`).join('');
  const where = namespace === undefined ? 'any namespace' : `namespace ${namespace}`;
  const none = isWhole ? `there are no resources in ${where}` : allReady(0, isWhole);
  if (tree.length === 0) return `${none}\n`;
  const rows = tree.flatMap((branch) => rowsOf(branch, '', '', output === 'wide', namespace === undefined));
  const lines = columns([['RESOURCE', 'READY', 'STATE', 'AGE', 'REASON'], ...rows.map(({ cells }) => cells)]);
  const bad = all.filter(({ ready }) => ready !== 'True').length;
  const summary =
    bad === 0
      ? allReady(all.length, isWhole)
      : `${bad} of ${all.length} resources ${bad === 1 ? 'is' : 'are'} not Ready`;
  const painted = lines.map((line, at) => (at > 0 && rows[at - 1]?.isReady === false ? paint('red', line) : line));
  return `${[...painted, '', summary].join('\n')}\n`;
}

/** Says that all resources are Ready or, if some could not be read, that all those that were read are Ready. */
export function allReady(count: number, isWhole: boolean): string {
  if (count === 0 && !isWhole) return 'no resource could be read, so nothing is known';
  const resources = isWhole ? 'resources' : 'resources that could be read';
  return `all ${count} ${resources} are Ready`;
}

interface Row {
  readonly cells: readonly string[];
  readonly isReady: boolean;
}

function rowsOf(branch: Branch, lead: string, below: string, wide: boolean, withNamespace: boolean): readonly Row[] {
  const { key, ready, reason, message, since, detail, under } = branch;
  const isReady = ready === 'True';
  const told = isReady ? '' : wide ? `${reason}: ${message}` : reason;
  const age = since === undefined ? '' : ageInWords(since);
  const title = (withNamespace ? keyWithNamespace : keyInWords)(key);
  const children = under.flatMap((child, at) => {
    const isLast = at === under.length - 1;
    return rowsOf(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, wide, withNamespace);
  });
  return [{ cells: [`${lead}${title}`, ready, detail ?? '', age, told], isReady }, ...children];
}
