/** `apphosting why`: why a resource is not Ready, deepest cause first, and what to do. */
import { z } from 'zod';
import { parseFlags, type CommandLine, type Flags } from '../../config.ts';
import { clusterFlags, openCluster, type OpenCluster } from '../cluster/open.ts';
import { kindNamed, readObjects } from '../cluster/objects.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { ageInWords } from '../output/age.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { storiesOf, type State, type Story } from './causes.ts';

/** The flags of `apphosting why`. */
export const whyCommand = {
  name: 'why KIND/NAME',
  summary:
    'Says why a resource is not Ready: what it waits for, down to the deepest cause, since when, and what to do about it.',
  operands: { least: 0, most: 1 },
  flags: {
    ...clusterFlags,
    allNamespaces: { short: 'A', help: 'everything that is not Ready, in all namespaces', schema: z.boolean() },
    notReady: { help: 'only what is not Ready', schema: z.boolean() },
    output: {
      short: 'o',
      help: 'how it is printed',
      value: 'text|json',
      fallback: 'text',
      schema: z.enum(['text', 'json'], 'must be text or json'),
    },
  },
  notes: ['Exit codes: 0 Ready, 2 it waits and goes on by itself, 3 it needs you, 1 it could not be told, 64 usage.'],
} satisfies CommandLine<Flags>;

/** Runs `apphosting why`. */
export async function why(args: readonly string[], speaks: Speaks = standard, given?: OpenCluster): Promise<number> {
  const parsed = parseFlags(whyCommand, args);
  if (parsed.kind === 'help') {
    speaks.out(parsed.text);
    return exitCodes.fine;
  }
  if (parsed.kind === 'wrong') return complain(speaks, parsed.line, exitCodes.usage);
  const { settings, operands: [target] = [] } = parsed;
  const [word = '', name = ''] = target?.split('/') ?? [];
  const kind = kindNamed(word);
  const hint = 'apphosting why --help lists the options';
  if (target === undefined && !settings.allNamespaces && !settings.notReady)
    return complain(
      speaks,
      `apphosting why: name a resource as KIND/NAME, or give -A or --not-ready; ${hint}`,
      exitCodes.usage,
    );
  if (target !== undefined && (kind === undefined || name === ''))
    return complain(
      speaks,
      `apphosting why: "${target}" is not KIND/NAME of a kind of apphosting.dev; ${hint}`,
      exitCodes.usage,
    );
  const cluster = given ?? (await openCluster(settings));
  if ('trouble' in cluster) return complain(speaks, `apphosting why: ${cluster.trouble}`, exitCodes.unknown);
  try {
    const namespace = settings.allNamespaces ? undefined : (settings.namespace ?? cluster.namespace);
    const { objects, problems } = await readObjects(cluster.api, namespace);
    for (const problem of problems) speaks.err(`apphosting why: ${problem}\n`);
    const meant = objects.filter(
      (object) => target === undefined || (object.kind === kind?.kind && object.metadata.name === name),
    );
    if (target !== undefined && meant.length === 0) {
      if (problems.length > 0) return exitCodes.unknown;
      return complain(
        speaks,
        `apphosting why: there is no ${kind?.kind} ${name} in ${namespace === undefined ? 'any namespace' : `namespace ${namespace}`}`,
        exitCodes.unknown,
      );
    }
    const stories = storiesOf(meant, objects).filter(({ state }) => target !== undefined || state !== 'ready');
    speaks.out(settings.output === 'json' ? `${JSON.stringify(stories, null, 2)}\n` : textOf(stories, objects.length));
    return problems.length > 0 ? exitCodes.unknown : exitCodeOf(stories);
  } finally {
    if (given === undefined) await cluster.close();
  }
}

function complain(speaks: Speaks, line: string, code: number): number {
  speaks.err(`${line}\n`);
  return code;
}

const codes: Readonly<Record<State, number>> = {
  ready: exitCodes.fine,
  waits: exitCodes.found,
  needsYou: exitCodes.gate,
  unknown: exitCodes.unknown,
};

function exitCodeOf(stories: readonly Story[]): number {
  const states = stories.map(({ state }) => state);
  const worst = (['unknown', 'needsYou', 'waits'] as const).find((state) => states.includes(state));
  return codes[worst ?? 'ready'];
}

function textOf(stories: readonly Story[], total: number): string {
  if (stories.length === 0) return `all ${total} resources are Ready\n`;
  return stories.map((story) => `${linesOf(story).join('\n')}\n`).join('\n');
}

/** `Kind/name`, as people write it. */
export function shortKey(key: string): string {
  const [kind = '', , ...name] = key.split('/');
  return `${kind}/${name.join('/')}`;
}

function linesOf({ key, chain, others, remedy, pages }: Story): readonly string[] {
  const [first, ...rest] = chain;
  if (first === undefined) return [`${shortKey(key)} is Ready`];
  const since = first.since === undefined ? '' : ` for ${ageInWords(first.since)}`;
  const waiters = others === 0 ? '' : `; ${others} more resource${others === 1 ? ' waits' : 's wait'} for it`;
  const steps = rest.map((step, at) => {
    const isLast = at === rest.length - 1;
    const when = isLast && step.since !== undefined ? ` since ${step.since.slice(11, 16)}Z` : '';
    return `${'   '.repeat(at)}└─ ${shortKey(step.key)}  ${step.reason}${when}${isLast ? `   <- cause${waiters}` : ''}`;
  });
  const last = chain.at(-1);
  const indent = '   '.repeat(rest.length);
  return [
    `${shortKey(key)} is not Ready${since}: ${first.reason}${rest.length === 0 ? waiters : ''}`,
    ...steps,
    `${indent}${last?.message ?? ''}`,
    ...(remedy === undefined ? [] : [`  do: ${remedy}`]),
    ...pages.map((page) => `  ${page}`),
  ];
}
