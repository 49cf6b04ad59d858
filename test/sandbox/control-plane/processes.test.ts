import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Daemon } from '../../../src/sandbox/control-plane/daemon.ts';
import type { Ending, Program } from '../../../src/sandbox/control-plane/daemon.ts';
import { belongsTo, endLeftovers } from '../../../src/sandbox/control-plane/leftovers.ts';
import { freePorts, isFree } from '../../../src/sandbox/control-plane/ports.ts';
import { isRunning } from '../../support/processes.ts';
import { eventually } from '../../support/real-time.ts';
import { temporaryDir } from '../../support/temporary.ts';

const waiting = 'setInterval(() => {}, 1000)';
const stubborn = `process.on('SIGTERM', () => {}); process.stdout.write('up\\n'); ${waiting}`;

function program(dir: string, script: string): Program {
  const logPath = join(dir, 'program.log');
  return {
    name: 'the program',
    command: process.execPath,
    args: ['-e', script],
    logPath,
    isUp: async () => (await readFile(logPath, 'utf8')).includes('up'),
    upWithinMs: 60_000,
    graceMs: 200,
  };
}

describe('a process', () => {
  it.each([
    { args: ['/c/etcd', '--data-dir=/d/run/etcd'], ours: true, because: 'it was started for this folder' },
    { args: ['/usr/bin/node', 'main.ts', '--state', '/d/run/simulator/state'], ours: true, because: 'the same' },
    { args: ['/c/etcd', '--data-dir=/other/run/etcd'], ours: false, because: 'it is of another folder' },
    { args: ['/c/etcd', '--data-dir=/x/d/run/etcd'], ours: false, because: 'the folder is another one of that name' },
    { args: ['vim', '/d/run/ports.json'], ours: false, because: 'somebody reads a file there' },
    { args: ['kubectl', '--kubeconfig', '/d/kubeconfig'], ours: false, because: 'somebody uses the cluster' },
    { args: ['node', 'main.ts', 'run', '--kubeconfig', '/d/kubeconfig'], ours: false, because: 'it is a second one' },
    { args: [], ours: false, because: 'it has no command line' },
  ])('$args is ours: $ours, because $because', ({ args, ours }) => {
    expect(belongsTo('/d', { pid: 1, args })).toBe(ours);
  });

  it('that was left behind is ended, even one that ignores being asked', async () => {
    const dir = await temporaryDir();
    const child = spawn(process.execPath, ['-e', stubborn, join(dir, 'run', 'mark')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    const ended = once(child, 'exit');

    expect(await endLeftovers(dir)).toBe(1);

    await ended;
    expect(await isRunning(child.pid ?? 0)).toBe(false);
    expect(await endLeftovers(dir)).toBe(0);
  });

  it('is running until it has ended', async () => {
    expect(await isRunning(process.pid)).toBe(true);
    expect(await isRunning(2 ** 22 + 1)).toBe(false);
  });
});

describe('a daemon', () => {
  it('is up when its program says so, and has ended when it was stopped', async () => {
    const daemon = new Daemon(program(await temporaryDir(), stubborn));

    await daemon.start();
    const { pid = 0 } = daemon;
    await Promise.all([daemon.stop(), daemon.stop()]);

    expect(pid).toBeGreaterThan(0);
    expect(daemon.pid).toBeUndefined();
    expect(await isRunning(pid)).toBe(false);
  });

  it('that ends before it is up says why, with the end of its log', async () => {
    const daemon = new Daemon(program(await temporaryDir(), 'console.error("the port is taken"); process.exit(3)'));

    await expect(daemon.start()).rejects.toThrow(
      /the program ended \(exit code 3\); the log .* ends with:\n {2}the port is taken/,
    );
  });

  it('that is aborted while it starts has ended', async () => {
    const abort = new AbortController();
    let pid = 0;
    const isUp = async () => {
      pid = daemon.pid ?? 0;
      abort.abort();
      return false;
    };
    const daemon: Daemon = new Daemon({ ...program(await temporaryDir(), waiting), isUp });

    await expect(daemon.start(abort.signal)).rejects.toThrow('aborted');

    expect(pid).toBeGreaterThan(0);
    expect(await isRunning(pid)).toBe(false);
  });

  it('whose program is not there says so', async () => {
    const daemon = new Daemon({ ...program(await temporaryDir(), ''), command: '/does/not/exist' });

    await expect(daemon.start()).rejects.toThrow(/the program cannot be started: .*ENOENT/);
  });

  it('tells when it ended by itself, and not when it was stopped', async () => {
    const endings: Ending[] = [];
    const daemon = new Daemon(program(await temporaryDir(), `console.log('up'); ${waiting}`), (ending) =>
      endings.push(ending),
    );
    onTestFinished(() => daemon.kill());

    const endByItself = async (signal: NodeJS.Signals, nth: number) => {
      await daemon.start();
      process.kill(daemon.pid ?? 0, signal);
      await eventually('its end is told', () => endings.length >= nth);
    };
    await endByItself('SIGKILL', 1);
    await daemon.start();
    await daemon.stop();
    await endByItself('SIGABRT', 2);

    expect(endings.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGABRT']);
  });
});

describe('ports', () => {
  it('are free and different', async () => {
    const ports = await freePorts(5);

    expect(new Set(ports).size).toBe(5);
    expect(await Promise.all(ports.map(isFree))).toEqual([true, true, true, true, true]);
  });
});
