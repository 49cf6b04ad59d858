/** `apphosting completion`: scripts by which a shell completes the commands and their flags. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { kebab, parseFlags, type CommandLine, type Flags } from '../../config.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { commandReferences, wordOf } from '../reference/commands.ts';

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
    folder: { help: 'the folder for --install; else ~/.local/bin', value: 'DIR', schema: z.string().optional() },
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
export function completion(args: readonly string[], speaks: Speaks = standard): Promise<number> {
  return Promise.resolve(completed(args, speaks));
}

function completed(args: readonly string[], speaks: Speaks): number {
  const parsed = parseFlags(completionCommand, args);
  if (parsed.kind === 'help') {
    speaks.out(parsed.text);
    return exitCodes.fine;
  }
  const [shell] = parsed.kind === 'settings' ? (parsed.operands ?? []) : [];
  if (parsed.kind === 'settings' && parsed.settings.install) {
    const folder = parsed.settings.folder ?? join(homedir(), '.local', 'bin');
    const path = join(folder, 'kubectl_complete-apphosting');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, forKubectl);
    chmodSync(path, 0o755);
    speaks.out(`${path}\n`);
    return exitCodes.fine;
  }
  const script = shell === undefined ? undefined : scripts[shell];
  if (parsed.kind === 'settings' && script !== undefined) {
    speaks.out(script);
    return exitCodes.fine;
  }
  const line =
    parsed.kind === 'wrong' ? parsed.line : 'apphosting completion: name a shell: bash, zsh or fish; or give --install';
  speaks.err(`${line}\n`);
  return exitCodes.usage;
}

/** Runs what the scripts call: the words so far, the last of them still being typed. */
export function complete(args: readonly string[], speaks: Speaks = standard): Promise<number> {
  const { found, files } = candidatesFor(args);
  // As kubectl reads it: 4 says that files are no candidates.
  const lines = [...found.map(([value, description]) => `${value}\t${description}`), files ? ':0' : ':4'];
  speaks.out(`${lines.join('\n')}\n`);
  return Promise.resolve(exitCodes.fine);
}

type Candidate = readonly [value: string, description: string];

/** The candidates for the last word. */
export function candidatesFor(words: readonly string[]): {
  readonly found: readonly Candidate[];
  readonly files: boolean;
} {
  const typed = words.at(-1) ?? '';
  const begins = ([value]: Candidate) => value.startsWith(typed);
  if (words.length < 2) {
    const commands = commandReferences.map((one): Candidate => [wordOf(one), firstLine(one.command.summary)]);
    return { found: commands.filter(begins), files: false };
  }
  const command = commandReferences.find((one) => wordOf(one) === words[0])?.command;
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
