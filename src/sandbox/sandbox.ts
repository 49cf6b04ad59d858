import process from 'node:process';
import { join, relative } from 'node:path';
import { command } from '../cli/frame.ts';
import { paintFor } from '../cli/output.ts';
import { sandboxCommand, programPlaces, type SandboxSettings } from '../config.ts';
import { progressOn, seconds, type Progress } from './binaries/progress.ts';
import { findBinaries } from './binaries/sources.ts';
import { clearAbandoned, keptFolder, temporaryFolder } from './data-folder.ts';
import { liveDisplay, plainDisplay, type Display } from './display.ts';
import { follow, notReady, ours } from './follow.ts';
import { kubectl } from './kubectl.ts';
import { launch, samplesIn, type Sandbox } from './launch.ts';
import { manifestsIn, type Manifest } from './manifests.ts';
import { ownCommands } from './programs.ts';
import { stateOf } from './table.ts';

const root = join(import.meta.dirname, '..', '..');

const ownRepository = { crds: join(root, 'crds'), samples: join(root, 'deploy', 'samples'), commands: ownCommands };

/** The files of the repository that a sandbox uses; tests pass other files. */
type Repository = Readonly<typeof ownRepository>;

/** `apphosting sandbox`: runs Kubernetes, the simulator and the operator on this machine. Returns the exit code. */
export function sandbox(args: readonly string[], repository: Repository = ownRepository): Promise<number> {
  const { own, kubectl: kubectlArgs } = splitKubectl(args);
  const run = command(sandboxCommand, async ({ settings }) => {
    using stop = stopSignal();
    const progress = progressOn(process.stderr);
    try {
      if (kubectlArgs === undefined) return await runSandbox(settings, repository, progress, stop.signal);
      const binaries = await findBinaries(programPlaces(), progress, stop.signal);
      return await kubectl(binaries, settings.data, kubectlArgs, progress.say);
    } catch (error) {
      if (stop.signal.aborted) return interrupted;
      throw error;
    }
  });
  return run(own);
}

/** Splits the arguments at `--kubectl`: all arguments after it belong to kubectl. */
export function splitKubectl(args: readonly string[]) {
  const at = args.indexOf('--kubectl');
  return at === -1 ? { own: args, kubectl: undefined } : { own: args.slice(0, at), kubectl: args.slice(at + 1) };
}

const interrupted = 130;

async function runSandbox(
  settings: SandboxSettings,
  repository: Repository,
  progress: Progress,
  signal: AbortSignal,
): Promise<number> {
  const crds = await manifestsIn(repository.crds);
  const samples = settings.samples === 'none' ? [] : await samplesIn(settings.samples ?? repository.samples);
  const cleared = await clearAbandoned();
  if (cleared > 0) progress.say(`removed ${cleared} temporary folder(s) of sandboxes that were killed`);
  await using ending = new AsyncDisposableStack();
  const folder = settings.data === undefined ? await temporaryFolder() : await keptFolder(settings.data);
  ending.defer(folder.release);
  if (folder.leftovers > 0)
    progress.say(`ended ${folder.leftovers} processes that a killed sandbox left in ${folder.dir}`);
  const binaries = await findBinaries(programPlaces(), progress, signal);
  const display = displayOn(process.stdout);
  let say = progress.say;
  const { dir } = folder;
  const { commands } = repository;
  const running = await launch({ dir, binaries, commands, settings, crds, samples, say: (text) => say(text), signal });
  ending.defer(() => {
    if (signal.aborted) process.stderr.write('\nending everything …\n');
    return running.stop();
  });
  display.line(welcome(running, settings.data !== undefined));
  // From here on, print messages above the table of resources.
  say = (text) => display.line(text);
  const watched = settings.once
    ? untilReady(running, samples, settings.timeout, display, signal)
    : follow(running.cluster, display.show, signal).then(() => 0);
  return await Promise.race([watched, running.broken]);
}

async function untilReady(
  { cluster }: Sandbox,
  samples: readonly Manifest[],
  timeoutSeconds: number,
  display: Display,
  signal: AbortSignal,
): Promise<number> {
  const began = performance.now();
  const expired = AbortSignal.timeout(timeoutSeconds * 1000);
  const either = AbortSignal.any([signal, expired]);
  const rows = await follow(cluster, display.show, either, (seen) => notReady(samples, seen).length === 0);
  const waiting = notReady(samples, rows);
  const took = seconds(performance.now() - began).trim();
  if (waiting.length === 0) {
    display.line(`all ${ours(samples).length} samples are Ready, ${took} after they were applied`);
    return 0;
  }
  if (signal.aborted) return interrupted;
  const lines = waiting.map(({ key, row }) => `  ${key}: ${row === undefined ? 'the object is gone' : stateOf(row)}`);
  process.stderr.write(`apphosting sandbox: samples not Ready after ${timeoutSeconds} s:\n${lines.join('\n')}\n`);
  return 1;
}

function displayOn(screen: NodeJS.WriteStream): Display {
  const began = performance.now();
  if (screen.isTTY) return liveDisplay(screen, paintFor('auto', screen));
  return plainDisplay(screen, () => seconds(performance.now() - began));
}

function welcome({ urls, kubeconfigPath }: Sandbox, kept: boolean): string {
  const inside = relative(process.cwd(), kubeconfigPath);
  const shown = inside.startsWith('..') ? kubeconfigPath : inside;
  return [
    '',
    'Everything is up. In another terminal, run:',
    '',
    `  export KUBECONFIG=${kubeconfigPath}`,
    '  kubectl get apphosting -A           (without kubectl: npm start -- --kubectl get apphosting -A)',
    '',
    `The simulated hosting service:  ${urls.simulator}`,
    kept ? `Ctrl-C ends everything and keeps ${shown}.` : 'Ctrl-C ends everything and keeps only cached programs.',
    '',
  ].join('\n');
}

/**
 * Creates an AbortSignal for ending the sandbox. Ctrl-C, SIGTERM or closing the terminal aborts the signal. A second
 * Ctrl-C changes nothing.
 */
function stopSignal(): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  // `npm start` has an IPC channel to this process. When any signal kills `npm start`, the channel closes, and this process
  // gets the event `disconnect`.
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const;
  const end = () => stop.abort();
  for (const name of names) process.on(name, end);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, end);
    },
  };
}
