import { extname, join } from 'node:path';
import { execPath } from 'node:process';
import { environmentWith, operatorNamespace, type SandboxSettings } from '../config.ts';
import type { Program } from './control-plane/daemon.ts';
import { runFolder } from './control-plane/leftovers.ts';
import { answersOk } from './control-plane/programs.ts';

/** The arguments with which Node runs the simulator and the operator; tests pass other arguments. */
export type Commands = Readonly<Record<'simulator' | 'operator', readonly string[]>>;

/** The path of the main program, in the sources as well as in the bundle. */
const main = join(import.meta.dirname, '..', `main${extname(import.meta.filename)}`);

/** Node flags that limit the memory for new objects, as in the container image. */
export const operatorNode = ['--min-semi-space-size=3', '--max-semi-space-size=3'];

/** Settings of glibc that make it return free memory to the system, as in the container image. */
export const operatorMemory = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

/** The commands that start the simulator and the operator of this repository. */
export const ownCommands: Commands = { simulator: [main, 'simulator'], operator: [...operatorNode, main, 'run'] };

type SimulatorSettings = Pick<SandboxSettings, 'latency' | 'reading' | 'rateLimit' | 'clock'>;

/** Describes how to run the simulator in a sandbox; its state is kept in the data folder. */
export function simulator(
  commands: Commands,
  dir: string,
  port: number,
  { latency, reading, rateLimit, clock }: SimulatorSettings,
): Program {
  const optional = { latency, 'rate-limit': rateLimit, clock };
  const given = Object.entries(optional).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
  const listen = `127.0.0.1:${port}`;
  return {
    name: 'the simulator',
    command: execPath,
    args: [
      ...commands.simulator,
      `--listen=${listen}`,
      `--state=${simulatorState(dir)}`,
      ...given,
      ...reading.map((one) => `--reading=${one}`),
    ],
    logPath: join(dir, 'logs', 'simulator.log'),
    isUp: () => answersOk(`http://${listen}/_sim/healthz`),
    upWithinMs: 20_000,
    graceMs: 3000,
  };
}

/** Returns the path of the file in which the simulator keeps its state. */
export function simulatorState(dir: string): string {
  return join(runFolder(dir), 'simulator', 'state');
}

/** Returns the path of the operator's own kubeconfig. */
export function operatorKubeconfig(dir: string): string {
  return join(runFolder(dir), 'operator', 'kubeconfig');
}

/** Describes how to run the operator in a sandbox. */
export function operator(commands: Commands, dir: string, port: number, more: readonly string[]): Program {
  const listen = `127.0.0.1:${port}`;
  return {
    name: 'the operator',
    command: execPath,
    args: [
      ...commands.operator,
      `--kubeconfig=${operatorKubeconfig(dir)}`,
      `--operator-namespace=${operatorNamespace}`,
      `--metrics-listen=${listen}`,
      '--allow-insecure-loopback',
      '--enable-activation',
      ...more.flatMap(wordsOf),
    ],
    env: environmentWith(operatorMemory),
    logPath: join(dir, 'logs', 'operator.log'),
    isUp: () => answersOk(`http://${listen}/readyz`),
    upWithinMs: 60_000,
    // Give the operator time to finish the calls that it has begun.
    graceMs: 10_000,
  };
}

/** Splits a text into words as a shell does: at spaces, but not inside single or double quotes. */
export function wordsOf(text: string): readonly string[] {
  const words = text.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g);
  return [...words].map(([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}
