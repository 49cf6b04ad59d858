#!/usr/bin/env node
import { enableCompileCache, flushCompileCache, setSourceMapsSupport } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { argv, exit, stderr, stdout, versions } from 'node:process';
import { isSea } from 'node:sea';
import { setFlagsFromString } from 'node:v8';
import type { Steering } from './cli/day-two/steer.ts';
import manifest from '../package.json' with { type: 'json' };

/** A subcommand, which takes its own arguments and returns the exit code. */
type Command = (args: readonly string[]) => Promise<number>;

interface Entry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
  /** True for a command that runs for months and should use little memory. */
  readonly isFrugal?: boolean;
}

/** Loads a subcommand that steers one resource, such as `pause` or `redeploy`. */
const steer = (name: Steering) => async () => (await import('./cli/day-two/steer.ts')).steering(name);

/** Every subcommand of this program. The code of each is loaded only when the subcommand is used. */
const commands: Readonly<Record<string, Entry>> = {
  run: {
    summary: 'the operator: makes the hosting service match the resources of a cluster',
    load: async () => (await import('./cli/run.ts')).run,
    isFrugal: true,
  },
  plan: {
    summary: 'what applying some documents would change in the service, without changing it',
    load: async () => (await import('./cli/plan/command.ts')).plan,
  },
  import: {
    summary: 'an account of the service as a folder of manifests that change nothing when applied',
    load: async () => (await import('./cli/import/command.ts')).importAccount,
  },
  status: {
    summary: 'the tree of an account: what is Ready, what is not, and why',
    load: async () => (await import('./cli/status/status.ts')).status,
  },
  why: {
    summary: 'why a resource is not Ready, deepest cause first, and what to do',
    load: async () => (await import('./cli/status/why.ts')).why,
  },
  doctor: {
    summary: 'whether an installation is in order, check by check',
    load: async () => (await import('./cli/doctor/doctor.ts')).doctor,
  },
  inventory: {
    summary: 'everything that an account of the service has, and which resource manages it',
    load: async () => (await import('./cli/day-two/inventory.ts')).inventory,
  },
  catalog: {
    summary: 'the presets and solutions that the service offers an account',
    load: async () => (await import('./cli/day-two/inventory.ts')).catalog,
  },
  reconcile: { summary: 'let the operator look at a resource now', load: steer('reconcile') },
  pause: { summary: 'hold a resource: nothing is sent for it', load: steer('pause') },
  resume: { summary: 'let a paused resource go on', load: steer('resume') },
  redeploy: { summary: 'restart an environment with what it runs now', load: steer('redeploy') },
  rollback: { summary: 'roll an environment back to the version before', load: steer('rollback') },
  stop: { summary: 'stop an environment', load: steer('stop') },
  start: { summary: 'start an environment', load: steer('start') },
  points: {
    summary: 'the recovery points of a protection',
    load: async () => (await import('./cli/points.ts')).points,
  },
  activate: {
    summary: 'a manifest that activates one recovery point, to review and create',
    load: async () => (await import('./cli/activate.ts')).activate,
  },
  completion: {
    summary: 'scripts by which a shell completes commands and flags',
    load: async () => (await import('./cli/completion/completion.ts')).completion,
  },
  sandbox: {
    summary: 'everything on this machine: Kubernetes, the service in a box, the operator, samples',
    load: async () => (await import('./sandbox/sandbox.ts')).sandbox,
  },
  simulator: {
    summary: 'serve the whole hosting service in a box',
    load: async () => (await import('./simulator/main.ts')).simulator,
    isFrugal: true,
  },
};

function usage(program: string): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`);
  return `${program} COMMAND [options]\n\n${rows.join('\n')}\n\n${program} COMMAND --help explains each; ${program} --version says which one this is.\n`;
}

// Turn on source maps before the other chunks are loaded. A source map is only read when a stack trace is printed.
setSourceMapsSupport(true);

async function main(): Promise<number> {
  const [name, ...rest] = argv.slice(2);
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const { program } = await import('./config.ts');
    stdout.write(usage(program));
    return name === undefined ? 64 : 0;
  }
  if (name === '--version') {
    stdout.write(`${manifest.version}\n`);
    return 0;
  }
  const named = Object.entries(commands).map(([word, { summary }]) => [word, summary] as const);
  if (name === '__complete') return (await import('./cli/completion/completion.ts')).complete(rest, named);
  const entry = commands[name];
  if (entry === undefined) {
    const { program } = await import('./config.ts');
    stderr.write(`${program}: there is no command "${name}"; ${program} --help lists them\n`);
    return 64;
  }
  if (name === 'sandbox' && isSea()) {
    // The sandbox starts this program again as two processes of Node, and needs source files to build a control plane.
    stderr.write(
      'apphosting sandbox: it needs files that this one program lacks: npm start in a checkout, or bin/apphosting sandbox of the archive\n',
    );
    return 1;
  }
  keepCompiled();
  if (entry.isFrugal === true) keepSmall();
  const command = await entry.load();
  // Write the compile cache now and not at the end, so that even a process that is killed leaves its compiled code to the next one.
  flushCompileCache();
  return command(rest);
}

/**
 * Saves memory: keeps V8's space for new objects at its first size instead of letting it grow to 32 MB, and collects old objects when they
 * have grown by a fifth. Most objects live for one pass, and buffers that wait to be collected take more memory than objects.
 */
function keepSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=20');
}

/** Caches compiled code, so that the next start needs no compiler; this saves half of the CPU and 20 MB of memory. */
function keepCompiled(): void {
  try {
    enableCompileCache(join(homedir(), '.cache', 'apphosting', 'compiled'));
  } catch {
    stderr.write('apphosting: there is no home folder to keep compiled code in\n');
  }
}

const [major = 0, minor = 0] = versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  stderr.write(
    `apphosting needs Node 24.11 or newer, and this is ${versions.node}: run it with npm, which brings its own\n`,
  );
  exit(1);
}
// Ignore EPIPE: a program that reads our output and ends early, such as head, must not end the command.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
exit(await main());
