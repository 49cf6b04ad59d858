/*
 * The only file that reads flags and environment variables. Each command declares its flags once, as values. The typed settings, the
 * `--help` text and the one-line errors are made from these declarations.
 */
import { arch, argv, env, platform } from 'node:process';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';

/** The namespace in which the operator runs, both in an installation and in a sandbox. */
export const operatorNamespace = 'apphosting-system';

/** Defines one flag of a command: its help text, and the schema that turns the user's text into a setting. */
export interface Flag<T> {
  readonly help: string;
  /** The placeholder for the flag's value in `--help`. A flag without a placeholder takes no value; its setting is true or false. */
  readonly value?: string;
  /** Parses the text that the user gave for the flag. Undefined for a flag that takes no value. */
  readonly schema?: z.ZodType<T>;
  /** The text that is used when neither the flag nor its environment variable is given; shown in `--help`. */
  readonly fallback?: string;
  /** The environment variable that is read when the flag is not given. */
  readonly variable?: string;
  /** True when a user may give the flag several times. Its values are then kept as a list. */
  readonly many?: boolean;
  /** True when the flag's value may begin with `--`, because the value is meant for another program. */
  readonly dashed?: boolean;
  /** One letter that stands for the flag: `o` for `-o`. */
  readonly short?: string;
}

/** The flags of a command. The keys are the flags' names in camelCase. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

/** A command as its user sees it. The keys of `flags` are in camelCase; people type these names in kebab-case. */
export interface CommandLine<F extends Flags> {
  readonly name: string;
  readonly summary: string;
  readonly flags: F;
  readonly notes?: readonly string[];
  /**
   * Says whether the user must give the argument that the command's name shows, such as `NAME` in `activate NAME`, or
   * may leave it out. Undefined if the command takes no argument.
   */
  readonly operand?: 'needed' | 'optional';
}

/** The type of a command's settings. It has one property for each flag of the command. */
export type Settings<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends { readonly schema: z.ZodType<infer T> } ? T : boolean;
};

/** The parsed command line: settings and argument, or the help text if the user passed `--help`. */
type Parsed<T> = { readonly settings: T; readonly operand: string | undefined } | { readonly help: string };

/** A problem that ends a command. The command prints its message in one line. */
export class Trouble extends Error {}

/** Thrown when a command line is not valid. */
export class UsageError extends Trouble {}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses the flags of a command. A flag that is not given gets the value of its environment variable, or else its
 * default. Throws a `UsageError` if a flag is wrong.
 */
export function parseFlags<F extends Flags>(
  command: CommandLine<F>,
  args: readonly string[],
  environment: Environment = env,
): Parsed<Settings<F>> {
  const given = readArguments(command, args);
  if ('help' in given) return given;
  const settings: Record<string, unknown> = {};
  for (const [key, flag] of Object.entries(command.flags)) {
    const text = given.settings[kebab(key)] ?? fallbackOf(flag, environment);
    const result = (flag.schema ?? z.boolean()).safeParse(text);
    if (!result.success) throw new UsageError(`--${kebab(key)}: ${result.error.issues[0]?.message ?? 'is not valid'}`);
    settings[key] = result.data;
  }
  return { settings: settings as Settings<F>, operand: given.operand };
}

/** Returns the text that `--help` prints for a command. */
export function helpOf(command: CommandLine<Flags>): string {
  const rows = Object.entries(command.flags).map(([key, flag]) => {
    const short = flag.short === undefined ? '' : `-${flag.short}, `;
    const name = `  ${short}--${kebab(key)}${flag.value === undefined ? '' : ` ${flag.value}`}`;
    const range = rangeOf(flag);
    const extra = [
      ...(range === undefined ? [] : [range]),
      ...(flag.fallback === undefined ? [] : [`default ${flag.fallback}`]),
      ...(flag.variable === undefined ? [] : [`or ${flag.variable}`]),
      ...(flag.many === true ? ['may be repeated'] : []),
    ];
    return `${name.padEnd(30)}${name.length > 29 ? ' ' : ''}${flag.help}${extra.length > 0 ? ` (${extra.join('; ')})` : ''}`;
  });
  const notes = command.notes === undefined ? [] : ['', ...command.notes];
  return [`${program} ${command.name} [options]`, '', command.summary, '', ...rows, ...notes, ''].join('\n');
}

/**
 * Returns the smallest and largest value of a flag that takes a number, as `--help` prints them: `3 to 300`. Returns
 * undefined for other flags.
 */
export function rangeOf({ schema = z.boolean() }: Flag<unknown>): string | undefined {
  const { minimum, maximum, unit } = z.toJSONSchema(schema, { unrepresentable: 'any' });
  const of = typeof unit === 'string' ? unit : '';
  return minimum === undefined ? undefined : `${minimum}${of} to ${maximum}${of}`;
}

type Given = string | boolean | readonly (string | boolean)[];

/**
 * Reads the flags and the argument that the user gave on the command line. The keys of the result are the flags' names
 * in kebab-case. Throws a `UsageError` for a flag that the command does not have, or for an argument that it does not
 * take.
 */
function readArguments(
  command: CommandLine<Flags>,
  args: readonly string[],
): Parsed<{ readonly [name: string]: Given | undefined }> {
  const flags = new Map(Object.entries(command.flags).map(([key, flag]) => [kebab(key), flag]));
  const options = Object.fromEntries(
    [...flags].map(([name, { value, short, many = false }]) => {
      const type = value === undefined ? ('boolean' as const) : ('string' as const);
      return [name, { type, multiple: many, ...(short !== undefined && { short }) }];
    }),
  );
  const { values, tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const seen = new Set<string>();
  let operand: string | undefined;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      const word = `"${token.value}"`;
      if (command.operand === undefined) throw new UsageError(`${word} is not an option`);
      if (operand !== undefined) throw new UsageError(`unexpected argument ${word}: give only ${operandOf(command)}`);
      operand = token.value;
      continue;
    }
    if (token.name === 'help' || token.name === 'h') return { help: helpOf(command) };
    const flag = flags.get(token.name);
    if (flag === undefined) throw new UsageError(`there is no option ${token.rawName}`);
    if (flag.value === undefined) {
      if (token.value !== undefined) throw new UsageError(`${token.rawName} takes no value`);
      continue;
    }
    const looksLikeFlag = token.inlineValue !== true && token.value?.startsWith('--') === true;
    if (token.value === undefined || (looksLikeFlag && flag.dashed !== true))
      throw new UsageError(`${token.rawName} needs a value, as in ${token.rawName} ${flag.value}`);
    if (flag.many !== true && seen.has(token.name)) throw new UsageError(`${token.rawName} is given twice`);
    seen.add(token.name);
  }
  if (command.operand === 'needed' && operand === undefined) throw new UsageError(`it needs ${operandOf(command)}`);
  return { settings: values, operand };
}

/** Returns the name of a command's argument, as `--help` shows it: `KIND/NAME`. */
export function operandOf({ name }: Pick<CommandLine<Flags>, 'name'>): string {
  return name.split(' ')[1] ?? '';
}

function fallbackOf(flag: Flag<unknown>, environment: Environment): Given | undefined {
  const fromVariable = flag.variable === undefined ? undefined : environment[flag.variable];
  const text = fromVariable !== undefined && fromVariable !== '' ? fromVariable : flag.fallback;
  if (flag.value === undefined) return text === 'true' || text === '1';
  if (flag.many === true) return text === undefined ? [] : [text];
  return text;
}

/** The command that people type to run this program: `kubectl apphosting` if kubectl runs it as a plugin, else `apphosting`. */
export const program = basename(argv[1] ?? '').startsWith('kubectl-') ? 'kubectl apphosting' : 'apphosting';

/** Returns the first word of a command's name, such as `plan` for `plan DIR|FILE|-`. */
export function wordOf({ name }: Pick<CommandLine<Flags>, 'name'>): string {
  return name.split(' ')[0] ?? name;
}

/** Returns the name of a flag as people type it: `base-url` for `baseUrl`. */
export function kebab(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Makes the schema of a flag that takes a whole number within two bounds. */
export function wholeNumber(least: number, most: number): z.ZodType<number> {
  return z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(least, `must be at least ${least}`).max(most, `must be at most ${most}`));
}

const secondsIn: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/**
 * Makes the schema of a flag that takes a length of time: `90`, `90s`, `2m` or `1h`. The schema turns this text into a
 * number of seconds.
 */
export function duration(least: number, most: number): z.ZodType<number> {
  return z
    .string()
    .regex(/^\d+[smh]?$/, 'must look like 90, 90s, 2m or 1h')
    .transform((text) => Number.parseInt(text, 10) * (secondsIn[text.slice(-1)] ?? 1))
    .pipe(
      z.number().min(least, `must be at least ${least}s`).max(most, `must be at most ${most}s`).meta({ unit: 's' }),
    );
}

/**
 * Makes a flag that takes one word out of a fixed list. The default is the first word, unless `fallback` names another
 * word.
 */
export function choice<const Words extends readonly [string, string, ...string[]]>(
  help: string,
  words: Words,
  fallback: Words[number] = words[0],
) {
  const must = `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
  return { help, value: words.join('|'), fallback, schema: z.enum(words, must) };
}

/** Makes the flag `-o`, which chooses the output format. */
export function output<const Words extends readonly [string, string, ...string[]]>(
  words: Words,
  help = 'the output format',
) {
  return { short: 'o', ...choice(help, words) };
}

/** The schema of a flag that takes any text except an empty one. */
export const someText = z.string().min(1, 'must not be empty');

/** Makes an optional flag that takes any text except an empty one. */
export function text(help: string, value: string) {
  return { help, value, schema: someText.optional() };
}

/**
 * Makes the flag `--kubeconfig`. Its help names the places in which a kubeconfig is looked for if the flag is not given; `help` is the
 * text before them.
 */
export function kubeconfigFlag(help = 'the kubeconfig of the cluster; by default') {
  return text(`${help} the files in $KUBECONFIG, else the service account of the pod, else ~/.kube/config`, 'FILE');
}

/** Makes a flag that a user may give several times. The values are kept as a list. */
export function list<Item>(help: string, value: string, item: z.ZodType<Item>) {
  return { help, value, many: true, schema: z.array(item) };
}

/** Makes a flag that a user may give several times, each time with any text except an empty one. */
export function texts(help: string, value: string) {
  return list(help, value, someText);
}

/** Makes a flag that takes a whole number within two bounds. */
export function whole(help: string, value: string, fallback: string, [least, most]: readonly [number, number]) {
  return { help, value, fallback, schema: wholeNumber(least, most) };
}

/** Makes the schema of a flag that takes a host and a port. Without a host the flag means every address of this machine. */
export function hostAndPort(): z.ZodType<{ readonly host: string; readonly port: number }> {
  return z
    .string()
    .regex(/^.*:\d{1,5}$/, 'must look like HOST:PORT')
    .transform((text) => {
      const colon = text.lastIndexOf(':');
      return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
    })
    .refine(({ port }) => port < 65_536, 'must have a port number below 65536');
}

/** The flags of `apphosting sandbox`. */
export const sandboxCommand = {
  name: 'sandbox',
  summary:
    'Runs everything on this machine: a real Kubernetes control plane, a simulator of the hosting service, the operator\nand sample resources. Shows the status of the samples until Ctrl-C. Then everything ends,\nand the data is removed unless --data names a folder; the cache of programs stays.',
  flags: {
    once: { help: 'exit with code 0 as soon as every sample is Ready' },
    timeout: whole(
      'with --once: how long to wait for the samples; exit with code 1 if one of them is not Ready after this time',
      'SECONDS',
      '180',
      [1, 86_400],
    ),
    samples: text('the folder with the manifests to apply, or the word none', 'DIR|none'),
    data: text('the folder for all data; by default a temporary folder, removed at the end', 'DIR'),
    latency: { help: 'delay of each answer of the service', value: 'MS', schema: wholeNumber(0, 600_000).optional() },
    reading: list(
      'choose what the simulator does where the documentation of the service leaves a point open',
      'NAME=VALUE',
      z.string().regex(/^[^=\s]+=/, 'must look like NAME=VALUE'),
    ),
    rateLimit: { help: 'requests per account and second', value: 'N', schema: wholeNumber(1, 1_000_000).optional() },
    clock: {
      help: "the service's clock",
      value: 'real|virtual',
      schema: z.enum(['real', 'virtual'], 'must be real or virtual').optional(),
    },
    operatorArgs: { ...list('more arguments for the operator, as one quoted text', 'ARGS', z.string()), dashed: true },
  },
  notes: [
    '  --kubectl ARGS...           run kubectl with all arguments that follow: in the running sandbox, or with --data DIR\n                              in the sandbox whose data are in that folder',
  ],
} satisfies CommandLine<Flags>;

/** The parsed flags of `apphosting sandbox`. */
export type SandboxSettings = Settings<(typeof sandboxCommand)['flags']>;

/** The flags that name the hosts to which a command may send an API token. */
export const hostFlags = {
  allowedHosts: texts(
    'allow tokens to be sent to this host, such as api.example.com or *.example.com; without this flag, tokens can be sent to every public host',
    'HOST',
  ),
  allowPrivateAddresses: { help: 'also allow tokens to be sent to hosts in private networks' },
  allowInsecureLoopback: { help: 'also allow tokens to be sent to this machine, even over http, for the simulator' },
};

/** The flags of `apphosting run`. */
export const runCommand = {
  name: 'run',
  summary:
    'Runs the operator, which watches the resources of the group apphosting.dev and makes the hosting service match them.\nIn a pod the operator uses the service account, elsewhere a kubeconfig.',
  flags: {
    kubeconfig: kubeconfigFlag(),
    context: text('the context of the kubeconfig; without this flag, the current context', 'NAME'),
    namespace: text('watch only this namespace; the operator then needs no ClusterRole', 'NAME'),
    operatorNamespace: {
      ...text(
        "the namespace of the lease, the operator's key and the Secrets of cluster-wide accounts; without this flag, the namespace of the pod or kubeconfig",
        'NAME',
      ),
      variable: 'POD_NAMESPACE',
    },
    selector: text('watch only resources and accounts with these labels; other operators may watch the rest', 'LABELS'),
    metricsListen: {
      help: 'the address that serves /metrics, /healthz and /readyz; without HOST, every address of the machine, IPv6 included',
      value: '[HOST]:PORT',
      fallback: '127.0.0.1:8080',
      schema: hostAndPort(),
    },
    leaderElect: choice('on: act only with the lease; off: act without a lease, as the only replica', ['on', 'off']),
    secretWatch: choice('on: watch Secrets, to see rotations at once; off: read Secrets at each poll', ['on', 'off']),
    ...hostFlags,
    readOnly: { help: 'write nothing to the service, whatever a resource says; drift is still reported' },
    enableActivation: { help: 'allow requests of the kinds RecoveryActivation, ActivationDiscard and DisasterReset' },
    enableAccountReset: { help: 'allow a DisasterReset to wipe a whole account; needs --enable-activation as well' },
    horizonSeconds: whole('how long after its deadline a call can still take effect', 'SECONDS', '120', [1, 3_600]),
    callDeadlineSeconds: whole(
      'time limit of a call that changes the service, including the time that the call waits for the request budget; the limit of a read is a third of this time',
      'SECONDS',
      '30',
      [3, 300],
    ),
    leaseSeconds: whole(
      'time after which other replicas take the lease of a silent leader; the leader itself stops after two thirds of this time',
      'SECONDS',
      '15',
      [2, 300],
    ),
    pollSeconds: whole('the poll interval of an account without spec.pollSeconds', 'SECONDS', '60', [1, 3_600]),
    workers: whole('number of objects that are reconciled at the same time', 'N', '32', [1, 1_024]),
    logLevel: choice('the lowest level of log lines that are written', ['debug', 'info', 'warn', 'error'], 'info'),
  },
} satisfies CommandLine<Flags>;

/** The parsed flags of `apphosting run`. */
export type RunSettings = Settings<(typeof runCommand)['flags']>;

/** Returns all environment variables, for the code that looks for credentials and proxies. */
export function wholeEnvironment(): Readonly<Record<string, string | undefined>> {
  return env;
}

/**
 * Gives Node's thread pool 64 threads instead of 4, unless UV_THREADPOOL_SIZE is set. Must be called before Node uses
 * the pool for the first time; a later call has no effect.
 */
export function addThreads(): void {
  env['UV_THREADPOOL_SIZE'] ??= '64';
}

/** Returns the hosts to which tokens may be sent, as the flags say, and the proxy that the environment variables name. */
export function hostRulesOf(settings: Settings<typeof hostFlags>) {
  const { allowedHosts, allowPrivateAddresses, allowInsecureLoopback } = settings;
  const proxy = env['HTTPS_PROXY'] ?? env['https_proxy'];
  const noProxy = env['NO_PROXY'] ?? env['no_proxy'];
  return { allowedHosts, allowPrivateAddresses, allowInsecureLoopback, proxy, noProxy };
}

/** Where to look for kube-apiserver, etcd and kubectl: two folders, and the platform that the programs must fit. */
export interface ProgramPlaces {
  readonly platform: string;
  readonly arch: string;
  /** The folder that `KUBEBUILDER_ASSETS` names, if it is set. */
  readonly assets: string | undefined;
  /** The cache folder of this program: `$XDG_CACHE_HOME/apphosting`. */
  readonly cacheDir: string;
}

/** Finds out from environment variables where to look for kube-apiserver, etcd and kubectl. */
export function programPlaces(environment: Environment = env): ProgramPlaces {
  const named = environment['XDG_CACHE_HOME'] ?? '';
  const cacheHome = named.startsWith('/') ? named : join(homedir(), '.cache');
  return {
    platform,
    arch,
    assets: environment['KUBEBUILDER_ASSETS'] || undefined,
    cacheDir: join(cacheHome, 'apphosting'),
  };
}

type Variables = Readonly<Record<string, string>>;

/**
 * Makes the environment variables for a child process: those of this process, replaced and extended by `extra`. A
 * variable in `usual` counts only if neither this process nor `extra` has a variable of that name.
 */
export function environmentWith(extra: Variables, usual: Variables = {}): Record<string, string | undefined> {
  return { ...usual, ...env, ...extra };
}
