/** `apphosting why`: prints why a resource is not Ready, down to the deepest cause, and what to do. */
import { output, Trouble, UsageError, type CommandLine, type Flags } from '../../config.ts';
import { keyInWords, keyWithNamespace, readObjects, targetIn } from '../cluster/objects.ts';
import { clusterFlags, openCluster } from '../cluster/open.ts';
import { command } from '../frame.ts';
import { ageInWords, counted, exitCodes } from '../output.ts';
import { allReady } from './status.ts';
import { storiesOf, type State, type Story } from './causes.ts';

/** Describes the command `apphosting why`: its name, flags and notes. */
export const whyCommand = {
  name: 'why KIND/NAME',
  summary:
    'Says why a resource is not Ready: what it waits for, down to the deepest cause, since when, and what to do about it.',
  operand: 'optional',
  flags: {
    ...clusterFlags,
    allNamespaces: { short: 'A', help: 'explain every resource that is not Ready, in all namespaces' },
    notReady: { help: 'explain every resource of the namespace that is not Ready' },
    output: output(['text', 'json']),
  },
  notes: [
    'Exit codes: 0 the resource is Ready, 2 it waits and goes on by itself, 3 a person must act, 1 the state is not known, 64 wrong usage.',
  ],
} satisfies CommandLine<Flags>;

/** Runs `apphosting why`. */
export const why = command(whyCommand, async ({ settings, operand: word, cluster: given }) => {
  const target = word === undefined ? undefined : targetIn(word);
  if (word === undefined && !settings.allNamespaces && !settings.notReady)
    throw new UsageError('name a resource as KIND/NAME, or give -A or --not-ready');
  if (word !== undefined && target === undefined)
    throw new UsageError(`"${word}" must have the form KIND/NAME, where KIND is a kind of apphosting.dev`);
  await using cluster = await openCluster(settings, given);
  const namespace = settings.allNamespaces ? undefined : cluster.namespace;
  const { objects, problems } = await readObjects(cluster.api, namespace);
  const meant = objects.filter(
    ({ kind, object }) => target === undefined || (kind === target.kind && object.metadata.name === target.name),
  );
  if (target !== undefined && meant.length === 0) {
    if (problems.length > 0) return { problems };
    const where = namespace === undefined ? 'any namespace' : `namespace ${namespace}`;
    throw new Trouble(`there is no ${target.kind.kind} ${target.name} in ${where}`);
  }
  const data = storiesOf(meant, objects).filter(({ state }) => target !== undefined || state !== 'ready');
  const titleOf = settings.allNamespaces ? keyWithNamespace : keyInWords;
  const text = textOf(data, titleOf, allReady(objects.length, problems.length === 0));
  return { problems, data, text, code: exitCodeOf(data) };
});

/** The exit code for each state of a resource, the worst state first. */
const codes: readonly (readonly [State, number])[] = [
  ['unknown', exitCodes.unknown],
  ['needsYou', exitCodes.gate],
  ['waits', exitCodes.found],
];

function exitCodeOf(stories: readonly Story[]): number {
  const worst = codes.find(([code]) => stories.some(({ state }) => state === code));
  return worst?.[1] ?? exitCodes.fine;
}

type TitleOf = (key: string) => string;

function textOf(stories: readonly Story[], titleOf: TitleOf, none: string): string {
  if (stories.length === 0) return `${none}\n`;
  return stories.map((story) => `${linesOf(story, titleOf).join('\n')}\n`).join('\n');
}

function linesOf({ key, chain, others, remedy, pages }: Story, titleOf: TitleOf): readonly string[] {
  const [first, ...rest] = chain;
  if (first === undefined) return [`${titleOf(key)} is Ready`];
  const since = first.since === undefined ? '' : ` for ${ageInWords(first.since)}`;
  const waiters =
    others === 0 ? '' : `; ${counted(others, 'more resource')} ${others === 1 ? 'has' : 'have'} this cause`;
  const steps = rest.map((step, at) => {
    const isLast = at === rest.length - 1;
    const when = isLast && step.since !== undefined ? ` since ${step.since.slice(11, 16)}Z` : '';
    return `${'   '.repeat(at)}└─ ${titleOf(step.key)}  ${step.reason}${when}${isLast ? `   <- cause${waiters}` : ''}`;
  });
  const last = chain.at(-1);
  const indent = '   '.repeat(rest.length);
  return [
    `${titleOf(key)} is not Ready${since}: ${first.reason}${rest.length === 0 ? waiters : ''}`,
    ...steps,
    `${indent}${last?.message ?? ''}`,
    ...(remedy === undefined ? [] : [`  do: ${remedy}`]),
    ...pages.map((page) => `  ${page}`),
  ];
}
