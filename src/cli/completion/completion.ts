/** `apphosting completion`: scripts by which a shell completes the commands and their flags. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { kebab, text, wordOf, type CommandLine, type Flags } from '../../config.ts';
import { command } from '../frame.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { commandReferences } from '../reference/commands.ts';

/** The flags of `apphosting completion`. */
export const completionCommand = {
  name: 'completion bash|zsh|fish',
  summary:
    'Prints a script that completes commands and flags: source <(apphosting completion bash). With --install kubectl completes\n`kubectl apphosting` too: kubectl looks for a program of its own for that.',
  operands: { least: 0, most: 1 },
  flags: {
    install: {
      help: 'write kubectl_complete-apphosting into this folder, which must be on the PATH',
      schema: z.boolean(),
    },
    folder: text('the folder for --install; else ~/.local/bin', 'DIR'),
  },
} satisfies CommandLine<Flags>;

const scripts: Readonly<Record<string, string>> = {
  bash: `_apphosting() {
  local IFS=$'\\n'
  COMPREPLY=($(apphosting __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | grep -v '^:' | cut -f1))
}
complete -o default -F _apphosting apphosting
`,
  zsh: `#compdef apphosting
_apphosting() {
  local -a found
  found=(\${(f)"$(apphosting __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | grep -v '^:' | sed 's/:/\\\\:/g; s/\\t/:/')"})
  _describe apphosting found || _files
}
compdef _apphosting apphosting
`,
  fish: `complete -c apphosting -f -a '(apphosting __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
`,
};

const forKubectl = `#!/bin/sh
exec kubectl apphosting __complete "$@"
`;

/** Runs `apphosting completion`. */
export const completion = command(completionCommand, ({ settings, operands: [shell = ''], speaks }) => {
  if (settings.install) {
    const folder = settings.folder ?? join(homedir(), '.local', 'bin');
    const path = join(folder, 'kubectl_complete-apphosting');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, forKubectl);
    chmodSync(path, 0o755);
    speaks.out(`${path}\n`);
    return Promise.resolve(exitCodes.fine);
  }
  const script = scripts[shell];
  if (script === undefined)
    return Promise.resolve({ trouble: 'name a shell: bash, zsh or fish; or give --install', isUsage: true });
  speaks.out(script);
  return Promise.resolve(exitCodes.fine);
});

/** Runs what the scripts call: the words so far, the last of them still being typed. */
export function complete(
  args: readonly string[],
  commands: readonly Candidate[],
  speaks: Speaks = standard,
): Promise<number> {
  const { found, files } = candidatesFor(args, commands);
  // As kubectl reads it: 4 says that files are no candidates.
  const lines = [...found.map(([value, description]) => `${value}\t${description}`), files ? ':0' : ':4'];
  speaks.out(`${lines.join('\n')}\n`);
  return Promise.resolve(exitCodes.fine);
}

/** What may stand there, with what it is. */
export type Candidate = readonly [value: string, description: string];

/** The candidates for the last word. */
export function candidatesFor(
  words: readonly string[],
  commands: readonly Candidate[],
): {
  readonly found: readonly Candidate[];
  readonly files: boolean;
} {
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
  if (!typed.startsWith('-')) return { found: [], files: /DIR|FILE/.test(command.name) };
  const names = flags.map(([key, { help }]): Candidate => [`--${kebab(key)}`, firstLine(help)]);
  return { found: names.filter(begins), files: false };
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
