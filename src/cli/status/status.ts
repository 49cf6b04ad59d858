/** `apphosting status`: the tree of an account on one screen. */
import { stringify } from 'yaml';
import { z } from 'zod';
import { parseFlags, type CommandLine, type Flags } from '../../config.ts';
import { clusterFlags, openCluster, type OpenCluster } from '../cluster/open.ts';
import { readObjects } from '../cluster/objects.ts';
import { ageInWords } from '../output/age.ts';
import { paintFor, type Paint } from '../output/colour.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { columns } from '../output/table.ts';
import { treeOf, type Branch } from './tree.ts';
import { shortKey } from './why.ts';

/** The flags of `apphosting status`. */
export const statusCommand = {
  name: 'status',
  summary: 'Shows every account with its apps, environments and alerts as a tree: what is Ready, what is not, and why.',
  flags: {
    ...clusterFlags,
    allNamespaces: { short: 'A', help: 'in all namespaces', schema: z.boolean() },
    output: {
      short: 'o',
      help: 'how it is printed',
      value: 'text|wide|json|yaml|name',
      fallback: 'text',
      schema: z.enum(['text', 'wide', 'json', 'yaml', 'name'], 'must be text, wide, json, yaml or name'),
    },
    color: {
      help: 'whether text is coloured',
      value: 'auto|always|never',
      fallback: 'auto',
      schema: z.enum(['auto', 'always', 'never'], 'must be auto, always or never'),
    },
  },
  notes: ['Exit codes: 0 everything is Ready, 2 something is not, 1 something could not be read, 64 usage.'],
} satisfies CommandLine<Flags>;

/** Runs `apphosting status`. */
export async function status(args: readonly string[], speaks: Speaks = standard, given?: OpenCluster): Promise<number> {
  const parsed = parseFlags(statusCommand, args);
  if (parsed.kind === 'help') {
    speaks.out(parsed.text);
    return exitCodes.fine;
  }
  const complain = (line: string, code: number) => {
    speaks.err(`${line}\n`);
    return code;
  };
  if (parsed.kind === 'wrong') return complain(parsed.line, exitCodes.usage);
  const { settings } = parsed;
  const cluster = given ?? (await openCluster(settings));
  if ('trouble' in cluster) return complain(`apphosting status: ${cluster.trouble}`, exitCodes.unknown);
  try {
    const namespace = settings.allNamespaces ? undefined : (settings.namespace ?? cluster.namespace);
    const { objects, problems } = await readObjects(cluster.api, namespace);
    for (const problem of problems) speaks.err(`apphosting status: ${problem}\n`);
    const tree = treeOf(objects);
    speaks.out(printed(tree, settings.output, paintFor(settings.color, process.stdout), namespace));
    if (problems.length > 0) return exitCodes.unknown;
    return flat(tree).every(({ ready }) => ready === 'True') ? exitCodes.fine : exitCodes.found;
  } finally {
    if (given === undefined) await cluster.close();
  }
}

function flat(tree: readonly Branch[]): readonly Branch[] {
  return tree.flatMap((branch) => [branch, ...flat(branch.under)]);
}

function printed(tree: readonly Branch[], output: string, paint: Paint, namespace: string | undefined): string {
  switch (output) {
    case 'json':
      return `${JSON.stringify(tree, null, 2)}\n`;
    case 'yaml':
      return stringify(tree);
    case 'name':
      return flat(tree)
        .map(({ key }) => `${shortKey(key)}\n`)
        .join('');
    default:
      return asText(tree, output === 'wide', paint, namespace);
  }
}

function asText(tree: readonly Branch[], wide: boolean, paint: Paint, namespace: string | undefined): string {
  if (tree.length === 0)
    return `there are no resources in ${namespace === undefined ? 'any namespace' : `namespace ${namespace}`}\n`;
  const rows = tree.flatMap((branch) => rowsOf(branch, '', '', wide, namespace === undefined));
  const lines = columns([['RESOURCE', 'READY', 'STATE', 'AGE', 'REASON'], ...rows.map(({ cells }) => cells)]);
  const all = flat(tree);
  const bad = all.filter(({ ready }) => ready !== 'True').length;
  const summary =
    bad === 0 ? `all ${all.length} resources are Ready` : `${bad} of ${all.length} resources are not Ready`;
  const painted = lines.map((line, at) => (at > 0 && rows[at - 1]?.isReady === false ? paint('red', line) : line));
  return `${[...painted, '', summary].join('\n')}\n`;
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
  const title = withNamespace ? key.replace('//', '/') : shortKey(key);
  const children = under.flatMap((child, at) => {
    const isLast = at === under.length - 1;
    return rowsOf(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, wide, withNamespace);
  });
  return [{ cells: [`${lead}${title}`, ready, detail ?? '', age, told], isReady }, ...children];
}
