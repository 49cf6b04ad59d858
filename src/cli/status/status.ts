/** `apphosting status`: the tree of an account on one screen. */
import { z } from 'zod';
import { choice, output, type CommandLine, type Flags } from '../../config.ts';
import { clusterFlags, inCluster, type OpenCluster } from '../cluster/open.ts';
import { keyInWords, readObjects } from '../cluster/objects.ts';
import { command } from '../frame.ts';
import { ageInWords, asData, columns, exitCodes, type Paint, paintFor } from '../output.ts';
import { treeOf, type Branch } from './tree.ts';

/** The flags of `apphosting status`. */
export const statusCommand = {
  name: 'status',
  summary: 'Shows every account with its apps, environments and alerts as a tree: what is Ready, what is not, and why.',
  flags: {
    ...clusterFlags,
    allNamespaces: { short: 'A', help: 'in all namespaces', schema: z.boolean() },
    output: output(['text', 'wide', 'json', 'yaml', 'name']),
    color: choice('whether text is coloured', ['auto', 'always', 'never']),
  },
  notes: ['Exit codes: 0 everything is Ready, 2 something is not, 1 something could not be read, 64 usage.'],
} satisfies CommandLine<Flags>;

/** Runs `apphosting status`. */
export const status = command(statusCommand, ({ settings, speaks, warn }, given?: OpenCluster) =>
  inCluster(settings, given, async (cluster) => {
    const namespace = settings.allNamespaces ? undefined : (settings.namespace ?? cluster.namespace);
    const { objects, problems } = await readObjects(cluster.api, namespace);
    for (const problem of problems) warn(problem);
    const isWhole = problems.length === 0;
    const tree = treeOf(objects);
    speaks.out(printed(tree, settings.output, paintFor(settings.color, process.stdout), { namespace, isWhole }));
    if (!isWhole) return exitCodes.unknown;
    return flat(tree).every(({ ready }) => ready === 'True') ? exitCodes.fine : exitCodes.found;
  }),
);

function flat(tree: readonly Branch[]): readonly Branch[] {
  return tree.flatMap((branch) => [branch, ...flat(branch.under)]);
}

/** Where the resources of a tree were looked for, and whether all of them could be read. */
interface Looked {
  readonly namespace: string | undefined;
  readonly isWhole: boolean;
}

function printed(tree: readonly Branch[], output: string, paint: Paint, looked: Looked): string {
  if (output === 'name')
    return flat(tree)
      .map(({ key }) => `${keyInWords(key)}\n`)
      .join('');
  return asData(output, tree) ?? asText(tree, output === 'wide', paint, looked);
}

function asText(tree: readonly Branch[], wide: boolean, paint: Paint, { namespace, isWhole }: Looked): string {
  const where = namespace === undefined ? 'any namespace' : `namespace ${namespace}`;
  if (tree.length === 0) return `${isWhole ? `there are no resources in ${where}` : allReady(0, isWhole)}\n`;
  const rows = tree.flatMap((branch) => rowsOf(branch, '', '', wide, namespace === undefined));
  const lines = columns([['RESOURCE', 'READY', 'STATE', 'AGE', 'REASON'], ...rows.map(({ cells }) => cells)]);
  const all = flat(tree);
  const bad = all.filter(({ ready }) => ready !== 'True').length;
  const summary =
    bad === 0
      ? allReady(all.length, isWhole)
      : `${bad} of ${all.length} resources ${bad === 1 ? 'is' : 'are'} not Ready`;
  const painted = lines.map((line, at) => (at > 0 && rows[at - 1]?.isReady === false ? paint('red', line) : line));
  return `${[...painted, '', summary].join('\n')}\n`;
}

/** That all of so many are Ready, so that a part is not taken for everything, nor what was not read for nothing. */
export function allReady(count: number, isWhole: boolean): string {
  if (count === 0 && !isWhole) return 'what is there could not be read';
  return `all ${count} resources${isWhole ? '' : ' that could be read'} are Ready`;
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
  const title = withNamespace ? key.replace('//', '/') : keyInWords(key);
  const children = under.flatMap((child, at) => {
    const isLast = at === under.length - 1;
    return rowsOf(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, wide, withNamespace);
  });
  return [{ cells: [`${lead}${title}`, ready, detail ?? '', age, told], isReady }, ...children];
}
