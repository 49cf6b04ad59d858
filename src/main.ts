#!/usr/bin/env node
import { enableCompileCache, flushCompileCache, setSourceMapsSupport } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { argv, exit, stderr, stdout, versions } from 'node:process';
import { isSea } from 'node:sea';
import { keepSmall } from './cli/keep-small.ts';
import type { Steering } from './cli/day-two/steer.ts';
import manifest from '../package.json' with { type: 'json' };

/** The subcommands of this program and their summaries, as `--help` lists them. */
const summaries = {
  run: 'run the operator, which makes the hosting service match the resources of a cluster',
  plan: 'show what some manifests would change in the service, without changing anything',
  import: 'export an account of the service to a folder of manifests; applying them changes nothing',
  status: 'show the resources of an account as a tree: which are Ready, which are not, and why',
  why: 'explain why a resource is not Ready, deepest cause first, and what to do',
  doctor: 'check whether an installation of the operator is in order',
  inventory: 'list the apps, environments, contact points, alerts and protections of an account',
  catalog: 'list the presets and solutions that the service offers to an account',
  reconcile: 'make the operator reconcile a resource now',
  pause: 'pause a resource, so that nothing is sent to the service for it',
  resume: 'let the operator continue with a paused resource',
  redeploy: 'restart an environment with the version that it runs now',
  rollback: 'roll an environment back to the previous version',
  stop: 'stop an environment',
  start: 'start an environment',
  points: 'list the recovery points of a DisasterProtection',
  activate: 'print a manifest that activates one recovery point, for you to review and create',
  completion: 'print a script with which a shell completes commands and flags',
  sandbox: 'run everything on this machine: Kubernetes, a simulator of the service, the operator, samples',
  simulator: 'run a simulator of the whole hosting service',
};

/** A subcommand, which takes its own arguments and returns the exit code. */
type Command = (args: readonly string[]) => Promise<number>;

/** Loads a subcommand that changes one resource, such as `pause` or `redeploy`. */
const steer = (name: Steering) => async () => (await import('./cli/day-two/steer.ts')).steering(name);

/** Loads the code of a subcommand, but only when the user runs that subcommand. */
const loaders: Readonly<Record<keyof typeof summaries, () => Promise<Command>>> = {
  run: async () => (await import('./cli/run.ts')).run,
  plan: async () => (await import('./cli/plan/command.ts')).plan,
  import: async () => (await import('./cli/import/command.ts')).importAccount,
  status: async () => (await import('./cli/status/status.ts')).status,
  why: async () => (await import('./cli/status/why.ts')).why,
  doctor: async () => (await import('./cli/doctor/doctor.ts')).doctor,
  inventory: async () => (await import('./cli/day-two/inventory.ts')).inventory,
  catalog: async () => (await import('./cli/day-two/inventory.ts')).catalog,
  reconcile: steer('reconcile'),
  pause: steer('pause'),
  resume: steer('resume'),
  redeploy: steer('redeploy'),
  rollback: steer('rollback'),
  stop: steer('stop'),
  start: steer('start'),
  points: async () => (await import('./cli/points.ts')).points,
  activate: async () => (await import('./cli/activate.ts')).activate,
  completion: async () => (await import('./cli/completion/completion.ts')).completion,
  sandbox: async () => (await import('./sandbox/sandbox.ts')).sandbox,
  simulator: async () => (await import('./simulator/main.ts')).simulator,
};

function usage(program: string): string {
  const rows = Object.entries(summaries).map(([name, summary]) => `  ${name.padEnd(12)}${summary}`);
  return `${program} COMMAND [options]\n\n${rows.join('\n')}\n\n${program} COMMAND --help explains a command; ${program} --version prints the version.\n`;
}

// Turn on source maps before the rest of the code is loaded. This costs little, because a source map is only read when
// a stack trace is printed.
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
  if (name === '__complete')
    return (await import('./cli/completion/completion.ts')).complete(rest, Object.entries(summaries));
  if (!isCommand(name)) {
    const { program } = await import('./config.ts');
    stderr.write(`${program}: there is no command "${name}"; ${program} --help lists the commands\n`);
    return 64;
  }
  if (name === 'sandbox' && isSea()) {
    // The sandbox needs files that a program built as a single file does not have: it starts this program again as two
    // Node processes, and builds a control plane from source files.
    stderr.write(
      'apphosting sandbox needs files that this single-file program does not contain: run npm start in a checkout, or bin/apphosting sandbox of the archive\n',
    );
    return 1;
  }
  keepCompiled();
  if (name === 'run' || name === 'simulator') keepSmall();
  const command = await loaders[name]();
  // Write the compile cache now and not at the end, so that even a process that is killed leaves compiled code for the
  // next process.
  flushCompileCache();
  return command(rest);
}

function isCommand(name: string): name is keyof typeof summaries {
  return Object.hasOwn(summaries, name);
}

/**
 * Keeps compiled code on disk if the home folder can be written, so that the next start does not compile the program
 * again. This saves half of the CPU time and 20 MB of memory.
 */
function keepCompiled(): void {
  try {
    enableCompileCache(join(homedir(), '.cache', 'apphosting', 'compiled'));
  } catch {
    stderr.write('apphosting: compiled code is not cached, because there is no home folder\n');
  }
}

const [major = 0, minor = 0] = versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  stderr.write(
    `apphosting needs Node 24.11 or newer, but this is Node ${versions.node}: run apphosting with npm, which brings a suitable Node\n`,
  );
  exit(1);
}
// Ignore EPIPE: a program such as head, which stops reading the output early, must not end the command with an error.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
exit(await main());
