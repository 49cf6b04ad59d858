/** `apphosting completion`: prints scripts with which a shell completes commands and flags. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { kebab, operandOf, parseFlags, text, UsageError, wordOf, type CommandLine, type Flags } from '../../config.ts';
import { kinds } from '../../kinds/index.ts';
import { kindNamed, readObjects } from '../cluster/objects.ts';
import { clusterFlags, openCluster, type OpenCluster } from '../cluster/open.ts';
import { command, type Outside } from '../frame.ts';
import { exitCodes, standard } from '../output.ts';
import { commandReferences } from '../reference/commands.ts';

/** Describes the command `apphosting completion`: its name, flags and notes. */
export const completionCommand = {
  name: 'completion bash|zsh|fish',
  summary:
    'Prints a script that completes commands and flags: source <(apphosting completion bash). With --install the script is written\nto the folder from which the shell loads it. If no shell is named, --install writes the program with which kubectl\ncompletes `kubectl apphosting`.',
  operand: 'optional',
  flags: {
    install: {
      help: 'write the script to a file; if no shell is named, write the program kubectl_complete-apphosting for kubectl',
    },
    folder: text(
      'the folder for the file that --install writes; by default the folder from which the shell loads scripts, or ~/.local/bin for kubectl',
      'DIR',
    ),
  },
} satisfies CommandLine<Flags>;

const scripts: Readonly<Record<string, string>> = {
  bash: `_apphosting() {
  local IFS=$'\\n'
  COMPREPLY=($(apphosting __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | grep -v '^:' | cut -f1))
  [[ \${COMPREPLY-} == */ ]] && compopt -o nospace
}
complete -o default -F _apphosting apphosting
`,
  zsh: `#compdef apphosting
_apphosting() {
  local -a found
  found=(\${(f)"$(apphosting __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | grep -v '^:' | sed 's/:/\\\\:/g; s/\\t/:/')"})
  [[ $found[1] == */:* ]] && _describe apphosting found -S '' || _describe apphosting found || _files
}
compdef _apphosting apphosting
if [[ $funcstack[1] == _apphosting ]]; then _apphosting "$@"; fi
`,
  fish: `complete -c apphosting -f -a '(apphosting __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
`,
};

/**
 * The file in the home folder from which each shell loads its completion script. Zsh loads the script only if `fpath`
 * has the folder.
 */
const places: Readonly<Record<string, string>> = {
  bash: '.local/share/bash-completion/completions/apphosting',
  zsh: '.local/share/zsh/site-functions/_apphosting',
  fish: '.config/fish/completions/apphosting.fish',
};

/**
 * The program that kubectl runs to complete a command line that begins with `kubectl apphosting`. kubectl looks for the
 * program on the PATH.
 */
const forKubectl = `#!/bin/sh
exec kubectl apphosting __complete "$@"
`;

/** Runs `apphosting completion`. */
export const completion = command(completionCommand, async ({ settings, operand: shell }) => {
  const text = shell === undefined && settings.install ? forKubectl : scripts[shell ?? ''];
  if (text === undefined) throw new UsageError('name a shell: bash, zsh or fish; or give --install');
  if (!settings.install) return { text };
  const place = join(homedir(), places[shell ?? ''] ?? '.local/bin/kubectl_complete-apphosting');
  const path = join(settings.folder ?? dirname(place), basename(place));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  if (shell === undefined) chmodSync(path, 0o755);
  return { text: `${path}\n` };
});

/**
 * Prints the words that may complete a command line that is still
 * being typed. The completion scripts of the shells call this.
 */
export async function complete(
  args: readonly string[],
  commands: readonly Candidate[],
  { speaks = standard, cluster }: Outside = {},
): Promise<number> {
  const { found, files } = await candidatesFor(args, commands, cluster);
  // The last line is a number that kubectl reads as a set of bits: 4 means that kubectl must not offer file names, 2
  // means that no space follows the word.
  const directive = found.some(([value]) => value.endsWith('/')) ? ':6' : files ? ':0' : ':4';
  const lines = [...found.map(([value, description]) => `${value}\t${description}`), directive];
  speaks.out(`${lines.join('\n')}\n`);
  return exitCodes.fine;
}

/** A word that may complete the command line, and its description. */
export type Candidate = readonly [value: string, description: string];

/** Finds the words that may complete the command line, and says whether file names may complete it too. */
export async function candidatesFor(words: readonly string[], commands: readonly Candidate[], given?: OpenCluster) {
  const typed = words.at(-1) ?? '';
  const begins = ([value]: Candidate) => value.startsWith(typed);
  if (words.length < 2) {
    return { found: commands.filter(begins), files: false };
  }
  const command = commandReferences.find((one) => wordOf(one.command) === words[0])?.command;
  if (command === undefined) return { found: [], files: false };
  const flags = Object.entries(command.flags);
  const before = words.at(-2) ?? '';
  const flag = flags.find(
    ([key, { short }]) => before === `--${kebab(key)}` || (short !== undefined && before === `-${short}`),
  )?.[1];
  if (flag?.value !== undefined) {
    const isChoice = /^[a-z]+(\|[a-z]+)+$/.test(flag.value);
    const values = isChoice ? flag.value.split('|').map((value): Candidate => [value, '']) : [];
    return { found: values.filter(begins), files: /FILE|DIR/.test(flag.value) };
  }
  if (!typed.startsWith('-')) {
    const found = await resourcesFor(command, words.slice(1, -1), typed, given);
    return { found: found.filter(begins), files: /DIR|FILE/.test(command.name) };
  }
  const names = flags.map(([key, { help }]): Candidate => [`--${kebab(key)}`, help]);
  return { found: names.filter(begins), files: false };
}

/** Maps each operand in the help, such as `ENVIRONMENT`, to the kind of resource that it stands for. */
const kindsOfOperands: Readonly<Record<string, string>> = { ENVIRONMENT: 'AppEnvironment', NAME: 'DisasterProtection' };

/** Completes the operand `KIND/NAME`: first the kind, then the names that the cluster lists within a second. */
async function resourcesFor(
  line: CommandLine<Flags>,
  before: readonly string[],
  typed: string,
  given: OpenCluster | undefined,
): Promise<readonly Candidate[]> {
  const operand = operandOf(line);
  const only = kindsOfOperands[operand];
  if (only === undefined && operand !== 'KIND/NAME') return [];
  const [word = '', name] = typed.split('/');
  if (only === undefined && name === undefined) return kinds.map(({ kind }) => [`${kind}/`, '']);
  const kind = kindNamed(only ?? word);
  // Accept any flag values and leave required flags optional, because the command line is still being typed.
  const anything = Object.entries(line.flags).map(([key, flag]) => [key, { ...flag, schema: z.unknown() }] as const);
  const flags = { ...Object.fromEntries(anything), ...clusterFlags };
  if (kind === undefined) return [];
  try {
    const parsed = parseFlags({ ...line, flags, operand: 'optional' }, before);
    if ('help' in parsed) return [];
    await using cluster = await openCluster({ ...parsed.settings, requestTimeout: 1 }, given);
    const { objects } = await readObjects(cluster.api, cluster.namespace, [kind]);
    return objects.map(({ object: { metadata } }) => [
      only === undefined ? `${word}/${metadata.name}` : metadata.name,
      '',
    ]);
  } catch {
    // Return no words if the command line already has an error, or if the cluster does not answer.
    return [];
  }
}
