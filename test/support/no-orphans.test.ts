import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { poll } from '../../src/sandbox/poll.ts';
import { isRunning } from './processes.ts';

const stubborn = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`;

/** A run that starts a process in a group of its own, which starts another one, as Argo CD starts Git. */
const run = `
  import { spawn } from 'node:child_process';
  import { setup } from ${JSON.stringify(join(import.meta.dirname, 'no-orphans.ts'))};
  setup();
  const inner = ${JSON.stringify(`${stubborn} console.log(process.pid);`)};
  const outer = "const { spawn } = require('node:child_process'); console.log(process.pid); spawn(process.execPath, ['-e', process.argv[1]], { stdio: 'inherit' });";
  spawn(process.execPath, ['-e', outer, inner], { detached: true, stdio: 'inherit' });
`;

it.skipIf(process.platform !== 'linux').concurrent.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
  'a run that is ended by %s leaves no process behind',
  async (signal) => {
    const { APPHOSTING_TESTS: _outer, ...env } = process.env;
    const child = spawn(process.execPath, ['--input-type=module', '-e', run], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (chunk) => (printed += String(chunk)));
    const pids = () => printed.split('\n').filter(Boolean).map(Number);
    await poll(async () => (pids().length === 2 ? true : undefined), { everyMs: 20, deadlineMs: 60_000 });
    const [outer = 0, inner = 0] = pids();
    expect([await isRunning(outer), await isRunning(inner)]).toEqual([true, true]);

    child.kill(signal);
    await once(child, 'exit');

    const areGone = async () => ((await isRunning(outer)) || (await isRunning(inner)) ? undefined : true);
    expect(await poll(areGone, { everyMs: 50, deadlineMs: 60_000 })).toBe(true);
  },
);
