#!/usr/bin/env node
import { argv, exit, stderr, stdout, versions } from 'node:process';

/** A subcommand: takes its own arguments, returns the exit code. */
type Command = (args: readonly string[]) => Promise<number>;

interface Entry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Every subcommand; each is loaded only when it is asked for. */
const commands: Readonly<Record<string, Entry>> = {
  run: {
    summary: 'the operator: makes the hosting service match the resources of a cluster',
    load: async () => (await import('./cli/run.ts')).run,
  },
  points: {
    summary: 'the recovery points of a protection',
    load: async () => (await import('./cli/points.ts')).points,
  },
  activate: {
    summary: 'a manifest that activates one recovery point, to review and create',
    load: async () => (await import('./cli/activate.ts')).activate,
  },
  sandbox: {
    summary: 'everything on this machine: Kubernetes, the service in a box, the operator, samples',
    load: async () => (await import('./cli/sandbox.ts')).sandbox,
  },
  simulator: {
    summary: 'serve the whole hosting service in a box',
    load: async () => (await import('./simulator/main.ts')).simulator,
  },
};

function usage(): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`);
  return `apphosting COMMAND [options]\n\n${rows.join('\n')}\n\napphosting COMMAND --help explains each.\n`;
}

async function main(): Promise<number> {
  const [name, ...rest] = argv.slice(2);
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    stdout.write(usage());
    return name === undefined ? 2 : 0;
  }
  const entry = commands[name];
  if (entry === undefined) {
    stderr.write(`apphosting: there is no command "${name}"; apphosting --help lists them\n`);
    return 2;
  }
  const command = await entry.load();
  return command(rest);
}

const [major = 0, minor = 0] = versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  stderr.write(
    `apphosting needs Node 24.11 or newer, and this is ${versions.node}: run it with npm, which brings its own\n`,
  );
  exit(1);
}
exit(await main());
